// SPDX-License-Identifier: Apache-2.0
#include "languages/v8_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/utf8.h"
#include "images/image_symbol.h"

enum v8_range { V8_ANY, V8_FROM_FRAME, V8_IN_OBJECT, V8_TYPE, V8_OPTIONAL };

enum {
    V8_WORD = 8,
    V8_OBJECT_MAX = 1024,
    V8_FRAME_MAX = 256,
    V8_NOT_STRING = 0x80,
};

// A v8_number is one number of the metadata: where it goes, and what it may be.
struct v8_number {
    const char *name; // without v8dbg_
    uint16_t at;
    uint8_t range; // enum v8_range
};

#define NUMBER(member, range, name)                                                    \
    {                                                                                  \
        name, offsetof(struct v8_layout, member), range                                \
    }

static const struct v8_number v8_numbers[] = {
    NUMBER(tagged_size, V8_ANY, "TaggedSize"),
    NUMBER(frame_type, V8_FROM_FRAME, "off_fp_context_or_frame_type"),
    NUMBER(frame_function, V8_FROM_FRAME, "off_fp_function"),
    NUMBER(frame_bytecode, V8_FROM_FRAME, "off_fp_bytecode_array"),
    NUMBER(frame_offset, V8_FROM_FRAME, "off_fp_bytecode_offset"),
    NUMBER(builtin_exit, V8_TYPE, "frametype_BuiltinExitFrame"),
    NUMBER(map_type, V8_IN_OBJECT, "class_Map__instance_type__uint16_t"),
    NUMBER(function_shared, V8_IN_OBJECT,
           "class_JSFunction__shared__SharedFunctionInfo"),
    NUMBER(shared_data, V8_IN_OBJECT,
           "class_SharedFunctionInfo__function_data__Object"),
    NUMBER(shared_name, V8_IN_OBJECT,
           "class_SharedFunctionInfo__name_or_scope_info__Object"),
    NUMBER(shared_script, V8_IN_OBJECT,
           "class_SharedFunctionInfo__script_or_debug_info__HeapObject"),
    NUMBER(script_name, V8_IN_OBJECT, "class_Script__name__Object"),
    NUMBER(script_source, V8_IN_OBJECT, "class_Script__source__Object"),
    NUMBER(script_line_ends, V8_IN_OBJECT, "class_Script__line_ends__Object"),
    NUMBER(bytecode_data, V8_IN_OBJECT, "class_BytecodeArray__data__uintptr_t"),
    NUMBER(scope_locals, V8_IN_OBJECT, "scopeinfo_idx_ncontextlocals"),
    NUMBER(scope_first, V8_IN_OBJECT, "scopeinfo_idx_first_vars"),
    NUMBER(type_function, V8_TYPE, "type_JSFunction__JS_FUNCTION_TYPE"),
    NUMBER(type_shared, V8_TYPE, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
    NUMBER(type_script, V8_TYPE, "type_Script__SCRIPT_TYPE"),
    NUMBER(type_bytecode, V8_TYPE, "type_BytecodeArray__BYTECODE_ARRAY_TYPE"),
    NUMBER(type_bytes, V8_TYPE, "type_ByteArray__BYTE_ARRAY_TYPE"),
    NUMBER(type_array, V8_TYPE, "type_FixedArray__FIXED_ARRAY_TYPE"),
    NUMBER(type_scope, V8_TYPE, "type_ScopeInfo__SCOPE_INFO_TYPE"),
    NUMBER(type_code, V8_TYPE, "type_Code__CODE_TYPE"),
    NUMBER(first_not_string, V8_TYPE, "FirstNonstringType"),
    NUMBER(code_start, V8_OPTIONAL, "class_Code__instruction_start__uintptr_t"),
};

// may_be returns true if a number is in its range.
static bool may_be(enum v8_range range, int32_t value)
{
    switch (range) {
    case V8_FROM_FRAME:
        return value < 0 && value >= -V8_FRAME_MAX && value % V8_WORD == 0;
    case V8_IN_OBJECT:
    case V8_OPTIONAL:
        return value >= 0 && value < V8_OBJECT_MAX;
    case V8_TYPE:
        return value >= 0 && value <= UINT16_MAX;
    case V8_ANY:
        break;
    }
    return true;
}

enum ch_status v8_layout_take(v8_number_fn *number, void *context,
                              struct v8_layout *out)
{
    struct v8_layout layout = { 0 };
    for (size_t i = 0; i < sizeof(v8_numbers) / sizeof(v8_numbers[0]); i++) {
        const struct v8_number *one = &v8_numbers[i];
        int32_t value = 0;
        if ((!number(context, one->name, &value) && one->range != V8_OPTIONAL) ||
            !may_be((enum v8_range)one->range, value))
            return CH_ERR_UNSUPPORTED;
        memcpy((char *)&layout + one->at, &value, sizeof(value));
    }
    // Words that are compressed, and kinds of texts as they were once, are not read.
    if (layout.tagged_size != V8_WORD || layout.first_not_string != V8_NOT_STRING)
        return CH_ERR_UNSUPPORTED;
    *out = layout;
    return CH_OK;
}

// A v8_image is where symbols are looked up.
struct v8_image {
    const struct memory_reader *reader;
    const struct target_image *image;
};

// read_v8_number is a v8_number_fn over struct v8_image.
static bool read_v8_number(void *context, const char *name, int32_t *out)
{
    const struct v8_image *from = context;
    char symbol[128];
    uint64_t address;
    (void)snprintf(symbol, sizeof(symbol), "v8dbg_%s", name);
    return image_symbol_find(from->reader, from->image, symbol, &address) == CH_OK &&
           memory_read(from->reader, address, out, sizeof(*out)) == CH_OK;
}

enum ch_status v8_layout_read(const struct memory_reader *reader,
                              const struct target_image *image, struct v8_layout *out)
{
    struct v8_image from = { reader, image };
    int32_t tag;
    if (!read_v8_number(&from, v8_numbers[0].name, &tag))
        return CH_ERR_NOT_FOUND;
    return v8_layout_take(read_v8_number, &from, out);
}

enum {
    V8_PARTS_MAX = 32,     // parts of a text that wait for others
    V8_SCOPE_INLINED = 75, // of more variables, the names are in a table of their own
    V8_SCOPE_NAMES = 4,    // members after the variables that may be the name
};

bool v8_field(const struct v8_heap *heap, uint64_t object, int64_t offset,
              uint64_t *out)
{
    return memory_read_word(heap->reader, object - V8_TAG + (uint64_t)offset, out) ==
           CH_OK;
}

static bool is_v8_object(uint64_t word)
{
    return (word & V8_TAG_MASK) == V8_TAG;
}

int32_t v8_type(const struct v8_heap *heap, uint64_t word)
{
    uint64_t map;
    uint8_t type[2];
    if (!is_v8_object(word) || !v8_field(heap, word, V8_MAP, &map) ||
        !is_v8_object(map) ||
        memory_read(heap->reader, map - V8_TAG + (uint64_t)heap->layout.map_type, type,
                    sizeof(type)) != CH_OK)
        return -1;
    return type[0] | type[1] << 8;
}

bool v8_small(uint64_t word, int32_t *out)
{
    *out = (int32_t)(uint32_t)(word >> 32);
    return (uint32_t)word == 0;
}

uint8_t *v8_bytes(const struct v8_heap *heap, uint64_t word, size_t limit,
                  size_t *out_size)
{
    uint64_t field;
    int32_t size;
    if (v8_type(heap, word) != heap->layout.type_bytes ||
        !v8_field(heap, word, V8_LENGTH, &field) || !v8_small(field, &size) ||
        size < 0 || (size_t)size > limit)
        return NULL;
    uint8_t *bytes = malloc((size_t)size + 1);
    if (bytes == NULL || memory_read(heap->reader, word - V8_TAG + V8_DATA, bytes,
                                     (size_t)size) != CH_OK) {
        free(bytes);
        return NULL;
    }
    *out_size = (size_t)size;
    return bytes;
}

// The kinds of texts, in the numbers of their types; what those that are not sequential
// refer to is where that one's characters are, and in the word after it.
enum {
    V8_KIND = 7,
    V8_SEQUENTIAL = 0,
    V8_JOINED = 1,
    V8_EXTERNAL = 2,
    V8_SLICED = 3,
    V8_THIN = 5,
    V8_ONE_BYTE = 8,
};

// A v8_string is characters in one piece.
struct v8_string {
    uint64_t data;
    uint32_t length;
    bool two_bytes;
    uint64_t whole; // not 0: this is no piece, but refers to the text
    uint64_t rest;  // and what comes after it; 0: nothing
    uint32_t first; // the character of whole that it begins with
};

// is_v8_text returns true if word refers to a text, of whatever kind.
static bool is_v8_text(const struct v8_heap *heap, uint64_t word)
{
    int32_t type = v8_type(heap, word);
    return type >= 0 && type < heap->layout.first_not_string;
}

// read_v8_parts reads where the characters of a text that refers to others are.
static bool read_v8_parts(const struct v8_heap *heap, uint64_t word, int32_t kind,
                          struct v8_string *out)
{
    int64_t at = V8_DATA;
    uint64_t second = 0;
    int32_t first;
    if (!v8_field(heap, word, at, &out->whole) ||
        (kind != V8_THIN && !v8_field(heap, word, at + 8, &second)))
        return false;
    switch (kind) {
    case V8_THIN:
        return true;
    case V8_JOINED:
        out->rest = second;
        return true;
    case V8_EXTERNAL: // an object of C++, and the address of its characters
        out->whole = 0;
        out->data = second;
        return true;
    case V8_SLICED:
        out->first = (uint32_t)(second >> 32);
        return v8_small(second, &first) && first >= 0;
    default:
        return false;
    }
}

static bool read_v8_string(const struct v8_heap *heap, uint64_t word,
                           struct v8_string *out)
{
    const struct v8_layout *layout = &heap->layout;
    uint8_t length[4];
    int32_t type = v8_type(heap, word);
    *out = (struct v8_string){ 0 };
    if (type < 0 || type >= layout->first_not_string ||
        memory_read(heap->reader, word - V8_TAG + V8_TEXT_LENGTH, length,
                    sizeof(length)) != CH_OK)
        return false;
    struct cursor c = cursor_over(length, sizeof(length));
    out->length = cursor_u32(&c);
    out->two_bytes = (type & V8_ONE_BYTE) == 0;
    out->data = word - V8_TAG + V8_DATA;
    int32_t kind = type & V8_KIND;
    return kind == V8_SEQUENTIAL || read_v8_parts(heap, word, kind, out);
}

// append_v8_units appends count characters from first on, as UTF-8.
static bool append_v8_units(const struct v8_heap *heap, const struct v8_string *piece,
                            uint32_t first, uint32_t count, struct text *out)
{
    uint8_t bytes[2 * V8_NAME_MAX];
    size_t width = piece->two_bytes ? 2 : 1;
    if (count > V8_NAME_MAX)
        count = V8_NAME_MAX;
    if (memory_read(heap->reader, piece->data + first * width, bytes, count * width) !=
        CH_OK)
        return false;
    struct cursor c = cursor_over(bytes, count * width);
    while (cursor_left(&c) != 0) {
        uint32_t character = (uint32_t)cursor_uint(&c, width);
        uint32_t low = 0;
        char encoded[UTF8_MAX_BYTES];
        struct cursor after = c;
        if (character >> 10 == 0xd800 >> 10 && cursor_left(&c) != 0)
            low = (uint32_t)cursor_uint(&after, width);
        if (low >> 10 == 0xdc00 >> 10) {
            character = 0x10000 + ((character & 0x3ff) << 10) + (low & 0x3ff);
            c = after;
        }
        text_append(out, encoded, utf8_encode(character, encoded));
    }
    return true;
}

// A v8_part is a text whose characters are still to be appended.
struct v8_part {
    uint64_t word;
    uint32_t first;
    uint32_t count; // UINT32_MAX: to its end
};

// append_v8_part appends a part, or puts what it refers to in its place; gives how many
// parts that is. Negative: it cannot be read.
static int append_v8_part(const struct v8_heap *heap, struct v8_part *part,
                          struct text *out)
{
    struct v8_string string;
    struct v8_part from = *part;
    if (!read_v8_string(heap, from.word, &string) || from.first > string.length)
        return -1;
    uint32_t count = string.length - from.first;
    if (count > from.count)
        count = from.count;
    if (string.whole == 0)
        return append_v8_units(heap, &string, from.first, count, out) ? 0 : -1;
    // What is sliced out of the middle of joined texts is not followed into the second.
    part[0] = (struct v8_part){ string.whole, from.first + string.first, count };
    if (string.rest == 0)
        return 1;
    part[1] = part[0];
    part[0] = (struct v8_part){ string.rest, 0, UINT32_MAX };
    return 2;
}

// read_v8_text appends a text, about V8_NAME_MAX characters of it.
static bool read_v8_text(const struct v8_heap *heap, uint64_t word, struct text *out)
{
    struct v8_part parts[V8_PARTS_MAX + 1] = { { word, 0, UINT32_MAX } };
    size_t count = 1;
    for (unsigned i = 0; count != 0 && i < V8_PARTS_MAX; i++) {
        int more = append_v8_part(heap, &parts[count - 1], out);
        if (more < 0)
            return false;
        count += (size_t)more - 1;
        if (out->size > V8_NAME_MAX || count >= V8_PARTS_MAX)
            break;
    }
    return text_ok(out);
}

// read_scope_name looks for the name among what a scope has after its variables.
static bool read_scope_name(const struct v8_heap *heap, uint64_t scope,
                            struct text *out)
{
    const struct v8_layout *layout = &heap->layout;
    uint64_t field;
    int32_t locals;
    // The members are words after the map.
    if (!v8_field(heap, scope, 8 + 8 * (int64_t)layout->scope_locals, &field) ||
        !v8_small(field, &locals) || locals < 0)
        return false;
    int64_t names = locals < V8_SCOPE_INLINED ? locals : 1;
    int64_t at = 8 + 8 * (layout->scope_first + names + locals);
    for (unsigned i = 0; i < V8_SCOPE_NAMES; i++, at += 8) {
        if (!v8_field(heap, scope, at, &field))
            return false;
        if (is_v8_text(heap, field) && read_v8_text(heap, field, out) && out->size != 0)
            return true;
        text_clear(out);
    }
    return false;
}

void v8_function_name(const struct v8_heap *heap, uint64_t shared, struct text *out)
{
    static const char anonymous[] = "(anonymous)";
    uint64_t name;
    bool found = false;
    if (v8_field(heap, shared, heap->layout.shared_name, &name))
        found = v8_type(heap, name) == heap->layout.type_scope
                    ? read_scope_name(heap, name, out)
                    : is_v8_text(heap, name) && read_v8_text(heap, name, out);
    if (!found)
        text_clear(out);
    if (out->size == 0)
        text_append_string(out, anonymous);
}

static bool find_script(const struct v8_heap *heap, uint64_t shared, uint64_t *out)
{
    return v8_field(heap, shared, heap->layout.shared_script, out) &&
           v8_type(heap, *out) == heap->layout.type_script;
}

bool v8_script_name(const struct v8_heap *heap, uint64_t shared, struct text *out)
{
    uint64_t script;
    uint64_t name;
    return find_script(heap, shared, &script) &&
           v8_field(heap, script, heap->layout.script_name, &name) &&
           is_v8_text(heap, name) && read_v8_text(heap, name, out);
}

// line_by_ends searches the places of the ends of lines, which V8 has once a line was
// requested.
static uint32_t line_by_ends(const struct v8_heap *heap, uint64_t ends, int32_t offset)
{
    uint64_t field;
    int32_t count;
    int32_t low = 0;
    if (v8_type(heap, ends) != heap->layout.type_array ||
        !v8_field(heap, ends, V8_LENGTH, &field) || !v8_small(field, &count))
        return 0;
    for (int32_t high = count; low < high;) {
        int32_t middle = low + (high - low) / 2;
        int32_t end;
        if (!v8_field(heap, ends, V8_DATA + 8 * (int64_t)middle, &field) ||
            !v8_small(field, &end))
            return 0;
        if (end < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count ? (uint32_t)low + 1 : 0;
}

// count_lines counts the ends of lines in the count characters before an offset.
static uint32_t count_lines(const uint8_t *bytes, size_t count, size_t width)
{
    struct cursor c = cursor_over(bytes, count * width);
    uint32_t line = 1;
    uint32_t before = 0;
    while (cursor_left(&c) != 0) {
        uint32_t character = (uint32_t)cursor_uint(&c, width);
        bool ends = character == '\n' || character == 0x2028 || character == 0x2029;
        line += ends || before == '\r'; // both together are one end
        before = character;
    }
    return line + (before == '\r');
}

// line_by_source reads the script up to the character.
static uint32_t line_by_source(const struct v8_heap *heap, uint64_t source,
                               int32_t offset)
{
    struct v8_string string;
    uint32_t line = 0;
    if (!read_v8_string(heap, source, &string) || string.whole != 0 ||
        (uint32_t)offset > string.length)
        return 0;
    size_t width = string.two_bytes ? 2 : 1;
    size_t size = (size_t)offset * width;
    uint8_t *bytes = size <= V8_SOURCE_MAX ? malloc(size + 1) : NULL;
    if (bytes != NULL && memory_read(heap->reader, string.data, bytes, size) == CH_OK)
        line = count_lines(bytes, (size_t)offset, width);
    free(bytes);
    return line;
}

uint32_t v8_line(const struct v8_heap *heap, uint64_t shared, int32_t offset)
{
    uint64_t script;
    uint64_t field;
    if (offset < 0 || !find_script(heap, shared, &script))
        return 0;
    uint32_t line = 0;
    if (v8_field(heap, script, heap->layout.script_line_ends, &field))
        line = line_by_ends(heap, field, offset);
    if (line == 0 && v8_field(heap, script, heap->layout.script_source, &field))
        line = line_by_source(heap, field, offset);
    return line;
}
