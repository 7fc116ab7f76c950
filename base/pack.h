// SPDX-License-Identifier: Apache-2.0
//
// Numbers as the little-endian bytes of a file's record, written as the format's
// description lists them. Users: writers of minidumps, cores, ELF
// files and protobuf.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// PACK appends numbers. Each character of form is for one of them: a digit is its size
// in bytes, 1 to 8; u and s are unsigned and signed LEB128, and u is also a varint of
// protobuf; z appends as many zeros as the number says.
#define PACK(out, form, ...) pack_numbers(out, form, (const uint64_t[]){ __VA_ARGS__ })
void pack_numbers(struct text *out, const char *form, const uint64_t *numbers);

// pack_align appends zeros until the size is a multiple of size, and returns it.
uint32_t pack_align(struct text *out, size_t size);
