// SPDX-License-Identifier: Apache-2.0
//
// Bytes as text: hexadecimal (build IDs, CBF on the command line) and base64 (CBF and
// image maps inside reports). Lengths are in bytes; nothing here allocates.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// hex_encode writes 2 * size lower-case digits and a NUL to out.
void hex_encode(const void *bytes, size_t size, char *out);

// hex_decode reads length digits of either case into out, which has room for size
// bytes, and stores the number of bytes in out_size. CH_ERR_MALFORMED: an odd number of
// digits, or a character that is no digit. CH_ERR_LIMIT: more than size bytes.
CH_CHECKED enum ch_status hex_decode(const char *digits, size_t length, void *out,
                                     size_t size, size_t *out_size);

// BASE64_SIZE is the room that base64_encode needs for size bytes, NUL included.
#define BASE64_SIZE(size) (((size) + 2) / 3 * 4 + 1)

// base64_encode writes size bytes in the standard alphabet, with padding and a NUL.
void base64_encode(const void *bytes, size_t size, char *out);

// base64_decode reads length characters of the standard or the URL-safe alphabet,
// padded or not (Swift writes no padding), into out, which has room for size bytes.
CH_CHECKED enum ch_status base64_decode(const char *text, size_t length, void *out,
                                        size_t size, size_t *out_size);
