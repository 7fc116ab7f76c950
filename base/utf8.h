// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above
// U+10FFFF. The bytes are untrusted; the caller replaces what is not a character.
#pragma once
#include <stddef.h>
#include <stdint.h>

// utf8_decode stores the first character of the left bytes at bytes, and returns its
// size; 0: they do not begin with one. left is at least 1.
size_t utf8_decode(const void *bytes, size_t left, uint32_t *out_character);

// utf8_cut gives the greatest length up to limit at which the size bytes at text can be
// truncated without splitting a character.
size_t utf8_cut(const char *text, size_t size, size_t limit);

// utf8_repair replaces each of the size bytes at text that is no part of a character by
// '?'.
void utf8_repair(char *text, size_t size);

enum { UTF8_MAX_BYTES = 4 }; // of a character

// utf8_encode writes a character and returns its size. A control, and what is no
// character, is written as '?'.
size_t utf8_encode(uint32_t character, char out[static UTF8_MAX_BYTES]);
