// SPDX-License-Identifier: Apache-2.0
//
// Symbolicated backtraces as text.
#include <inttypes.h>
#include <stdlib.h>

#include "backtrace/frame_list.h"
#include "backtrace/named.h"
#include "backtrace/symbol.h"

// describe_frame appends a frame as one line. raw: with its linker name.
static void describe_frame(const struct crashhook_symbolicated_frame *frame, bool raw,
                           struct text *out)
{
    char *captured = crashhook_frame_description(&frame->captured);
    text_append_string(out, captured != NULL ? captured : "");
    free(captured);
    if (frame->symbol == NULL)
        return;
    if (frame->is_inline)
        text_append_string(out, " [inlined]");
    if (frame->symbol->is_thunk)
        text_append_string(out, " [thunk]");
    text_append_string(out, " ");
    symbol_describe(frame->symbol, raw, out);
}

char *crashhook_symbolicated_frame_description(
    const struct crashhook_symbolicated_frame *frame)
{
    struct text line = { 0 };
    describe_frame(frame, false, &line);
    return symbol_finish(&line);
}

static void describe_frames(const struct crashhook_symbolicated_backtrace *named,
                            bool raw, struct text *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < named->count; i++) {
        text_appendf(out, "\n%" PRIu64 "\t", number);
        describe_frame(&named->frames[i], raw, out);
        number = frame_list_number_after(number, &named->frames[i].captured);
    }
}

char *crashhook_symbolicated_backtrace_description(
    const struct crashhook_symbolicated_backtrace *named)
{
    struct text lines = { 0 };
    text_appendf(&lines, "Architecture: %s\n", named->backtrace->architecture);
    describe_frames(named, false, &lines);
    frame_list_describe_images(named->images, &lines);
    return symbol_finish(&lines);
}

static bool is_in_app(const struct crashhook_symbolicated_frame *frame)
{
    return frame->symbol != NULL && !frame->symbol->is_system &&
           !frame->symbol->is_thunk;
}

// describe_friendly appends the in-app functions, and says where frames are left out.
// In a backtrace without such functions it appends all that have a symbol.
static void describe_friendly(const struct crashhook_symbolicated_backtrace *named,
                              struct text *out)
{
    uint64_t number = 0;
    bool has_in_app = false;
    for (size_t i = 0; i < named->count && !has_in_app; i++)
        has_in_app = is_in_app(&named->frames[i]);
    for (size_t i = 0; i < named->count; i++) {
        const struct crashhook_symbolicated_frame *frame = &named->frames[i];
        uint64_t own = number;
        number = frame_list_number_after(number, &frame->captured);
        if (frame->captured.kind >= CRASHHOOK_FRAME_OMITTED) {
            text_append_string(out, "...\n");
            continue;
        }
        if (has_in_app ? !is_in_app(frame) : frame->symbol == NULL)
            continue;
        text_appendf(out, "%" PRIu64 " %s%s", own, frame->symbol->name,
                     frame->is_inline ? " [inlined]" : "");
        if (frame->symbol->location.path != NULL) {
            text_append_string(out, " at ");
            symbol_describe_location(&frame->symbol->location, out);
        }
        text_append_string(out, "\n");
    }
}

// describe_mentioned appends the images that contain a frame.
static void describe_mentioned(const struct crashhook_symbolicated_backtrace *named,
                               struct text *out)
{
    size_t count = crashhook_images_count(named->images);
    bool *mentioned = calloc(count + 1, sizeof(*mentioned));
    if (mentioned == NULL)
        return;
    for (size_t i = 0; i < named->count; i++) {
        const struct crashhook_symbol *symbol = named->frames[i].symbol;
        if (symbol != NULL && symbol->image_index < count)
            mentioned[symbol->image_index] = true;
    }
    text_append_string(out, "\n\nImages:\n");
    for (size_t i = 0; i < count; i++) {
        char *line =
            mentioned[i]
                ? crashhook_image_description(crashhook_images_at(named->images, i))
                : NULL;
        if (line != NULL)
            text_appendf(out, "\n%zu\t%s", i, line);
        free(line);
    }
    free(mentioned);
}

char *crashhook_symbolicated_backtrace_format(
    const struct crashhook_symbolicated_backtrace *named,
    enum crashhook_format_preset preset)
{
    struct text lines = { 0 };
    if (preset == CRASHHOOK_FORMAT_FRIENDLY) {
        describe_friendly(named, &lines);
        return symbol_finish(&lines);
    }
    bool full = preset == CRASHHOOK_FORMAT_FULL;
    text_appendf(&lines, "Architecture: %s\n", named->backtrace->architecture);
    describe_frames(named, full, &lines);
    if (full)
        frame_list_describe_images(named->images, &lines);
    else
        describe_mentioned(named, &lines);
    text_append_string(&lines, "\n");
    return symbol_finish(&lines);
}
