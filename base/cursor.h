// SPDX-License-Identifier: Apache-2.0
//
// A cursor reads untrusted bytes and cannot leave them.
//
// It is sticky: the first read that does not fit poisons it, and that read and all
// later ones give zero. So a parser reads a record field by field, as its specification
// lists them, and calls cursor_ok() once at the end. The price: no value read may
// control a loop, an index, an allocation or a shift before cursor_ok() has returned
// true. A length in the input makes a child cursor, which cannot reach its parent's
// bytes. Byte order is set once, by the code that knows the format's magic number.
//
// Parsers access input through these functions and in no other way.
#pragma once
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *begin;
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
    bool big_endian;
};

// cursor_over gives a little-endian cursor over size bytes, which must outlive it.
static inline struct cursor cursor_over(const void *bytes, size_t size)
{
    const uint8_t *begin = bytes;
    return (struct cursor){ .begin = begin,
                            .at = begin,
                            .end = size != 0 ? begin + size : begin };
}

// cursor_ok is true while every read so far has fitted.
static inline bool cursor_ok(const struct cursor *c)
{
    return !c->failed;
}

// cursor_left is the number of bytes not yet read, 0 once poisoned.
static inline size_t cursor_left(const struct cursor *c)
{
    return c->failed ? 0 : (size_t)(c->end - c->at);
}

// cursor_offset is the number of bytes read since the cursor's first.
static inline size_t cursor_offset(const struct cursor *c)
{
    return (size_t)(c->at - c->begin);
}

// cursor_poison marks the input as bad, for the caller's own checks.
static inline void cursor_poison(struct cursor *c)
{
    c->failed = true;
}

// cursor_take gives the next size bytes. If they are not there, it returns NULL and
// poisons the cursor.
static inline const uint8_t *cursor_take(struct cursor *c, size_t size)
{
    if (c->failed || size > (size_t)(c->end - c->at)) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *bytes = c->at;
    if (size != 0) // NULL + 0 is undefined (C17, 6.5.6)
        c->at += size;
    return bytes;
}

// cursor_skip passes over size bytes.
static inline void cursor_skip(struct cursor *c, size_t size)
{
    (void)cursor_take(c, size);
}

// cursor_seek moves to offset from the cursor's first byte; moving to its end is
// allowed.
static inline void cursor_seek(struct cursor *c, size_t offset)
{
    if (c->failed || offset > (size_t)(c->end - c->begin)) {
        c->failed = true;
        return;
    }
    c->at = offset != 0 ? c->begin + offset : c->begin;
}

// cursor_child gives a cursor over the next size bytes and passes over them. If they
// are not there, both cursors are poisoned.
static inline struct cursor cursor_child(struct cursor *c, size_t size)
{
    const uint8_t *bytes = cursor_take(c, size);
    struct cursor child = cursor_over(bytes, bytes != NULL ? size : 0);
    child.failed = bytes == NULL;
    child.big_endian = c->big_endian;
    return child;
}

// cursor_top gives the number of 1 to 8 bytes that c has just passed over in the top
// bytes of a word whose other bytes are arbitrary: a single load, if 8 bytes can be
// loaded.
static inline uint64_t cursor_top(const struct cursor *c, size_t size, bool big_endian)
{
    const uint8_t *bytes = c->at - size;
    unsigned unused = 64 - 8 * (unsigned)size;
    uint64_t word = 0;
    if (c->end - bytes >= 8) { // the load begins where the number begins
        memcpy(&word, bytes, sizeof(word));
        return big_endian ? be64toh(word) : le64toh(word) << unused;
    }
    if (c->at - c->begin >= 8) { // or ends where the number ends
        memcpy(&word, c->at - sizeof(word), sizeof(word));
        return big_endian ? be64toh(word) << unused : le64toh(word);
    }
    for (size_t i = 0; i < size; i++)
        word = word << 8 | bytes[big_endian ? i : size - 1 - i];
    return word << unused;
}

// cursor_uint reads an unsigned number of 0 to 8 bytes in the cursor's byte order.
static inline uint64_t cursor_uint(struct cursor *c, size_t size)
{
    if (size > 8 || cursor_take(c, size) == NULL) {
        c->failed = true;
        return 0;
    }
    return size != 0 ? cursor_top(c, size, c->big_endian) >> (64 - 8 * size) : 0;
}

// cursor_sint reads a two's-complement number of 1 to 8 bytes in the cursor's byte
// order and extends its sign.
static inline int64_t cursor_sint(struct cursor *c, size_t size)
{
    if (size - 1 >= 8 || cursor_take(c, size) == NULL) {
        c->failed = true;
        return 0;
    }
    return (int64_t)cursor_top(c, size, c->big_endian) >> (64 - 8 * size);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
    const uint8_t *bytes = cursor_take(c, 1);
    return bytes != NULL ? bytes[0] : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
    const uint8_t *bytes = cursor_take(c, sizeof(uint16_t));
    uint16_t value = 0;
    if (bytes != NULL)
        memcpy(&value, bytes, sizeof(value));
    return c->big_endian ? be16toh(value) : le16toh(value);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
    const uint8_t *bytes = cursor_take(c, sizeof(uint32_t));
    uint32_t value = 0;
    if (bytes != NULL)
        memcpy(&value, bytes, sizeof(value));
    return c->big_endian ? be32toh(value) : le32toh(value);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
    const uint8_t *bytes = cursor_take(c, sizeof(uint64_t));
    uint64_t value = 0;
    if (bytes != NULL)
        memcpy(&value, bytes, sizeof(value));
    return c->big_endian ? be64toh(value) : le64toh(value);
}

// cursor_u32_at gives the number at offset from the cursor's first byte without moving,
// or 0 if it is not there. It is for tables that are searched rather than read.
static inline uint32_t cursor_u32_at(const struct cursor *c, size_t offset)
{
    uint32_t value = 0;
    size_t size = (size_t)(c->end - c->begin);
    if (offset < size && size - offset >= sizeof(value))
        memcpy(&value, c->begin + offset, sizeof(value));
    return c->big_endian ? be32toh(value) : le32toh(value);
}

// cursor_u64_at is cursor_u32_at for 8 bytes.
static inline uint64_t cursor_u64_at(const struct cursor *c, size_t offset)
{
    uint64_t value = 0;
    size_t size = (size_t)(c->end - c->begin);
    if (offset < size && size - offset >= sizeof(value))
        memcpy(&value, c->begin + offset, sizeof(value));
    return c->big_endian ? be64toh(value) : le64toh(value);
}

// cursor_long_uleb128 is cursor_uleb128 for numbers of any length.
uint64_t cursor_long_uleb128(struct cursor *c);

// cursor_uleb128 reads an unsigned LEB128 number; one over 64 bits poisons the cursor.
// Most have one byte.
static inline uint64_t cursor_uleb128(struct cursor *c)
{
    if (!c->failed && c->at != c->end && *c->at < 0x80)
        return *c->at++;
    return cursor_long_uleb128(c);
}

// cursor_sleb128 reads a signed LEB128 number; one over 64 bits poisons the cursor.
int64_t cursor_sleb128(struct cursor *c);

// cursor_string gives the next NUL-terminated string and passes over its NUL. If there
// is no NUL, it returns NULL and poisons the cursor.
const char *cursor_string(struct cursor *c);
