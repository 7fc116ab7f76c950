// SPDX-License-Identifier: Apache-2.0
#include "cli/render_source.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source_file.h"
#include "report/report.h"

enum { CONTEXT_LINES = 2, SOURCE_MAX_BYTES = 8 << 20 };

// open_source opens a source file; a leading `~`, which sanitizing wrote, is our home.
static FILE *open_source(const char *path)
{
    char expanded[PATH_MAX];
    FILE *file = NULL;
    const char *home = getenv("HOME");
    if (strncmp(path, "~/", 2) == 0 && home != NULL) {
        int size = snprintf(expanded, sizeof(expanded), "%s%s", home, path + 1);
        if (size < 0 || (size_t)size >= sizeof(expanded))
            return NULL;
        path = expanded;
    }
    return source_file_open(path, SOURCE_MAX_BYTES, &file) == CH_OK ? file : NULL;
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
        render_source_line(pen, i, text, i == line);
    }
    free(text);
    (void)fclose(file);
}
