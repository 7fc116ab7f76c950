// SPDX-License-Identifier: Apache-2.0
//
// Adler-32 is the checksum of zlib streams (RFC 1950, section 8.2). It is computed here
// with words of 64 bits; zlib itself is not in the agent.
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { ADLER32_BASE = 65521 };

// adler32_add continues a checksum, which begins with 1.
uint32_t adler32_add(uint32_t sum, const uint8_t *bytes, size_t size);
