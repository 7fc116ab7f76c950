// SPDX-License-Identifier: Apache-2.0
//
// BTF, the kernel's type format (docs/formats/btf.md): the C types, functions and
// variables of a program, of a kernel, or of a module, whose BTF continues that of its
// kernel ("split" BTF). And version 4 of CTF, which is BTF with a second header and
// four more kinds.
//
// Types are read in order, each with its parts. Nothing is copied but what is
// compressed: results point into the section. The numbers of types that a type refers
// to are not checked here. Both byte orders, version 1.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

enum btf_kind {
    BTF_VOID,
    BTF_INTEGER,
    BTF_POINTER,
    BTF_ARRAY,
    BTF_STRUCT,
    BTF_UNION,
    BTF_ENUM,
    BTF_FORWARD,
    BTF_TYPEDEF,
    BTF_VOLATILE,
    BTF_CONST,
    BTF_RESTRICT,
    BTF_FUNCTION, // a name and its prototype
    BTF_PROTOTYPE,
    BTF_VARIABLE,
    BTF_DATA_SECTION,
    BTF_FLOAT,
    BTF_DECLARATION_TAG,
    BTF_TYPE_TAG,
    BTF_ENUM_64,
    BTF_END, // of the kinds of BTF

    // CTF alone has these. The first two say more of the type that follows, which has
    // the same number.
    BTF_CTF_CONFLICTING = 28, // the name of its unit, where units differ
    BTF_CTF_BIG,              // upper halves of its size and its number of parts
    BTF_CTF_SLICE,            // some bits of an integer or enum
    BTF_CTF_FLOAT,            // with an encoding
    BTF_KIND_COUNT,
};

// A btf_symbol_table gives ELF symbols their types, as in version 3 of CTF: types in
// the order of the symbols, or with names beside them.
enum btf_symbol_table {
    BTF_OBJECTS,
    BTF_FUNCTIONS,
    BTF_OBJECT_NAMES,
    BTF_FUNCTION_NAMES,
    BTF_SYMBOL_TABLES,
};

enum btf_integer_flag { BTF_SIGNED = 1, BTF_CHARACTER = 2, BTF_BOOLEAN = 4 };

struct btf {
    const struct btf *base; // NULL: it is complete in itself
    struct cursor types;    // at the next type
    struct cursor strings;
    uint32_t string_base; // offset of its first string
    bool is_ctf;
    bool continues;     // it needs a base
    bool is_compressed; // CTF
    uint8_t *inflated;  // CTF: owned; NULL: it was not compressed
    size_t inflated_size;
    const char *unit;      // CTF: the source file that it describes; "" for none
    struct cursor outside; // CTF: strings of the ELF file; empty: there are none
    struct cursor symbols[BTF_SYMBOL_TABLES]; // CTF: the types of ELF symbols
};

struct btf_type {
    enum btf_kind kind;
    bool flag; // members have sizes in bits, a forward is of a union, values are signed
    const char *name;     // "" for none
    const char *unit;     // CTF: its source file, where units differ; NULL: irrelevant
    uint64_t size;        // of integers, structures, enums, floats
    uint32_t reference;   // of the others: the type that it refers to
    uint32_t count;       // of an array: elements
    uint8_t encoding;     // of an integer: enum btf_integer_flag
    uint16_t offset_bits; // of an integer or slice
    uint16_t bits;
    uint32_t part_count;
    bool is_big;          // offsets of members count from the member before
    uint64_t member_bits; // of a big one: the offset of the member before
    struct cursor parts;  // members, enumerators or parameters, for btf_next_part
};

struct btf_part {
    const char *name;
    uint32_t type;        // of a member or parameter; a parameter of 0: variadic
    uint64_t offset_bits; // of a member
    uint32_t bits;        // of a bit-field; 0: it is none
    int64_t value;        // of an enumerator
};

// btf_init reads the header of a section. base is the BTF that it continues, or NULL,
// and must outlive it; CTF that is complete in itself leaves it. CH_ERR_NOT_FOUND: it
// is no BTF. CH_ERR_UNSUPPORTED: another version, or unknown flags. btf has to be
// deinitialized whatever is returned.
CH_CHECKED enum ch_status btf_init(struct btf *btf, struct cursor bytes,
                                   const struct btf *base);

// btf_deinit frees what btf holds; a zeroed one is empty.
void btf_deinit(struct btf *btf);

// btf_next_type reads a type. The first has number 1, or of BTF with a base the number
// after that one's last. CH_END: there are no more.
CH_CHECKED enum ch_status btf_next_type(struct btf *btf, struct btf_type *out);

// btf_next_part reads the next part of type, which came from btf. CH_END: there are no
// more.
CH_CHECKED enum ch_status btf_next_part(const struct btf *btf, struct btf_type *type,
                                        struct btf_part *out);
