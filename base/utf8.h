// SPDX-License-Identifier: Apache-2.0
//
// UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF.
// Bytes come from anywhere; what is no character is the caller's to replace.
#pragma once
#include <stddef.h>
#include <stdint.h>

// utf8_decode is how many of the left bytes at bytes the first character takes, which
// it stores; 0: they begin with none. left is at least 1.
size_t utf8_decode(const void *bytes, size_t left, uint32_t *out_character);

// utf8_cut is the longest length of at most limit at which the size bytes at text can
// be cut without cutting a character.
size_t utf8_cut(const char *text, size_t size, size_t limit);
