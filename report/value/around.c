// SPDX-License-Identifier: Apache-2.0
#include "report/value/around.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"

// append_source appends the text of a source line, if its file is the one that was
// built.
static void append_source(const json_t *report, const json_t *listing, const char *file,
                          int64_t line, struct text *out)
{
    const json_t *frames = report_frames(report_crashed_thread(report));
    const json_t *frame =
        json_array_get(frames, (size_t)report_integer(listing, "frame", 0));
    json_t *place = json_copy((json_t *)(uintptr_t)frame);
    const char *own = report_string(frame, "file");
    struct frame_source source;
    if (place == NULL)
        return;
    if (own == NULL || strcmp(own, file) != 0)
        (void)json_object_del(place, "file_md5");
    (void)json_object_set_new(place, "file", json_string(file));
    (void)json_object_set_new(place, "line", json_integer(line));
    if (frame_source_read(report, place, 0, NULL, &source) == CH_OK) {
        if (source.state == FRAME_SOURCE_BUILT && source.count == 1) {
            const char *text = source.lines[0];
            text_append_string(out, "  ");
            text_append_string(out, text + strspn(text, " \t"));
        }
        frame_source_deinit(&source);
    }
    json_decref(place);
}

// marked_index gives the index of the marked instruction.
static size_t marked_index(const json_t *instructions)
{
    for (size_t i = 0; i < json_array_size(instructions); i++)
        if (report_flag(json_array_get(instructions, i), "current"))
            return i;
    return 0;
}

void around_code_append(const json_t *report, const json_t *listing, size_t around,
                        bool sources, struct text *out)
{
    const json_t *instructions = json_object_get(listing, "instructions");
    const char *listed = report_string(listing, "file");
    const char *last_file = NULL;
    int64_t last_line = 0;
    size_t marked = marked_index(instructions);
    for (size_t i = marked > around ? marked - around : 0;
         i < json_array_size(instructions) && i <= marked + around; i++) {
        const json_t *one = json_array_get(instructions, i);
        const char *file = report_string(one, "file");
        const char *address = report_string(one, "address");
        const char *text = report_string(one, "text");
        int64_t line = report_integer(one, "line", 0);
        file = file != NULL ? file : listed;
        if (file != NULL && line > 0 &&
            (line != last_line || last_file == NULL || strcmp(file, last_file) != 0)) {
            text_appendf(out, "%s:%" PRId64, file_name(file), line);
            if (sources)
                append_source(report, listing, file, line, out);
            text_append_string(out, "\n");
            last_file = file;
            last_line = line;
        }
        text_appendf(out, "%s %s  %s\n", report_flag(one, "current") ? "=>" : "  ",
                     address != NULL ? address : "?", text != NULL ? text : "?");
    }
}

static void append_pointed_block(const json_t *pointer, uint64_t address, bool freed,
                                 struct text *out)
{
    uint64_t block = address;
    int64_t size = report_integer(pointer, "block_bytes", 0);
    (void)report_address(pointer, "block", &block);
    if (address != block)
        text_appendf(out, "%" PRIu64 " bytes into ", address - block);
    text_appendf(out, "a %sblock of malloc of %" PRId64 " bytes", freed ? "freed " : "",
                 size);
}

static void append_symbol(const json_t *pointer, struct text *out)
{
    int64_t offset = report_integer(pointer, "symbol_offset", 0);
    text_append_string(out, report_string(pointer, "symbol"));
    if (offset > 0)
        text_appendf(out, " + %" PRId64, offset);
    if (report_string(pointer, "path") != NULL)
        text_append_string(out, " in ");
}

// append_target reports what the pointer leads to.
static void append_target(const json_t *pointer, uint64_t address, struct text *out)
{
    const char *to = report_string(pointer, "to");
    const char *path = report_string(pointer, "path");
    const char *permissions = report_string(pointer, "permissions");
    if (to == NULL || strcmp(to, "unmapped") == 0) {
        text_append_string(out, "nothing is mapped there");
        return;
    }
    if (strcmp(to, "heap") == 0 || strcmp(to, "freed") == 0) {
        append_pointed_block(pointer, address, *to == 'f', out);
        return;
    }
    if (strcmp(to, "stack") == 0) {
        text_appendf(out, "stack of thread %" PRId64,
                     report_integer(pointer, "thread", 0));
        return;
    }
    if (report_string(pointer, "symbol") != NULL)
        append_symbol(pointer, out);
    else if (path == NULL)
        text_append_string(out, "memory");
    if (path != NULL)
        text_append_string(out, file_name(path));
    if (permissions != NULL)
        text_appendf(out, " (%s)", permissions);
}

void around_pointers_append(const json_t *report, struct text *out)
{
    const json_t *pointers =
        json_object_get(json_object_get(report, "crash"), "pointers");
    for (size_t i = 0; i < json_array_size(pointers) && i < AROUND_ALL; i++) {
        const json_t *pointer = json_array_get(pointers, i);
        const char *name = report_string(pointer, "register");
        uint64_t address;
        if (name == NULL || !report_address(pointer, "address", &address))
            continue;
        text_appendf(out, "%6s 0x%-14" PRIx64 "  ", name, address);
        append_target(pointer, address, out);
        text_append_string(out, "\n");
    }
}

