// SPDX-License-Identifier: Apache-2.0
//
// Decompresses a section of debug information (gABI, "Compressed sections"). Both ends
// are in memory, and the header of the section gives the size of what comes out.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

// The methods have the numbers of ch_type in the header.
enum { DECOMPRESS_ZLIB = 1, DECOMPRESS_ZSTD = 2 };

// decompress decompresses stream into exactly size bytes at out. CH_ERR_UNSUPPORTED:
// the method is another one. CH_ERR_MALFORMED: the stream is damaged, cut off, or of
// another size.
CH_CHECKED enum ch_status decompress(uint32_t method, struct cursor stream,
                                     uint8_t *out, size_t size);
