// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"

enum { TEXT_FIRST_BYTES = 256 };

void text_deinit(struct text *text)
{
    free(text->bytes);
    *text = (struct text){ 0 };
}

bool text_ok(const struct text *text)
{
    return !text->failed;
}

void text_clear(struct text *text)
{
    text->size = 0;
    text->failed = false;
    if (text->bytes != NULL)
        text->bytes[0] = 0;
}

// reserve_text makes room for size more bytes and a NUL.
static bool reserve_text(struct text *text, size_t size)
{
    size_t needed;
    if (text->failed || !checked_add_size(text->size, size, &needed) ||
        !checked_add_size(needed, 1, &needed) ||
        (text->limit_bytes != 0 && needed - 1 > text->limit_bytes)) {
        text->failed = true;
        return false;
    }
    if (needed <= text->capacity)
        return true;
    if (needed < TEXT_FIRST_BYTES)
        needed = TEXT_FIRST_BYTES;
    text->failed = !array_grow(&text->bytes, &text->capacity, needed, 1);
    return !text->failed;
}

void text_append(struct text *text, const void *bytes, size_t size)
{
    if (!reserve_text(text, size))
        return;
    if (size != 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = 0;
}

void text_append_string(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_appendf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !reserve_text(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->bytes + text->size, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->size += (size_t)length;
}

enum ch_status text_read(struct text *text, int fd, size_t limit_bytes)
{
    char block[16 << 10];
    for (size_t left = limit_bytes;;) {
        // At the limit reading goes on, to find out whether there is more.
        ssize_t count = read(fd, block, sizeof(block));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return CH_ERR_IO;
        if (count == 0)
            return CH_OK;
        text_append(text, block, (size_t)count < left ? (size_t)count : left);
        if (!text_ok(text))
            return CH_ERR_NO_MEMORY;
        if ((size_t)count > left)
            return CH_ERR_LIMIT;
        left -= (size_t)count;
    }
}

static void append_zeros(struct text *out, uint64_t size)
{
    static const uint8_t zeros[256];
    for (; size > sizeof(zeros); size -= sizeof(zeros))
        text_append(out, zeros, sizeof(zeros));
    text_append(out, zeros, (size_t)size);
}

static void append_leb128(struct text *out, uint64_t number, bool is_signed)
{
    for (bool more = true; more;) {
        const uint8_t low = number & 0x7f;
        number = is_signed ? (uint64_t)((int64_t)number >> 7) : number >> 7;
        more = number != (is_signed && low & 0x40 ? UINT64_MAX : 0);
        const uint8_t byte = more ? low | 0x80 : low;
        text_append(out, &byte, 1);
    }
}

void pack_numbers(struct text *out, const char *form, const uint64_t *numbers)
{
    for (; *form != 0; form++, numbers++) {
        const uint64_t number = htole64(*numbers);
        if (*form == 'z')
            append_zeros(out, *numbers);
        else if (*form == 'u' || *form == 's')
            append_leb128(out, *numbers, *form == 's');
        else
            text_append(out, &number, (size_t)(*form - '0'));
    }
}

uint32_t pack_align(struct text *out, size_t size)
{
    append_zeros(out, (size - out->size % size) % size);
    return (uint32_t)out->size;
}

static size_t least_distance(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t edit_distance(const char *a, const char *b)
{
    size_t row[EDIT_DISTANCE_BYTES + 1];
    size_t width = strlen(b);
    if (width > EDIT_DISTANCE_BYTES)
        return SIZE_MAX;
    for (size_t i = 0; i <= width; i++)
        row[i] = i;
    for (size_t line = 1; a[line - 1] != 0; line++) {
        size_t before = row[0]; // of the row above, one to the left
        row[0] = line;
        for (size_t i = 1; i <= width; i++) {
            size_t replaced = before + (a[line - 1] != b[i - 1]);
            before = row[i];
            row[i] = least_distance(least_distance(row[i], row[i - 1]) + 1, replaced);
        }
    }
    return row[width];
}
