// SPDX-License-Identifier: Apache-2.0
//
// A CTF dictionary with one type of each form, in either byte order:
//
//     1 int            2 struct pair { int first; int bits : 3; }
//     3 int : 3        4 struct pair *
//     5 int (*) (struct pair *, ...)
//     6 enum mood { GLAD = 1, SAD = -1 }
//     7 int [4]        8 typedef struct pair *pair_p
//
// and the variables `run` of type 5 and `word` of type 1.
#pragma once
#include "support/byte_builder.h"

enum {
    CTF_BUILT_TYPES = 8,
    CTF_BUILT_HEADER = 52, // bytes before what may be compressed
    CTF_BUILT_STRUCT = 2,
};

// What names are in the string table, by where they begin.
enum {
    CTF_AT_INT = 1,
    CTF_AT_PAIR = 5,
    CTF_AT_FIRST = 10,
    CTF_AT_BITS = 16,
    CTF_AT_MOOD = 21,
    CTF_AT_GLAD = 26,
    CTF_AT_SAD = 31,
    CTF_AT_PAIR_P = 35,
    CTF_AT_RUN = 42,
    CTF_AT_WORD = 46,
};

static const char ctf_built_strings[] =
    "\0int\0pair\0first\0bits\0mood\0GLAD\0SAD\0pair_p\0run\0word";

// ctf_builder_words appends 32-bit numbers.
static inline void ctf_builder_words(struct byte_builder *b, const uint32_t *words,
                                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        byte_builder_uint(b, words[i], 4);
}

// ctf_builder_info is the second word of a type.
static inline uint32_t ctf_builder_info(uint32_t kind, uint32_t part_count)
{
    return kind << 26 | 1u << 25 | part_count;
}

static inline void ctf_builder_types(struct byte_builder *b)
{
    const uint32_t types[] = {
        CTF_AT_INT,
        ctf_builder_info(1, 0),
        4,
        0x01000020,
        CTF_AT_PAIR,
        ctf_builder_info(6, 2),
        8,
        CTF_AT_FIRST,
        0,
        1,
        CTF_AT_BITS,
        32,
        3,
        0,
        ctf_builder_info(14, 0),
        1,
        1,
        // The slice's offset and size are two halves of a word, in the file's order.
        b->big_endian ? 3 : 3 << 16,
        0,
        ctf_builder_info(3, 0),
        2,
        0,
        ctf_builder_info(5, 2),
        1,
        4,
        0,
        CTF_AT_MOOD,
        ctf_builder_info(8, 2),
        4,
        CTF_AT_GLAD,
        1,
        CTF_AT_SAD,
        0xffffffff,
        0,
        ctf_builder_info(4, 0),
        0,
        1,
        1,
        4,
        CTF_AT_PAIR_P,
        ctf_builder_info(10, 0),
        4,
    };
    ctf_builder_words(b, types, sizeof(types) / sizeof(types[0]));
}

// ctf_builder_build writes the dictionary; flags are the header's.
static inline void ctf_builder_build(struct byte_builder *b, bool big_endian,
                                     uint8_t flags)
{
    const uint32_t variables[] = { CTF_AT_RUN, 5, CTF_AT_WORD, 1 };
    struct byte_builder types = { .big_endian = big_endian };
    ctf_builder_types(&types);
    b->size = 0;
    b->big_endian = big_endian;
    byte_builder_uint(b, 0xdff2, 2);
    byte_builder_uint(b, 4, 1);
    byte_builder_uint(b, flags, 1);
    const uint32_t variables_size = sizeof(variables);
    const uint32_t header[] = { 0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                0,
                                variables_size,
                                variables_size + (uint32_t)types.size,
                                (uint32_t)sizeof(ctf_built_strings) };
    ctf_builder_words(b, header, sizeof(header) / sizeof(header[0]));
    ctf_builder_words(b, variables, sizeof(variables) / sizeof(variables[0]));
    byte_builder_bytes(b, types.bytes, types.size);
    byte_builder_bytes(b, ctf_built_strings, sizeof(ctf_built_strings));
}
