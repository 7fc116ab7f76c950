// SPDX-License-Identifier: Apache-2.0
//
// Objects of Python as text: names, lines, exceptions.
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/utf8.h"
#include "languages/python.h"

// Offsets that are the same in every version: of a type's name, of a tuple's size and
// of an exception's arguments.
enum {
    TYPE_NAME = 24,
    TUPLE_SIZE = 16,
    EXCEPTION_ARGUMENTS = 24,
    TYPE_NAME_MAX = 128,
    HANDLED_MAX = 16, // nested handlers that are looked at
    ARGUMENTS_MAX = 2,
};

// read_python_text appends a str as UTF-8, at most PYTHON_NAME_MAX characters of it.
static enum ch_status read_python_text(const struct python *python, uint64_t object,
                                       struct text *out)
{
    const struct python_layout *layout = &python->layout;
    uint8_t bytes[4 * PYTHON_NAME_MAX];
    uint64_t length;
    uint64_t word;
    if (object == 0 ||
        memory_read_word(python->reader, object + layout->text_length, &length) !=
            CH_OK ||
        memory_read_word(python->reader, object + layout->text_state, &word) != CH_OK)
        return CH_ERR_FAULT;
    unsigned width = word >> 2 & 7;
    bool compact = word >> 5 & 1;
    bool ascii = word >> 6 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4) || length == 0)
        return CH_ERR_MALFORMED;
    size_t count = length < PYTHON_NAME_MAX ? (size_t)length : PYTHON_NAME_MAX;
    uint64_t data = object + (ascii ? layout->text_ascii : layout->text_compact);
    enum ch_status status = memory_read(python->reader, data, bytes, count * width);
    if (status != CH_OK)
        return status;
    struct cursor c = cursor_over(bytes, count * width);
    for (size_t i = 0; i < count; i++) {
        char character[UTF8_MAX_BYTES];
        text_append(out, character,
                    utf8_encode((uint32_t)cursor_uint(&c, width), character));
    }
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static enum ch_status read_python_field(const struct python *python, uint64_t object,
                                        uint64_t offset, struct text *out)
{
    uint64_t value;
    enum ch_status status = memory_read_word(python->reader, object + offset, &value);
    return status == CH_OK ? read_python_text(python, value, out) : status;
}

// read_python_line finds a frame's line in its code's table; 0: it is not known.
static uint32_t read_python_line(const struct python *python,
                                 const struct interpreted_frame *frame)
{
    const struct python_layout *layout = &python->layout;
    const struct memory_reader *reader = python->reader;
    uint64_t table;
    uint64_t size;
    uint64_t first;
    uint32_t line = 0;
    if (frame->offset == INTERPRETED_NO_OFFSET ||
        memory_read_word(reader, frame->code + layout->code_first_line, &first) !=
            CH_OK ||
        memory_read_word(reader, frame->code + layout->code_lines, &table) != CH_OK ||
        memory_read_word(reader, table + layout->bytes_size, &size) != CH_OK ||
        size > PYTHON_LINES_MAX)
        return 0;
    uint8_t *bytes = malloc((size_t)size + 1);
    if (bytes != NULL &&
        memory_read(reader, table + layout->bytes_data, bytes, (size_t)size) == CH_OK &&
        python_lines_find(layout->lines, bytes, (size_t)size, (uint32_t)first,
                          frame->offset, &line) != CH_OK)
        line = 0;
    free(bytes);
    return line;
}

void python_describe(const struct python *python, const struct interpreted_frame *frame,
                     struct python_place *out)
{
    const struct python_layout *layout = &python->layout;
    *out = (struct python_place){ 0 };
    if (read_python_field(python, frame->code, layout->code_name, &out->function) !=
        CH_OK) {
        text_deinit(&out->function);
        return;
    }
    if (read_python_field(python, frame->code, layout->code_file, &out->file) != CH_OK)
        text_deinit(&out->file);
    else
        out->line = read_python_line(python, frame);
}

void python_place_deinit(struct python_place *place)
{
    text_deinit(&place->function);
    text_deinit(&place->file);
}

