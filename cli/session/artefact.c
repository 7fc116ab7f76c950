// SPDX-License-Identifier: Apache-2.0
#include "cli/session/artefact.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "cli/session/command.h"
#include "formats/interchange/source_bundle.h"
#include "report/value/report.h"
#include "symbolizer/search/debug_search.h"

// HELD_MAX limits how many programs are held, each in a descriptor.
enum { HELD_MAX = 64 };

bool is_artefact(int fd)
{
    char head[64];
    struct source_bundle_reader reader;
    ssize_t size = pread(fd, head, sizeof(head), 0);
    return size > 0 && source_bundle_read(&reader, head, (size_t)size) == CH_OK;
}

bool is_artefact_at(const char *path)
{
    int CH_CLEANUP(file_close) fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && is_artefact(fd);
}

// is_artefact_report returns true for a report whose id begins with wanted.
static bool is_artefact_report(const struct source_bundle_file *file,
                               const char *wanted)
{
    static const size_t folder = sizeof(ARTEFACT_REPORTS) - 1;
    size_t length = strlen(wanted);
    return file->path_size >= folder + length && file->path_size < PATH_MAX &&
           memcmp(file->path, ARTEFACT_REPORTS, folder) == 0 &&
           memcmp(file->path + folder, wanted, length) == 0;
}

// find_report writes the name of the newest report whose id begins with wanted, and
// returns how many there are. Their ids are appended to ids.
static size_t find_report(struct cursor bundle, const char *wanted,
                          char out[static PATH_MAX], struct text *ids)
{
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    struct source_bundle_file last = { .path = "" };
    size_t count = 0;
    out[0] = 0;
    enum ch_status status =
        source_bundle_read(&reader, bundle.at, cursor_left(&bundle));
    while (status == CH_OK && (status = source_bundle_next(&reader, &file)) == CH_OK) {
        bool part = file.path_size == last.path_size &&
                    memcmp(file.path, last.path, file.path_size) == 0;
        last = file;
        if (part || !is_artefact_report(&file, wanted))
            continue;
        count++;
        const int size = (int)file.path_size;
        const char *id = file.path + sizeof(ARTEFACT_REPORTS) - 1;
        text_appendf(ids, " %.*s", (int)strcspn(id, ".\n"), id);
        if (strncmp(file.path, out, file.path_size) > 0)
            (void)snprintf(out, PATH_MAX, "%.*s", size, file.path);
    }
    return count;
}

// hold_built_program puts a program of the build where the symbolizer can open it.
static void hold_built_program(struct session *session, const char *path,
                               const struct cursor *program)
{
    static const char magic[] = { 0x7f, 'E', 'L', 'F' };
    struct symbolizer_held_image *image =
        &session->artefact_images[session->held_image_count];
    const char *home = getenv("HOME");
    bool masked = home != NULL && strncmp(path, "~/", 2) == 0;
    if (cursor_left(program) < sizeof(magic) ||
        memcmp(program->at, magic, sizeof(magic)) != 0)
        return;
    int fd = memfd_create("crashhook-program", MFD_CLOEXEC);
    if (fd < 0 || !file_write_all(fd, program->at, cursor_left(program))) {
        file_close(&fd);
        return;
    }
    (void)snprintf(image->path, sizeof(image->path), "%s%s", masked ? home : "",
                   path + masked);
    (void)snprintf(image->place, sizeof(image->place), "/proc/self/fd/%d", fd);
    session->held_image_count++;
}

// hold_built_programs holds the programs that the report's images name.
static void hold_built_programs(struct session *session, const json_t *report)
{
    size_t i;
    json_t *image;
    struct cursor program;
    session->artefact_images = calloc(HELD_MAX, sizeof(*session->artefact_images));
    session->held_images = session->artefact_images;
    json_array_foreach(json_object_get(report, "images"), i, image)
    {
        const char *path = report_string(image, "path");
        if (session->artefact_images != NULL && session->held_image_count < HELD_MAX &&
            path != NULL && source_bundle_find(session->artefact, path, &program))
            hold_built_program(session, path, &program);
    }
}

enum ch_status artefact_read(struct session *session, int fd, const char *name,
                             json_t **out)
{
    struct stat info;
    struct report_error error = { .text = "it is damaged" };
    struct cursor bytes;
    char path[PATH_MAX];
    struct text CH_CLEANUP(text_deinit) ids = { 0 };
    const char *wanted = session->artefact_id != NULL ? session->artefact_id : "";
    void *mapped = fstat(fd, &info) == 0
                       ? mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                       : MAP_FAILED;
    if (mapped == MAP_FAILED) {
        (void)command_fail("cannot read '%s': %s", name, strerror(errno));
        return CH_ERR_IO;
    }
    session->artefact = cursor_over(mapped, (size_t)info.st_size);
    size_t count = find_report(session->artefact, wanted, path, &ids);
    if (count == 0) {
        (void)command_fail("there is no report%s%s in '%s'", wanted[0] != 0 ? " " : "",
                           wanted, name);
        return CH_ERR_NOT_FOUND;
    }
    enum ch_status status = CH_ERR_TRUNCATED;
    if (source_bundle_find(session->artefact, path, &bytes))
        status = report_parse((const char *)bytes.at, cursor_left(&bytes), out, &error);
    if (status != CH_OK) {
        (void)command_fail("cannot read '%s' in '%s': %s", path, name, error.text);
        return status;
    }
    hold_built_programs(session, *out);
    if (count > 1)
        (void)command_fail("'%s' has %zu reports, the newest is shown:%s", name, count,
                           text_ok(&ids) ? ids.bytes : "");
    return CH_OK;
}
