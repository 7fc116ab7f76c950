// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/image_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"

enum {
    VERSION = 0,
    SIZE_CODES = 3,
    RELATIVE = 0x80, // image header: raaa eee
    FIRST_CODE = 32, // the first prefix that a map defines itself
    LONG_CODE = 64,  // the first code that does not fit the opcode
};

// Path opcodes: 00 end, 01-3f that many bytes, 40-7f framework, 80-bf prefix by code,
// c0-ff prefix by a code that follows.
enum { RAW_MAX = 0x3f, OP_FRAMEWORK = 0x40, OP_PREFIX = 0x80, OP_LONG_PREFIX = 0xc0 };

// Predefined codes; those up to FIRST_CODE are reserved.
static const char *const fixed_prefixes[] = {
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/opt/lib",
    "/System/Library/Frameworks",
    "/System/Library/PrivateFrameworks",
    "/System/iOSSupport",
    "/Library/Frameworks",
    "/System/Applications",
    "/Applications",
    "C:\\Windows\\System32",
    "C:\\Program Files",
};
enum { FIXED_COUNT = sizeof(fixed_prefixes) / sizeof(fixed_prefixes[0]) };

static const char framework_middle[] = ".framework/Versions/";
enum { FRAMEWORK_MIDDLE = sizeof(framework_middle) - 1, FRAMEWORK_NAME_MAX = 64 };

struct piece {
    const char *bytes;
    size_t size;
};

static struct piece drop_prefix(struct piece whole, size_t size)
{
    return (struct piece){ whole.bytes + size, whole.size - size };
}

static uint64_t map_sign_extend(uint64_t value, unsigned bits)
{
    unsigned unused = 64 - bits;
    return (uint64_t)((int64_t)(value << unused) >> unused);
}

static void prefixes_deinit(struct image_map_prefixes *prefixes)
{
    text_deinit(&prefixes->bytes);
    free(prefixes->items);
    *prefixes = (struct image_map_prefixes){ 0 };
}

static enum ch_status add_prefix(struct image_map_prefixes *prefixes, size_t offset,
                                 size_t size)
{
    if (!array_reserve(&prefixes->items, &prefixes->capacity, prefixes->count,
                       sizeof(prefixes->items[0])))
        return CH_ERR_NO_MEMORY;
    prefixes->items[prefixes->count++] = (struct image_map_prefix){ offset, size };
    return CH_OK;
}

// define_prefixes gives a code to each part of path that ends before a separator, other
// than one that is its first character.
static enum ch_status define_prefixes(struct image_map_prefixes *prefixes,
                                      struct piece path)
{
    size_t offset = prefixes->bytes.size;
    text_append(&prefixes->bytes, path.bytes, path.size);
    if (!text_ok(&prefixes->bytes))
        return CH_ERR_NO_MEMORY;
    for (size_t i = 1; i < path.size; i++) {
        if (path.bytes[i] != '/' && path.bytes[i] != '\\')
            continue;
        enum ch_status status = add_prefix(prefixes, offset, i);
        if (status != CH_OK)
            return status;
    }
    return CH_OK;
}

// find_prefix gives the text of a code; its bytes are NULL if there is none.
static struct piece find_prefix(const struct image_map_prefixes *prefixes,
                                uint64_t code)
{
    if (code < FIXED_COUNT)
        return (struct piece){ fixed_prefixes[code], strlen(fixed_prefixes[code]) };
    if (code < FIRST_CODE || code - FIRST_CODE >= prefixes->count)
        return (struct piece){ 0 };
    struct image_map_prefix item = prefixes->items[code - FIRST_CODE];
    return (struct piece){ prefixes->bytes.bytes + item.offset, item.size };
}

static void append_byte(struct text *out, unsigned byte)
{
    uint8_t value = (uint8_t)byte;
    text_append(out, &value, 1);
}

// append_big_endian appends the size low bytes of value, most significant first.
static void append_big_endian(struct text *out, uint64_t value, unsigned size)
{
    for (unsigned shift = size * 8; shift > 0; shift -= 8)
        append_byte(out, (unsigned)(value >> (shift - 8)) & 0xff);
}