static void append_row(uint64_t address, const uint8_t *bytes, size_t size,
                       struct text *out)
{
    enum { ROW = 16 };
    text_appendf(out, "  0x%012" PRIx64, address);
    for (size_t i = 0; i < ROW; i++) {
        char digits[3] = "  ";
        if (i < size)
            hex_encode(&bytes[i], 1, digits);
        text_appendf(out, "%s%s", i % 8 == 0 ? "  " : " ", digits);
    }
    text_append_string(out, "  ");
    for (size_t i = 0; i < size; i++) {
        char shown = bytes[i] >= ' ' && bytes[i] <= '~' ? (char)bytes[i] : '.';
        text_append(out, &shown, 1);
    }
    text_append_string(out, "\n");
}

void around_memory_append(const json_t *report, struct text *out)
{
    enum { BYTES = 512, ROW = 16 };
    const json_t *memory = json_object_get(report, "memory");
    for (size_t i = 0; i < json_array_size(memory); i++) {
        const json_t *run = json_array_get(memory, i);
        const char *name = report_string(run, "register");
        const char *digits = report_string(run, "bytes");
        uint8_t bytes[BYTES];
        uint64_t address;
        size_t size = 0;
        size_t length = digits != NULL ? strlen(digits) & ~(size_t)1 : 0;
        if (name == NULL || !report_address(run, "address", &address) ||
            hex_decode(digits, length < 2 * sizeof(bytes) ? length : 2 * sizeof(bytes),
                       bytes, sizeof(bytes), &size) != CH_OK)
            continue;
        text_appendf(out, "%s:\n", name);
        for (size_t at = 0; at < size; at += ROW)
            append_row(address + at, bytes + at, size - at < ROW ? size - at : ROW,
                       out);
    }
}

// append_surrounding_value appends a text or a number, `-` for what there is none of.
static void append_surrounding_value(const json_t *value, struct text *out)
{
    if (json_is_string(value))
        text_append_string(out, json_string_value(value));
    else if (json_is_integer(value))
        text_appendf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        text_append_string(out, "-");
}

static void append_surrounding_list(const json_t *list, struct text *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        text_append_string(out, i != 0 ? ", " : "");
        append_surrounding_value(json_array_get(list, i), out);
    }
}

// append_surrounding_members appends NAME VALUE for each member, in one line.
static void append_surrounding_members(const json_t *value, struct text *out)
{
    const char *name;
    json_t *member;
    bool first = true;
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        text_appendf(out, "%s%s ", first ? "" : ", ", name);
        if (json_is_object(member)) {
            const json_t *hard = json_object_get(member, "hard");
            append_surrounding_value(json_object_get(member, "soft"), out);
            text_append_string(out, " of ");
            append_surrounding_value(hard, out);
        } else if (json_is_array(member)) {
            append_surrounding_list(member, out);
        } else {
            append_surrounding_value(member, out);
        }
        first = false;
    }
}

// append_descriptor appends a descriptor in one line.
static void append_descriptor(const json_t *descriptor, struct text *out)
{
    static const char *const keys[][2] = {
        { "protocol", " " },     { "local", " from " }, { "peer", " to " },
        { "peer_pid", " of " },  { "state", ", " },     { "access", ", opened to " },
        { "position", ", at " },
    };
    text_appendf(out, "  descriptor %" PRId64 " ",
                 report_integer(descriptor, "number", -1));
    append_surrounding_value(json_object_get(descriptor, "target"), out);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const json_t *value = json_object_get(descriptor, keys[i][0]);
        if (value == NULL)
            continue;
        text_append_string(out, keys[i][1]);
        append_surrounding_value(value, out);
    }
    text_append_string(out, "\n");
}

// append_surrounding_lines appends a line for each member.
static void append_surrounding_lines(const json_t *value, struct text *out)
{
    const char *name;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, name, member)
    {
        text_appendf(out, "  %s=", name);
        append_surrounding_value(member, out);
        text_append_string(out, "\n");
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        text_append_string(out, "  ");
        append_surrounding_value(json_array_get(value, i), out);
        text_append_string(out, "\n");
    }
}

// append_surrounding appends `NAME: VALUE`, or nothing where there is no value.
static void append_surrounding(const char *name, const json_t *value, struct text *out)
{
    bool text_or_number = json_is_string(value) || json_is_integer(value);
    if (!text_or_number && json_object_size(value) == 0 && json_array_size(value) == 0)
        return;
    text_appendf(out, "%s:", name);
    if (strcmp(name, "environment") == 0 || strcmp(name, "kernel_log") == 0) {
        text_append_string(out, "\n");
        append_surrounding_lines(value, out);
        return;
    }
    text_append_string(out, " ");
    if (json_is_object(value))
        append_surrounding_members(value, out);
    else if (json_is_array(value))
        append_surrounding_list(value, out);
    else
        append_surrounding_value(value, out);
    text_append_string(out, "\n");
}

void around_process_append(const json_t *report, struct text *out)
{
    const json_t *surroundings = json_object_get(report, "surroundings");
    const json_t *descriptors = json_object_get(surroundings, "descriptors");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)surroundings, name, value)
    {
        if (value != descriptors && strcmp(name, "environment_at") != 0)
            append_surrounding(name, value, out);
    }
    for (size_t i = 0; i < json_array_size(descriptors); i++)
        append_descriptor(json_array_get(descriptors, i), out);
}
