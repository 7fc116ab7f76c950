// SPDX-License-Identifier: Apache-2.0
#include "cli/render_source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/md5.h"
#include "cli/source_file.h"
#include "formats/elf.h"
#include "report/report.h"

enum { CONTEXT_LINES = 2, SOURCE_MAX_BYTES = 8 << 20, BUILD_ID_MAX = 64 };

// source_state is whether a file here is the one that was built.
enum source_state { SOURCE_BUILT, SOURCE_CHANGED, SOURCE_UNCHECKED };

// expand_home replaces a leading `~`, which sanitizing wrote, by our home. false: it
// does not fit.
static bool expand_home(const char *path, char out[static PATH_MAX])
{
    const char *home = getenv("HOME");
    bool masked = strncmp(path, "~/", 2) == 0 && home != NULL;
    int size = snprintf(out, PATH_MAX, "%s%s", masked ? home : "", path + masked);
    return size >= 0 && size < PATH_MAX;
}

static FILE *open_source(const char *path)
{
    char expanded[PATH_MAX];
    FILE *file = NULL;
    return expand_home(path, expanded) &&
                   source_file_open(expanded, SOURCE_MAX_BYTES, &file) == CH_OK
               ? file
               : NULL;
}

// source_sum gives the MD5 of file in hexadecimal, and returns to its beginning.
static void source_sum(FILE *file, char out[static 2 * MD5_SIZE + 1])
{
    uint8_t bytes[16384];
    uint8_t sum[MD5_SIZE];
    struct md5 md5;
    size_t count;
    md5_init(&md5);
    while ((count = fread(bytes, 1, sizeof(bytes), file)) != 0)
        md5_add(&md5, bytes, count);
    md5_finish(&md5, sum);
    hex_encode(sum, sizeof(sum), out);
    rewind(file);
}

static bool is_newer(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

// has_build_id says whether the ELF file at fd has that build ID, in hexadecimal. It is
// in a note near the file's beginning.
static bool has_build_id(int fd, const char *wanted)
{
    static uint8_t head[64 << 10];
    char hex[2 * BUILD_ID_MAX + 1];
    struct elf_view view;
    const uint8_t *id;
    size_t id_size;
    ssize_t size = pread(fd, head, sizeof(head), 0);
    if (size <= 0 || elf_view_init(&view, head, (size_t)size) != CH_OK ||
        elf_view_build_id(&view, &id, &id_size) != CH_OK || id_size > BUILD_ID_MAX)
        return false;
    hex_encode(id, id_size, hex);
    return strcmp(hex, wanted) == 0;
}

// find_build_time gives when the image of a frame was written, if it is here and of the
// report's build.
static bool find_build_time(const json_t *report, const json_t *frame,
                            struct timespec *out)
{
    const json_t *image = report_image(report, frame);
    const char *path = report_string(image, "path");
    const char *wanted = report_string(image, "build_id");
    char expanded[PATH_MAX];
    struct stat info;
    if (path == NULL || wanted == NULL || !expand_home(path, expanded))
        return false;
    int fd = open(expanded, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool same =
        fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && has_build_id(fd, wanted);
    (void)close(fd);
    if (same)
        *out = info.st_mtim;
    return same;
}

// source_crash_time gives the report's time, which has a fixed form.
static bool source_crash_time(const json_t *report, struct timespec *out)
{
    const char *time = report_string(report, "time");
    struct tm moment = { 0 };
    if (time == NULL || strptime(time, "%Y-%m-%dT%H:%M:%S", &moment) == NULL)
        return false;
    *out = (struct timespec){ .tv_sec = timegm(&moment) + 1 };
    return true;
}

static enum source_state judge_source(const json_t *report, const json_t *frame,
                                      FILE *file)
{
    const char *wanted = report_string(frame, "file_md5");
    char sum[2 * MD5_SIZE + 1];
    struct timespec limit;
    struct stat info;
    if (wanted != NULL) {
        source_sum(file, sum);
        return strcmp(sum, wanted) == 0 ? SOURCE_BUILT : SOURCE_CHANGED;
    }
    if (fstat(fileno(file), &info) != 0)
        return SOURCE_UNCHECKED;
    if (source_crash_time(report, &limit) && is_newer(&info.st_mtim, &limit))
        return SOURCE_CHANGED;
    if (!find_build_time(report, frame, &limit))
        return SOURCE_UNCHECKED;
    return is_newer(&info.st_mtim, &limit) ? SOURCE_CHANGED : SOURCE_BUILT;
}

static void render_source_line(const struct pen *pen, int64_t number, const char *text,
                               bool marked)
{
    pen_set(pen, marked ? PEN_BOLD : PEN_DIM);
    pen_plain(pen, "    %s%6" PRId64 " | ", marked ? ">" : " ", number);
    pen_text(pen, text);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
}

static void render_source_warning(const struct pen *pen, enum source_state state)
{
    static const char *const words[] = {
        [SOURCE_CHANGED] =
            "This file has changed since the program was built: the line "
            "that ran may be another.",
        [SOURCE_UNCHECKED] = "Whether this is the file that was built is not known.",
    };
    if (state == SOURCE_BUILT)
        return;
    pen_set(pen, PEN_ALARM);
    pen_plain(pen, "    %s", words[state]);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
}

void render_source_write(const struct pen *pen, const json_t *report,
                         const json_t *frame)
{
    const char *path = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    FILE *file = path != NULL && line > 0 ? open_source(path) : NULL;
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    if (file == NULL)
        return;
    enum source_state state = judge_source(report, frame, file);
    pen_plain(pen, "\n");
    render_source_warning(pen, state);
    for (int64_t i = 1; i <= line + CONTEXT_LINES && length >= 0; i++) {
        length = getline(&text, &capacity, file);
        if (length < 0 || i < line - CONTEXT_LINES)
            continue;
        text[strcspn(text, "\r\n")] = 0;
        render_source_line(pen, i, text, i == line && state != SOURCE_CHANGED);
    }
    free(text);
    (void)fclose(file);
}
