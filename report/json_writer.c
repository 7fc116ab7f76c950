// SPDX-License-Identifier: Apache-2.0
#include "report/json_writer.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_BYTES = 64 * 1024 };

void json_writer_init(struct json_writer *w, int fd)
{
    *w = (struct json_writer){ .fd = fd };
}

void json_writer_deinit(struct json_writer *w)
{
    text_deinit(&w->text);
}

// flush hands everything held to the descriptor.
static void flush(struct json_writer *w)
{
    size_t done = 0;
    while (w->error == 0 && done < w->text.size) {
        ssize_t count = write(w->fd, w->text.bytes + done, w->text.size - done);
        if (count > 0)
            done += (size_t)count;
        if (count < 0 && errno != EINTR)
            w->error = errno;
    }
    text_clear(&w->text);
}

static void put(struct json_writer *w, const void *bytes, size_t size)
{
    if (w->error != 0)
        return;
    text_append(&w->text, bytes, size);
    if (w->fd >= 0 && w->text.size >= FLUSH_BYTES)
        flush(w);
}

enum ch_status json_writer_finish(struct json_writer *w)
{
    if (!text_ok(&w->text))
        return CH_ERR_NO_MEMORY;
    if (w->fd >= 0)
        flush(w);
    if (w->error != 0) {
        errno = w->error;
        return CH_ERR_IO;
    }
    return CH_OK;
}

// separate writes the comma that a value needs before it, and arms it for the next.
static void separate(struct json_writer *w)
{
    if (w->need_comma)
        put(w, ",", 1);
    w->need_comma = true;
}

void json_write_object(struct json_writer *w)
{
    separate(w);
    put(w, "{", 1);
    w->need_comma = false;
}

void json_write_array(struct json_writer *w)
{
    separate(w);
    put(w, "[", 1);
    w->need_comma = false;
}

void json_write_end(struct json_writer *w, char bracket)
{
    put(w, &bracket, 1);
    w->need_comma = true;
}

void json_write_key(struct json_writer *w, const char *key)
{
    separate(w);
    put(w, "\"", 1);
    put(w, key, strlen(key));
    put(w, "\":", 2);
    w->need_comma = false;
}

// utf8_length is the number of bytes of the well-formed UTF-8 sequence at bytes, or 0
// (RFC 3629, section 4: no overlong forms, no surrogates, nothing past U+10FFFF).
static size_t utf8_length(const unsigned char *bytes, size_t left)
{
    unsigned char first = bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    if (length == 1)
        return 1;
    if (first < 0xc2 || first > 0xf4 || length > left)
        return 0;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    }
    return length;
}

static void put_escaped(struct json_writer *w, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    char escape[] = "\\u0000";
    if (c == '"' || c == '\\') {
        escape[1] = (char)c;
        put(w, escape, 2);
        return;
    }
    escape[4] = digits[c >> 4];
    escape[5] = digits[c & 15];
    put(w, escape, 6);
}

void json_write_bytes(struct json_writer *w, const char *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t plain = 0;

    separate(w);
    put(w, "\"", 1);
    for (size_t i = 0; i < length;) {
        unsigned char c = at[i];
        size_t count = utf8_length(at + i, length - i);
        if (count != 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            i += count;
            continue;
        }
        put(w, bytes + plain, i - plain);
        if (count == 0)
            put(w, "\xef\xbf\xbd", 3);
        if (count != 0)
            put_escaped(w, c);
        plain = ++i;
    }
    put(w, bytes + plain, length - plain);
    put(w, "\"", 1);
}

void json_write_string(struct json_writer *w, const char *string)
{
    if (string == NULL) {
        separate(w);
        put(w, "null", 4);
        return;
    }
    json_write_bytes(w, string, strlen(string));
}

void json_write_plain(struct json_writer *w, const char *text)
{
    separate(w);
    put(w, "\"", 1);
    put(w, text, strlen(text));
    put(w, "\"", 1);
}

// put_number writes value in base 10 or 16.
static void put_number(struct json_writer *w, uint64_t value, unsigned base)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value != 0);
    put(w, digits + at, sizeof(digits) - at);
}

void json_write_uint(struct json_writer *w, uint64_t value)
{
    separate(w);
    put_number(w, value, 10);
}

void json_write_int(struct json_writer *w, int64_t value)
{
    separate(w);
    if (value < 0)
        put(w, "-", 1);
    put_number(w, value < 0 ? -(uint64_t)value : (uint64_t)value, 10);
}

void json_write_bool(struct json_writer *w, bool value)
{
    separate(w);
    put(w, value ? "true" : "false", value ? 4 : 5);
}

void json_write_hex(struct json_writer *w, uint64_t value)
{
    separate(w);
    put(w, "\"0x", 3);
    put_number(w, value, 16);
    put(w, "\"", 1);
}
