// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/cache/packed_name.h"

#include <endian.h>
#include <string.h>

// COPY_MIN is the shortest copy: each one costs six bytes, and the time of copying far
// more of them. What was there before is found by its first HASHED_BYTES.
enum { COPY_MIN = 24, SLOT_BITS = 12, HASHED_BYTES = 8 };

// earlier has the last position, counted from 1, of each text of HASHED_BYTES by its
// hash.
struct earlier {
    uint16_t positions[1 << SLOT_BITS];
};

static uint16_t *earlier_slot(struct earlier *earlier, const char *at)
{
    uint64_t word;
    memcpy(&word, at, HASHED_BYTES);
    return &earlier->positions[word * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS)];
}

// length_of_copy is how many bytes at position at, of size in all, repeat those at
// from. A copy never overlaps itself.
static size_t length_of_copy(const char *name, size_t size, size_t from, size_t at)
{
    size_t length = 0;
    while (at + length < size && from + length < at &&
           name[from + length] == name[at + length])
        length++;
    return length;
}

static void append_u16(struct text *out, size_t value)
{
    uint16_t word = htole16((uint16_t)value);
    text_append(out, &word, sizeof(word));
}

static void append_part(const char *literals, size_t count, size_t copied,
                        size_t distance, struct text *out)
{
    append_u16(out, count);
    append_u16(out, copied);
    append_u16(out, distance);
    text_append(out, literals, count);
}

void packed_name_write(const char *name, size_t size, struct text *out)
{
    struct earlier earlier = { .positions = { 0 } };
    size_t written = 0;
    size_t at = 0;
    while (at + COPY_MIN <= size) {
        uint16_t *slot = earlier_slot(&earlier, name + at);
        size_t from = *slot;
        *slot = (uint16_t)(at + 1);
        size_t length = from != 0 ? length_of_copy(name, size, from - 1, at) : 0;
        if (length < COPY_MIN) {
            at++;
            continue;
        }
        append_part(name + written, at - written, length, at - (from - 1), out);
        for (size_t i = at + 1; i < at + length && i + HASHED_BYTES <= size; i++)
            *earlier_slot(&earlier, name + i) = (uint16_t)(i + 1);
        at += length;
        written = at;
    }
    if (written < size)
        append_part(name + written, size - written, 0, 0, out);
}

bool packed_name_read(struct cursor *c, char *out, size_t size)
{
    size_t done = 0;
    while (done < size) {
        size_t count = cursor_u16(c);
        size_t copied = cursor_u16(c);
        size_t distance = cursor_u16(c);
        const uint8_t *literals = cursor_take(c, count);
        if (literals == NULL || count > size - done || count + copied == 0)
            return false;
        memcpy(out + done, literals, count);
        done += count;
        if (copied > size - done || distance > done || copied > distance)
            return false;
        memcpy(out + done, out + done - distance, copied);
        done += copied;
    }
    out[size] = 0;
    return true;
}
