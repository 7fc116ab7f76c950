// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/utf8.h"

// BUFFER_BYTES: a report of a thousand threads is a few megabytes in tiny pieces, so a
// piece must cost no more than a bounds check and a copy.
enum { BUFFER_BYTES = 64 * 1024 };

void json_writer_init(struct json_writer *w, int fd)
{
    *w = (struct json_writer){ .fd = fd, .buffer = malloc(BUFFER_BYTES) };
    if (w->buffer == NULL)
        w->error = ENOMEM;
}

void json_writer_deinit(struct json_writer *w)
{
    free(w->buffer);
    w->buffer = NULL;
    text_deinit(&w->text);
}

// hand_on passes size bytes to the descriptor or the text.
static void hand_on(struct json_writer *w, const char *bytes, size_t size)
{
    w->handed_on += size;
    if (w->fd < 0) {
        text_append(&w->text, bytes, size);
        if (!text_ok(&w->text))
            w->error = ENOMEM;
        return;
    }
    if (w->error == 0 && !file_write_all(w->fd, bytes, size))
        w->error = errno;
}

static void flush_json(struct json_writer *w)
{
    hand_on(w, w->buffer, w->used);
    w->used = 0;
}

// put_large is put_json_bytes for bytes that do not fit after what is buffered.
static void put_large(struct json_writer *w, const void *bytes, size_t size)
{
    if (w->error != 0)
        return;
    flush_json(w);
    if (size > BUFFER_BYTES) {
        hand_on(w, bytes, size);
        return;
    }
    memcpy(w->buffer, bytes, size);
    w->used = size;
}

static inline void put_json_bytes(struct json_writer *w, const void *bytes, size_t size)
{
    if (w->error != 0 || size > BUFFER_BYTES - w->used) {
        put_large(w, bytes, size);
        return;
    }
    memcpy(w->buffer + w->used, bytes, size);
    w->used += size;
}

uint64_t json_writer_size(const struct json_writer *w)
{
    return w->handed_on + w->used;
}

enum ch_status json_writer_finish(struct json_writer *w)
{
    if (w->error == 0)
        flush_json(w);
    if (w->error == 0)
        return CH_OK;
    errno = w->error;
    return w->error == ENOMEM ? CH_ERR_NO_MEMORY : CH_ERR_IO;
}

// separate_values writes the comma that a value needs before it, and requests one
// before the next value.
static void separate_values(struct json_writer *w)
{
    if (w->need_comma)
        put_json_bytes(w, ",", 1);
    w->need_comma = true;
}

void json_write_object(struct json_writer *w)
{
    separate_values(w);
    put_json_bytes(w, "{", 1);
    w->need_comma = false;
}

void json_write_array(struct json_writer *w)
{
    separate_values(w);
    put_json_bytes(w, "[", 1);
    w->need_comma = false;
}

void json_write_end(struct json_writer *w, char bracket)
{
    put_json_bytes(w, &bracket, 1);
    w->need_comma = true;
}

void json_write_key(struct json_writer *w, const char *key)
{
    separate_values(w);
    put_json_bytes(w, "\"", 1);
    put_json_bytes(w, key, strlen(key));
    put_json_bytes(w, "\":", 2);
    w->need_comma = false;
}

static void put_escaped(struct json_writer *w, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    char escape[] = "\\u0000";
    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        put_json_bytes(w, escape, 2);
        return;
    }
    escape[4] = digits[c >> 4];
    escape[5] = digits[c & 15];
    put_json_bytes(w, escape, 6);
}

void json_write_bytes(struct json_writer *w, const char *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t plain = 0;

    separate_values(w);
    put_json_bytes(w, "\"", 1);
    for (size_t i = 0; i < length;) {
        unsigned char c = at[i];
        if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
            i++;
            continue;
        }
        uint32_t character;
        size_t count = utf8_decode(at + i, length - i, &character);
        if (count > 1) {
            i += count;
            continue;
        }
        put_json_bytes(w, bytes + plain, i - plain);
        if (count == 0)
            put_json_bytes(w, "\xef\xbf\xbd", 3);
        if (count != 0)
            put_escaped(w, c);
        plain = ++i;
    }
    put_json_bytes(w, bytes + plain, length - plain);
    put_json_bytes(w, "\"", 1);
}

void json_write_member(struct json_writer *w, const char *key)
{
    json_write_bytes(w, key, strlen(key));
    put_json_bytes(w, ":", 1);
    w->need_comma = false;
}

void json_write_string(struct json_writer *w, const char *string)
{
    if (string == NULL) {
        separate_values(w);
        put_json_bytes(w, "null", 4);
        return;
    }
    json_write_bytes(w, string, strlen(string));
}

void json_write_raw(struct json_writer *w, const char *json, size_t length)
{
    separate_values(w);
    put_json_bytes(w, json, length);
}

void json_write_plain(struct json_writer *w, const char *text)
{
    separate_values(w);
    put_json_bytes(w, "\"", 1);
    put_json_bytes(w, text, strlen(text));
    put_json_bytes(w, "\"", 1);
}

// put_decimal writes value in decimal, without padding.
static void put_decimal(struct json_writer *w, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    put_json_bytes(w, digits + at, sizeof(digits) - at);
}

void json_write_uint(struct json_writer *w, uint64_t value)
{
    separate_values(w);
    put_decimal(w, value <= INT64_MAX ? value : INT64_MAX);
}

void json_write_int(struct json_writer *w, int64_t value)
{
    separate_values(w);
    if (value < 0)
        put_json_bytes(w, "-", 1);
    put_decimal(w, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_write_bool(struct json_writer *w, bool value)
{
    separate_values(w);
    put_json_bytes(w, value ? "true" : "false", value ? 4 : 5);
}

void json_write_hex(struct json_writer *w, uint64_t value)
{
    // A quote, 0x, up to 16 digits, a quote, written from the end.
    char text[20];
    size_t at = sizeof(text);
    text[--at] = '"';
    do {
        text[--at] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    text[--at] = 'x';
    text[--at] = '0';
    text[--at] = '"';
    separate_values(w);
    put_json_bytes(w, text + at, sizeof(text) - at);
}
