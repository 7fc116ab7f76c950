// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <errno.h>
#include <stdarg.h>
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
