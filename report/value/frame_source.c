// SPDX-License-Identifier: Apache-2.0
#include "report/value/frame_source.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hex.h"
#include "base/system/file.h"
#include "base/system/mounts.h"
#include "formats/debug/elf.h"
#include "formats/interchange/source_bundle.h"
#include "report/file/digest.h"
#include "report/value/report.h"

// is_source decides by the name. C++'s standard headers have no extension.
static bool is_source(const char *path)
{
    static const char *const endings[] = {
        "C",   "H",   "S",   "adb", "ads", "asm", "c",   "c++", "cc",   "cpp",   "cppm",
        "cu",  "cuh", "cxx", "d",   "def", "f",   "f90", "go",  "h",    "h++",   "hh",
        "hpp", "hxx", "inc", "inl", "ipp", "ixx", "l",   "m",   "mm",   "pas",   "rs",
        "s",   "tcc", "tpp", "txx", "y",   "yy",  "ll",  "zig", "vala", "swift",
    };
    const char *dot = strrchr(file_name(path), '.');
    for (size_t i = 0; dot != NULL && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcmp(dot + 1, endings[i]) == 0)
            return true;
    }
    return dot == NULL && strstr(path, "/include/c++/") != NULL &&
           strstr(path, "/../") == NULL;
}

enum ch_status source_file_open(const char *path, uint64_t limit_bytes, FILE **out)
{
    struct stat status;
    if (path[0] != '/' || !is_source(path))
        return CH_ERR_UNSUPPORTED;
    int fd = reachable_open(path);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status result = CH_OK;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        result = CH_ERR_NOT_FOUND;
    else if ((uint64_t)status.st_size > limit_bytes)
        result = CH_ERR_LIMIT;
    FILE *file = result == CH_OK ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        (void)close(fd);
        return result == CH_OK ? CH_ERR_NO_MEMORY : result;
    }
    *out = file;
    return CH_OK;
}

enum { SOURCE_MAX_BYTES = 8 << 20, BUILD_ID_MAX = 64 };

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
    return path != NULL && expand_home(path, expanded) &&
                   source_file_open(expanded, SOURCE_MAX_BYTES, &file) == CH_OK
               ? file
               : NULL;
}

// source_sum gives the MD5 of file in hexadecimal, and returns to its beginning.
static void source_sum(FILE *file, char out[static 2 * MD5_SIZE + 1])
{
    uint8_t bytes[16384];
    uint8_t sum[MD5_SIZE];
    struct md5_ctx md5;
    size_t count;
    md5_init(&md5);
    while ((count = fread(bytes, 1, sizeof(bytes), file)) != 0)
        md5_update(&md5, count, bytes);
    md5_digest(&md5, sizeof(sum), sum);
    hex_encode(sum, sizeof(sum), out);
    rewind(file);
}

static bool is_newer(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec != other->tv_sec ? one->tv_sec > other->tv_sec
                                        : one->tv_nsec > other->tv_nsec;
}

// has_build_id returns true if the ELF file at fd has that build ID, in hexadecimal. It
// is in a note near the file's beginning.
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

// open_frame_image opens the image of a frame if it is here and of the report's build;
// -1: it is not.
static int open_frame_image(const json_t *report, const json_t *frame,
                            struct stat *out_info)
{
    const json_t *image = report_image(report, frame);
    const char *path = report_string(image, "path");
    const char *wanted = report_string(image, "build_id");
    char expanded[PATH_MAX];
    if (path == NULL || wanted == NULL || !expand_home(path, expanded))
        return -1;
    int fd = reachable_open(expanded);
    if (fd >= 0 && (fstat(fd, out_info) != 0 || !S_ISREG(out_info->st_mode) ||
                    !has_build_id(fd, wanted)))
        file_close(&fd);
    return fd;
}