// read_type_name appends the name of an object's type, or of a type itself.
static enum ch_status read_type_name(const struct python *python, uint64_t type,
                                     struct text *out)
{
    char name[TYPE_NAME_MAX];
    uint64_t at;
    enum ch_status status = memory_read_word(python->reader, type + TYPE_NAME, &at);
    if (status == CH_OK)
        status = memory_read_string(python->reader, at, name, sizeof(name));
    if (status != CH_OK)
        return status;
    for (const char *c = name; *c != 0; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return CH_ERR_MALFORMED;
    if (name[0] == 0)
        return CH_ERR_MALFORMED;
    text_append_string(out, name);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

static bool python_type_is(const struct python *python, uint64_t object,
                           const char *wanted)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    uint64_t type;
    return object != 0 &&
           memory_read_word(python->reader, object + python->layout.object_type,
                            &type) == CH_OK &&
           read_type_name(python, type, &name) == CH_OK &&
           strcmp(name.bytes, wanted) == 0;
}

// read_what appends the first text among an exception's arguments.
static void read_what(const struct python *python, uint64_t exception, struct text *out)
{
    uint64_t arguments;
    uint64_t count;
    uint64_t item;
    if (memory_read_word(python->reader, exception + EXCEPTION_ARGUMENTS, &arguments) !=
            CH_OK ||
        !python_type_is(python, arguments, "tuple") ||
        memory_read_word(python->reader, arguments + TUPLE_SIZE, &count) != CH_OK)
        return;
    for (uint64_t i = 0; i < count && i < ARGUMENTS_MAX; i++) {
        if (memory_read_word(python->reader,
                             arguments + python->layout.tuple_items + 8 * i,
                             &item) != CH_OK ||
            !python_type_is(python, item, "str"))
            continue;
        (void)!read_python_text(python, item, out);
        return;
    }
}

// read_exception reads an exception by its type, which may come without a value.
static bool read_exception(const struct python *python, uint64_t type, uint64_t value,
                           struct python_exception *out)
{
    if (type == 0 || read_type_name(python, type, &out->type) != CH_OK ||
        strcmp(out->type.bytes, "NoneType") == 0) {
        python_exception_deinit(out);
        return false;
    }
    if (value == 0)
        return true;
    // Until 3.11 a text may stand for the exception that will be made of it.
    if (python_type_is(python, value, "str"))
        (void)!read_python_text(python, value, &out->what);
    else
        read_what(python, value, &out->what);
    return true;
}

static bool read_raised(const struct python *python, uint64_t thread,
                        struct python_exception *out)
{
    const struct python_layout *layout = &python->layout;
    uint64_t at = thread + layout->thread_raised;
    uint64_t value;
    uint64_t type = 0;
    if (memory_read_word(python->reader, at, &value) != CH_OK)
        return false;
    if (layout->raised_has_type) {
        if (memory_read_word(python->reader, at - 8, &type) != CH_OK)
            return false;
    } else if (value == 0 ||
               memory_read_word(python->reader, value + layout->object_type, &type) !=
                   CH_OK) {
        return false;
    }
    return read_exception(python, type, value, out);
}

static bool read_handled(const struct python *python, uint64_t thread,
                         struct python_exception *out)
{
    const struct python_layout *layout = &python->layout;
    uint64_t handler;
    uint64_t value;
    uint64_t type;
    if (memory_read_word(python->reader, thread + layout->thread_handled, &handler) !=
        CH_OK)
        return false;
    for (unsigned i = 0; handler != 0 && i < HANDLED_MAX; i++) {
        uint64_t at = handler + layout->handled_value;
        if (memory_read_word(python->reader, at, &value) != CH_OK)
            return false;
        if (value != 0 &&
            memory_read_word(python->reader, value + layout->object_type, &type) ==
                CH_OK &&
            read_exception(python, type, value, out)) {
            out->handled = true;
            return true;
        }
        // What was being handled where this one's generator was called.
        uint64_t next = at + (layout->handled_value != 0 ? 16 : 8);
        if (memory_read_word(python->reader, next, &handler) != CH_OK)
            return false;
    }
    return false;
}

bool python_read_exception(const struct python *python, uint64_t thread,
                           struct python_exception *out)
{
    *out = (struct python_exception){ 0 };
    return python->layout.thread_raised != 0 && thread != 0 &&
           (read_raised(python, thread, out) || read_handled(python, thread, out));
}

void python_exception_deinit(struct python_exception *exception)
{
    text_deinit(&exception->type);
    text_deinit(&exception->what);
}