// append_count writes 7 bits a byte, the most significant first. As in Swift, a count
// whose length is a multiple of 7 bits begins with a byte that adds nothing.
static void append_count(struct text *out, uint64_t count)
{
    unsigned bits = count == 0 ? 0 : 64 - (unsigned)__builtin_clzll(count);
    for (unsigned shift = bits / 7 * 7; shift > 0; shift -= 7)
        append_byte(out, 0x80 | ((unsigned)(count >> shift) & 0x7f));
    append_byte(out, (unsigned)count & 0x7f);
}

static unsigned map_signed_size(uint64_t value)
{
    return (64 - (unsigned)__builtin_clrsbll((long long)value) + 7) / 8;
}

enum ch_status image_map_writer_init(struct image_map_writer *writer, struct text *out,
                                     unsigned word_bits, const char *platform,
                                     size_t image_count)
{
    *writer = (struct image_map_writer){ .out = out,
                                         .word_bits = word_bits,
                                         .images_left = image_count };
    size_t platform_size = strlen(platform);
    if (word_bits != 16 && word_bits != 32 && word_bits != 64)
        return CH_ERR_UNSUPPORTED;
    if (platform_size > UINT8_MAX)
        return CH_ERR_LIMIT;

    append_byte(out, VERSION << 2 | word_bits >> 5);
    append_byte(out, (unsigned)platform_size);
    text_append(out, platform, platform_size);
    append_count(out, image_count);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

void image_map_writer_deinit(struct image_map_writer *writer)
{
    prefixes_deinit(&writer->prefixes);
}

// longest_prefix finds the longest defined prefix of path: it gives its code and
// returns its size, 0 if there is none.
static size_t longest_prefix(const struct image_map_prefixes *prefixes,
                             struct piece path, uint64_t *out_code)
{
    size_t longest = 0;
    for (uint64_t code = 0; code < FIRST_CODE + prefixes->count; code++) {
        struct piece prefix = find_prefix(prefixes, code);
        if (prefix.size <= longest || prefix.size > path.size ||
            memcmp(path.bytes, prefix.bytes, prefix.size) != 0)
            continue;
        longest = prefix.size;
        *out_code = code;
    }
    return longest;
}

static void append_code(struct text *out, uint64_t code)
{
    if (code < LONG_CODE) {
        append_byte(out, OP_PREFIX | (unsigned)code);
        return;
    }
    uint64_t value = code - LONG_CODE;
    unsigned size = value == 0 ? 1 : (64 - (unsigned)__builtin_clzll(value) + 7) / 8;
    append_byte(out, OP_LONG_PREFIX | (size - 1));
    append_big_endian(out, value, size);
}

// append_framework writes /NAME.framework/Versions/V/NAME in its short form, where NAME
// is the path's last component, and returns whether path had that form.
static bool append_framework(struct text *out, struct piece path, struct piece name)
{
    if (name.size == 0 || name.size > FRAMEWORK_NAME_MAX ||
        path.size != 2 * name.size + FRAMEWORK_MIDDLE + 3)
        return false;
    const char *version = path.bytes + 1 + name.size + FRAMEWORK_MIDDLE;
    if (path.bytes[0] != '/' || memcmp(path.bytes + 1, name.bytes, name.size) != 0 ||
        memcmp(path.bytes + 1 + name.size, framework_middle, FRAMEWORK_MIDDLE) != 0 ||
        version[1] != '/')
        return false;

    append_byte(out, OP_FRAMEWORK | (unsigned)(name.size - 1));
    text_append(out, version, 1);
    text_append(out, name.bytes, name.size);
    return true;
}

static struct piece last_component(struct piece path)
{
    size_t start = path.size;
    while (start > 0 && path.bytes[start - 1] != '/' && path.bytes[start - 1] != '\\')
        start--;
    return drop_prefix(path, start);
}

static enum ch_status map_append_path(struct image_map_writer *writer,
                                      struct piece path)
{
    struct text *out = writer->out;
    struct piece name = last_component(path);
    uint64_t code = 0;
    for (;;) {
        size_t size = longest_prefix(&writer->prefixes, path, &code);
        if (size == 0)
            break;
        append_code(out, code);
        path = drop_prefix(path, size);
    }
    if (append_framework(out, path, name))
        return CH_OK;

    enum ch_status status = define_prefixes(&writer->prefixes, path);
    if (status != CH_OK)
        return status;
    while (path.size > 0) {
        size_t size = path.size < RAW_MAX ? path.size : RAW_MAX;
        append_byte(out, (unsigned)size);
        text_append(out, path.bytes, size);
        path = drop_prefix(path, size);
    }
    append_byte(out, 0);
    return CH_OK;
}

enum ch_status image_map_write(struct image_map_writer *writer,
                               const struct image_map_image *image)
{
    struct text *out = writer->out;
    uint64_t base = map_sign_extend(image->base, writer->word_bits);
    uint64_t end = map_sign_extend(image->end_of_text, writer->word_bits);
    if (end < base)
        return CH_ERR_MALFORMED;
    if (writer->images_left == 0)
        return CH_ERR_LIMIT;
    writer->images_left--;

    uint64_t delta = base - writer->previous_base;
    bool relative = map_signed_size(delta) < map_signed_size(base);
    uint64_t address = relative ? delta : base;
    unsigned address_size = map_signed_size(address);
    unsigned end_size = map_signed_size(end - base);
    writer->previous_base = base;

    append_byte(out,
                (relative ? RELATIVE : 0) | (address_size - 1) << 3 | (end_size - 1));
    append_big_endian(out, address, address_size);
    append_big_endian(out, end - base, end_size);
    append_count(out, image->build_id_size);
    text_append(out, image->build_id, image->build_id_size);
    struct piece path = { image->path != NULL ? image->path : "", image->path_size };
    enum ch_status status = map_append_path(writer, path);
    if (status != CH_OK)
        return status;
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

// map_read_count reads 7 bits a byte, the most significant first. A number over 64 bits
// poisons the cursor.
static uint64_t map_read_count(struct cursor *input)
{
    uint64_t value = 0;
    for (;;) {
        uint8_t byte = cursor_u8(input);
        if (value >> 57 != 0)
            cursor_poison(input);
        value = value << 7 | (byte & 0x7f);
        if (!(byte & 0x80) || !cursor_ok(input))
            return value;
    }
}

enum ch_status image_map_reader_init(struct image_map_reader *reader, const void *bytes,
                                     size_t size)
{
    *reader = (struct image_map_reader){ .input = cursor_over(bytes, size) };
    reader->input.big_endian = true;
    reader->input.big_endian = true;
    reader->path.limit_bytes = IMAGE_MAP_PATH_MAX;
    reader->prefixes.bytes.limit_bytes = IMAGE_MAP_PATHS_MAX;

    struct cursor *input = &reader->input;
    uint8_t info = cursor_u8(input);
    if (!cursor_ok(input))
        return CH_ERR_TRUNCATED;
    reader->version = info >> 2;
    if (reader->version != VERSION || (info & 3) >= SIZE_CODES)
        return CH_ERR_UNSUPPORTED;
    reader->word_bits = 16u << (info & 3);

    size_t platform_size = cursor_u8(input);
    const uint8_t *platform = cursor_take(input, platform_size);
    uint64_t count = map_read_count(input);
    if (!cursor_ok(input))
        return CH_ERR_TRUNCATED;
    reader->platform = (const char *)platform;
    reader->platform_size = platform_size;
    reader->image_count = count;
    reader->images_left = count;
    return CH_OK;
}

void image_map_reader_deinit(struct image_map_reader *reader)
{
    prefixes_deinit(&reader->prefixes);
    text_deinit(&reader->path);
}

static void read_framework(struct cursor *input, uint8_t op, struct text *path)
{
    size_t size = (op & 0x3f) + 1u;
    const uint8_t *version = cursor_take(input, 1);
    const uint8_t *name = cursor_take(input, size);
    if (!cursor_ok(input))
        return;
    text_append(path, "/", 1);
    text_append(path, name, size);
    text_append(path, framework_middle, FRAMEWORK_MIDDLE);
    text_append(path, version, 1);
    text_append(path, "/", 1);
    text_append(path, name, size);
}

// map_read_code reads the prefix code of op, UINT64_MAX for one over 64 bits.
static uint64_t map_read_code(struct cursor *input, uint8_t op)
{
    if (op < OP_LONG_PREFIX)
        return op & 0x3f;
    uint64_t value = 0;
    bool fits = true;
    for (unsigned left = (op & 0x3f) + 1u; left > 0; left--) {
        fits = fits && value >> 56 == 0;
        value = value << 8 | cursor_u8(input);
    }
    return fits && value < UINT64_MAX - LONG_CODE ? value + LONG_CODE : UINT64_MAX;
}

static void read_raw(struct cursor *input, size_t size, struct text *path)
{
    const uint8_t *bytes = cursor_take(input, size);
    if (cursor_ok(input))
        text_append(path, bytes, size);
}

// read_path executes the path's instructions into reader->path. The literal part, from
// its first byte on, defines new prefixes. An undefined code makes this path unknown,
// but what follows it can still be read.
static enum ch_status read_path(struct image_map_reader *reader, bool *out_known)
{
    struct cursor *input = &reader->input;
    struct text *path = &reader->path;
    bool known = true;
    bool spelled = false;
    size_t spelled_from = 0;

    text_clear(path);
    uint8_t op = cursor_u8(input);
    for (; cursor_ok(input) && op != 0; op = cursor_u8(input)) {
        if (op >= OP_FRAMEWORK && op < OP_PREFIX) {
            read_framework(input, op, path);
            break;
        }
        if (op >= OP_PREFIX) {
            struct piece prefix =
                find_prefix(&reader->prefixes, map_read_code(input, op));
            known = known && prefix.bytes != NULL;
            text_append(path, prefix.bytes, prefix.size);
            continue;
        }
        spelled_from = spelled ? spelled_from : path->size;
        spelled = true;
        read_raw(input, op, path);
    }
    if (!cursor_ok(input))
        return CH_ERR_TRUNCATED;
    if (!text_ok(path))
        return CH_ERR_LIMIT;
    *out_known = known && path->size > 0;
    if (!spelled)
        return CH_OK;
    struct piece whole = { path->bytes, path->size };
    enum ch_status status =
        define_prefixes(&reader->prefixes, drop_prefix(whole, spelled_from));
    return status;
}

// map_read_image reads the part of an image that precedes its path.
static enum ch_status map_read_image(struct image_map_reader *reader,
                                     struct image_map_image *out)
{
    struct cursor *input = &reader->input;
    uint64_t mask = UINT64_MAX >> (64 - reader->word_bits);
    uint8_t header = cursor_u8(input);
    uint64_t base = (uint64_t)cursor_sint(input, (header >> 3 & 7) + 1u);
    uint64_t end = (uint64_t)cursor_sint(input, (header & 7) + 1u);
    uint64_t build_id_size = map_read_count(input);
    const uint8_t *build_id = cursor_take(input, build_id_size);
    if (!cursor_ok(input))
        return CH_ERR_TRUNCATED;

    if (header & RELATIVE)
        base += reader->previous_base;
    reader->previous_base = base;
    *out = (struct image_map_image){ .build_id = build_id_size != 0 ? build_id : NULL,
                                     .build_id_size = build_id_size,
                                     .base = base & mask,
                                     .end_of_text = (base + end) & mask };
    return CH_OK;
}

enum ch_status image_map_next(struct image_map_reader *reader,
                              struct image_map_image *out)
{
    if (reader->path_cut)
        return CH_ERR_TRUNCATED;
    if (reader->images_left == 0)
        return CH_END;

    struct image_map_image image;
    struct cursor start = reader->input;
    enum ch_status status = map_read_image(reader, &image);
    if (status != CH_OK) {
        reader->input = start;
        return status;
    }
    start = reader->input;
    bool known = false;
    status = read_path(reader, &known);
    if (status == CH_OK && reader->path.size > IMAGE_MAP_PATHS_MAX - reader->paths_size)
        status = CH_ERR_LIMIT;
    if (status != CH_OK)
        reader->input = start;
    reader->path_cut = status == CH_ERR_TRUNCATED;
    if (status != CH_OK && !reader->path_cut)
        return status;
    reader->images_left--;
    reader->paths_size += reader->path.size;
    if (known) {
        image.path = reader->path.bytes;
        image.path_size = reader->path.size;
    }
    *out = image;
    return CH_OK;
}
