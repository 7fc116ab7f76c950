// SPDX-License-Identifier: Apache-2.0
//
// BTF, the kernel's type format (docs/formats/btf.md): the C types, functions and
// variables of a program, of a kernel, or of a module, whose BTF continues that of its
// kernel ("split" BTF).
//
// Types are read in order, each with its parts. Nothing is copied: results point into
// the section. The numbers of types that a type refers to are not checked here. Both
// byte orders, version 1.
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
    BTF_KIND_COUNT,
};

enum btf_integer_flag { BTF_SIGNED = 1, BTF_CHARACTER = 2, BTF_BOOLEAN = 4 };

struct btf {
    const struct btf *base; // NULL: it is complete in itself
    struct cursor types;    // at the next type
    struct cursor strings;
    uint32_t string_base; // offset of its first string
};

struct btf_type {
    enum btf_kind kind;
    bool flag; // members have sizes in bits, a forward is of a union, values are signed
    const char *name;    // "" for none
    uint32_t size;       // of integers, structures, enums, floats
    uint32_t reference;  // of the others: the type that it refers to
    uint32_t count;      // of an array: elements
    uint8_t encoding;    // of an integer: enum btf_integer_flag
    uint8_t offset_bits; // of an integer
    uint8_t bits;
    uint32_t part_count;
    struct cursor parts; // members, enumerators or parameters, for btf_next_part
};

struct btf_part {
    const char *name;
    uint32_t type;        // of a member or parameter; a parameter of 0: variadic
    uint32_t offset_bits; // of a member
    uint32_t bits;        // of a bit-field; 0: it is none
    int64_t value;        // of an enumerator
};

// btf_init reads the header of a section. base is the BTF that it continues, or NULL,
// and must outlive it. CH_ERR_NOT_FOUND: it is no BTF. CH_ERR_UNSUPPORTED: another
// version.
CH_CHECKED enum ch_status btf_init(struct btf *btf, struct cursor bytes,
                                   const struct btf *base);

// btf_next_type reads a type. The first has number 1, or of BTF with a base the number
// after that one's last. CH_END: there are no more.
CH_CHECKED enum ch_status btf_next_type(struct btf *btf, struct btf_type *out);

// btf_next_part reads the next part of type, which came from btf. CH_END: there are no
// more.
CH_CHECKED enum ch_status btf_next_part(const struct btf *btf, struct btf_type *type,
                                        struct btf_part *out);
