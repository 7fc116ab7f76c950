// SPDX-License-Identifier: Apache-2.0
//
// A jitdump: code `f` that is loaded, a record of an unknown kind, and the move of f.
#pragma once
#include "support/byte_builder.h"

static inline void jitdump_builder_code(struct byte_builder *out, uint64_t address,
                                        uint64_t size, uint64_t index)
{
    byte_builder_uint(out, address, 8);
    byte_builder_uint(out, size, 8);
    byte_builder_uint(out, index, 8);
}

// jitdump_builder_head writes what every record begins with.
static inline void jitdump_builder_head(struct byte_builder *out, uint32_t kind,
                                        uint32_t body)
{
    byte_builder_uint(out, kind, 4);
    byte_builder_uint(out, 16 + body, 4);
    byte_builder_uint(out, 99, 8); // time
}

static inline void jitdump_build(struct byte_builder *out)
{
    byte_builder_uint(out, 0x4a695444, 4);
    byte_builder_uint(out, 1, 4);  // version
    byte_builder_uint(out, 48, 4); // of the header, longer than known
    for (size_t i = 12; i < 48; i++)
        byte_builder_uint(out, 0, 1);
    jitdump_builder_head(out, 0, 8 + 8 + 24 + 2 + 3);
    byte_builder_uint(out, 1, 4);
    byte_builder_uint(out, 1, 4);
    byte_builder_uint(out, 0x2000, 8);
    jitdump_builder_code(out, 0x2000, 0x100, 7);
    byte_builder_bytes(out, "f\0abc", 5); // the name, and the code
    jitdump_builder_head(out, 5, 4);
    byte_builder_uint(out, 0, 4);
    jitdump_builder_head(out, 1, 8 + 8 + 8 + 24);
    byte_builder_uint(out, 1, 4);
    byte_builder_uint(out, 1, 4);
    byte_builder_uint(out, 0x3000, 8);
    byte_builder_uint(out, 0x2000, 8);
    jitdump_builder_code(out, 0x3000, 0x100, 7);
}
