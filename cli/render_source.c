// SPDX-License-Identifier: Apache-2.0
#include "cli/render_source.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/report.h"

enum { CONTEXT_LINES = 2, SOURCE_MAX_BYTES = 8 << 20 };

// is_source goes by the name: a report of a stranger may name any file, and what is no
// source is not to be shown with it.
static bool is_source(const char *path)
{
    static const char *const endings[] = { "c",   "cc", "cpp", "cxx", "c++", "C",
                                           "h",   "hh", "hpp", "hxx", "ipp", "tcc",
                                           "inc", "rs", "d",   "m",   "mm",  "S" };
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcmp(dot + 1, endings[i]) == 0)
            return true;
    }
    return false;
}

// open_source opens a plain file; a `~` that sanitizing put there is our home again.
static FILE *open_source(const char *path)
{
    char expanded[PATH_MAX];
    struct stat status;
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL) {
        int size = snprintf(expanded, sizeof(expanded), "%s%s", home, path + 1);
        if (size < 0 || (size_t)size >= sizeof(expanded))
            return NULL;
        path = expanded;
    }
    if (path[0] != '/' || !is_source(path))
        return NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    FILE *file = NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size <= SOURCE_MAX_BYTES)
        file = fdopen(fd, "r");
    if (file == NULL)
        (void)close(fd);
    return file;
}

static void write_line(const struct pen *pen, int64_t number, const char *text,
                       bool marked)
{
    pen_set(pen, marked ? PEN_BOLD : PEN_DIM);
    pen_plain(pen, "    %s%6" PRId64 " | ", marked ? ">" : " ", number);
    pen_text(pen, text);
    pen_set(pen, PEN_PLAIN);
    pen_plain(pen, "\n");
}

void render_source_write(const struct pen *pen, const json_t *frame)
{
    const char *path = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    FILE *file = path != NULL && line > 0 ? open_source(path) : NULL;
    char *text = NULL;
    size_t capacity = 0;
    ssize_t length = 0;
    if (file == NULL)
        return;
    pen_plain(pen, "\n");
    for (int64_t i = 1; i <= line + CONTEXT_LINES && length >= 0; i++) {
        length = getline(&text, &capacity, file);
        if (length < 0 || i < line - CONTEXT_LINES)
            continue;
        text[strcspn(text, "\r\n")] = 0;
        write_line(pen, i, text, i == line);
    }
    free(text);
    (void)fclose(file);
}
