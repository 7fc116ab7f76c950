// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/stack_text.h"

#include <inttypes.h>
#include <string.h>

#include "report/value/report.h"

// add_plain appends a string from outside so that it cannot leave its line.
static void add_plain(struct text *out, const char *string)
{
    size_t begin = out->size;
    text_append_string(out, string);
    for (size_t i = begin; i < out->size; i++) {
        if ((unsigned char)out->bytes[i] < ' ' || out->bytes[i] == 0x7f)
            out->bytes[i] = '?';
    }
}

static void append_place_text(struct text *out, const json_t *frame)
{
    const char *file = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    int64_t column = report_integer(frame, "column", 0);
    if (file == NULL)
        return;
    text_append_string(out, " at ");
    add_plain(out, file);
    if (line > 0)
        text_appendf(out, ":%" PRId64, line);
    if (line > 0 && column > 0)
        text_appendf(out, ":%" PRId64, column);
}

static void add_code(struct text *out, const json_t *report, const json_t *frame)
{
    uint64_t address = 0;
    const json_t *image = report_image(report, frame);
    const char *function = report_string(frame, "function");
    const char *path = report_string(image, "path");
    path = path != NULL ? path : report_string(image, "name");
    (void)report_address(frame, "address", &address);
    text_appendf(out, "0x%016" PRIx64 " in ", address);
    add_plain(out, function != NULL ? function : "??");
    append_place_text(out, frame);
    if (report_string(frame, "language") != NULL)
        text_appendf(out, " [%s]", report_frame_mark(frame));
    if (report_flag(frame, "creator"))
        text_append_string(out, " [created it]");
    if (path != NULL && !report_frame_is_interpreted(frame)) {
        text_append_string(out, " from ");
        add_plain(out, path);
    }
}

static void append_frame_text(struct text *out, const json_t *report,
                              const json_t *frame, size_t index)
{
    int64_t count = report_integer(frame, "count", 0);
    text_appendf(out, "#%-3zu", index);
    if (report_frame_is_code(frame))
        add_code(out, report, frame);
    else if (count > 0)
        text_appendf(out, "(%" PRId64 " frames left out)", count);
    else
        text_append_string(out, "(the stack goes on)");
}

void stack_text_write(const json_t *report, const json_t *thread, size_t limit_bytes,
                      struct text *out)
{
    const json_t *frames = report_frames(thread);
    size_t begin = out->size;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        append_frame_text(&line, report, json_array_get(frames, i), i);
        if (out->size - begin + line.size > limit_bytes) {
            text_append_string(out, i == 0 ? "" : "\n");
            text_append_string(out, "(more frames are left out)");
            return;
        }
        text_append_string(out, i == 0 ? "" : "\n");
        text_append(out, line.bytes, line.size);
    }
}
