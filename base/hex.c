// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

void hex_encode(const void *bytes, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[from[i] >> 4];
        *out++ = digits[from[i] & 15];
    }
    *out = 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

enum ch_status hex_decode(const char *digits, size_t length, void *out, size_t size,
                          size_t *out_size)
{
    if (length % 2 != 0)
        return CH_ERR_MALFORMED;
    if (length / 2 > size)
        return CH_ERR_LIMIT;

    uint8_t *to = out;
    for (size_t i = 0; i < length; i += 2) {
        int high = hex_digit(digits[i]);
        int low = hex_digit(digits[i + 1]);
        if (high < 0 || low < 0)
            return CH_ERR_MALFORMED;
        to[i / 2] = (uint8_t)(high << 4 | low);
    }
    *out_size = length / 2;
    return CH_OK;
}

void base64_encode(const void *bytes, size_t size, char *out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint8_t *from = bytes;
    for (size_t i = 0; i < size; i += 3) {
        size_t count = size - i < 3 ? size - i : 3;
        uint32_t group = (uint32_t)from[i] << 16;
        if (count > 1)
            group |= (uint32_t)from[i + 1] << 8;
        if (count > 2)
            group |= from[i + 2];
        *out++ = alphabet[group >> 18];
        *out++ = alphabet[group >> 12 & 63];
        *out++ = count > 1 ? alphabet[group >> 6 & 63] : '=';
        *out++ = count > 2 ? alphabet[group & 63] : '=';
    }
    *out = 0;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

enum ch_status base64_decode(const char *text, size_t length, void *out, size_t size,
                             size_t *out_size)
{
    for (int padding = 0; padding < 2 && length > 0 && text[length - 1] == '=';
         padding++)
        length--;
    // A single leftover character has 6 bits, less than a byte.
    if (length % 4 == 1)
        return CH_ERR_MALFORMED;

    uint8_t *to = out;
    size_t count = 0;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return CH_ERR_MALFORMED;
        bits = bits << 6 | (uint32_t)digit;
        bit_count += 6;
        if (bit_count < 8)
            continue;
        bit_count -= 8;
        if (count == size)
            return CH_ERR_LIMIT;
        to[count++] = (uint8_t)(bits >> bit_count);
    }
    *out_size = count;
    return CH_OK;
}