static enum frame_source_state judge_source(const json_t *report, const json_t *frame,
                                            FILE *file)
{
    const char *wanted = report_string(frame, "file_md5");
    char sum[2 * MD5_SIZE + 1];
    struct stat image;
    int64_t crash_ms = clock_utc_read(report_string(report, "time"));
    struct timespec limit = { .tv_sec = crash_ms / 1000 + 1 };
    struct stat info;
    if (wanted != NULL) {
        source_sum(file, sum);
        return strcmp(sum, wanted) == 0 ? FRAME_SOURCE_BUILT : FRAME_SOURCE_CHANGED;
    }
    if (fstat(fileno(file), &info) != 0)
        return FRAME_SOURCE_UNCHECKED;
    if (crash_ms >= 0 && is_newer(&info.st_mtim, &limit))
        return FRAME_SOURCE_CHANGED;
    int CH_CLEANUP(file_close) image_fd = open_frame_image(report, frame, &image);
    if (image_fd < 0)
        return FRAME_SOURCE_UNCHECKED;
    return is_newer(&info.st_mtim, &image.st_mtim) ? FRAME_SOURCE_CHANGED
                                                   : FRAME_SOURCE_BUILT;
}

// read_source_lines reads the lines from out->first on, up to last.
static void read_source_lines(FILE *file, int64_t last, struct frame_source *out)
{
    char *text = NULL;
    size_t capacity = 0;
    for (int64_t i = 1; i <= last && getline(&text, &capacity, file) >= 0; i++) {
        if (i < out->first)
            continue;
        text[strcspn(text, "\r\n")] = 0;
        out->lines[out->count] = strdup(text);
        if (out->lines[out->count] == NULL)
            break;
        out->count++;
    }
    free(text);
}

// open_bundled opens the source at path in a bundle, to which only what was built was
// added: without a sum of the file to compare, that holds.
static FILE *open_bundled(const struct cursor *bundle, const json_t *frame,
                          enum frame_source_state *out_state)
{
    struct cursor text;
    char sum[2 * MD5_SIZE + 1];
    const char *wanted = report_string(frame, "file_md5");
    FILE *file = NULL;
    if (bundle != NULL &&
        source_bundle_find(*bundle, report_string(frame, "file"), &text))
        file = fmemopen((void *)(uintptr_t)text.at, cursor_left(&text), "r");
    *out_state = FRAME_SOURCE_BUILT;
    if (file != NULL && wanted != NULL) {
        source_sum(file, sum);
        if (strcmp(sum, wanted) != 0)
            *out_state = FRAME_SOURCE_CHANGED;
    }
    return file;
}

FILE *frame_source_open(const json_t *report, const json_t *frame)
{
    struct rights rights;
    report_rights(report, &rights);
    rights_apply(&rights);
    FILE *file = open_source(report_string(frame, "file"));
    if (file != NULL && judge_source(report, frame, file) != FRAME_SOURCE_BUILT) {
        (void)fclose(file);
        file = NULL;
    }
    rights_apply(&(const struct rights){ 0 });
    return file;
}

FILE *frame_image_open(const json_t *report, const json_t *frame)
{
    struct stat info;
    struct rights rights;
    report_rights(report, &rights);
    rights_apply(&rights);
    int fd = open_frame_image(report, frame, &info);
    rights_apply(&(const struct rights){ 0 });
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL)
        file_close(&fd);
    return file;
}

enum ch_status frame_source_read(const json_t *report, const json_t *frame,
                                 int64_t around, const struct cursor *bundle,
                                 struct frame_source *out)
{
    enum frame_source_state state;
    const char *path = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    struct rights rights;
    assert(around >= 0 && 2 * around < FRAME_SOURCE_LINES);
    if (path == NULL || line <= 0 || line > INT32_MAX)
        return CH_ERR_NOT_FOUND;
    report_rights(report, &rights);
    rights_apply(&rights);
    FILE *file = open_bundled(bundle, frame, &state);
    if (file == NULL) {
        file = open_source(path);
        state = file != NULL ? judge_source(report, frame, file) : state;
    }
    if (file != NULL) {
        *out = (struct frame_source){ .state = state,
                                      .first = line > around ? line - around : 1 };
        read_source_lines(file, line + around, out);
        (void)fclose(file);
    }
    rights_apply(&(const struct rights){ 0 });
    return file != NULL ? CH_OK : CH_ERR_NOT_FOUND;
}

void frame_source_deinit(struct frame_source *source)
{
    for (size_t i = 0; i < source->count; i++)
        free(source->lines[i]);
    source->count = 0;
}
