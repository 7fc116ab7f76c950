// SPDX-License-Identifier: Apache-2.0
//
// A type_table holds C types as values, whatever they were read from: CTF or DWARF.
//
// Types refer to each other by their index; index 0 is the type that nothing is known
// of. Names point into what the types were read from, which must outlive the table.
// The dimensions of `int a[2][3]` are an array of 3 of arrays of 2: compilers write CTF
// so up to gcc 13, libctf spells it so, and DWARF is read to the same.
//
// Whatever is in a table was checked when it was added: indexes are in range, members
// lie within their structures, names and sizes come to an end.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

// TYPE_UNKNOWN_INDEX is the index of the type that nothing is known of.
#define TYPE_UNKNOWN_INDEX 0u

// TYPE_TABLE_MAX bounds types and, alike, parts of them.
#define TYPE_TABLE_MAX (1u << 24)

// TYPE_CHAIN_MAX is how many types may stand between a type and what it comes down to.
enum { TYPE_CHAIN_MAX = 64 };

enum type_kind {
    TYPE_UNKNOWN,
    TYPE_INTEGER,
    TYPE_FLOAT,
    TYPE_POINTER,
    TYPE_ARRAY,
    TYPE_FUNCTION,
    TYPE_STRUCT,
    TYPE_UNION,
    TYPE_ENUM,
    TYPE_FORWARD,
    TYPE_TYPEDEF,
    TYPE_VOLATILE,
    TYPE_CONST,
    TYPE_RESTRICT,
    TYPE_SLICE, // some bits of an integer or enum: a bit-field
};

enum type_encoding {
    TYPE_SIGNED = 1,
    TYPE_CHARACTER = 2,
    TYPE_BOOLEAN = 4,
    TYPE_COMPLEX = 8,
};

struct type {
    enum type_kind kind;
    enum type_kind tag; // of a forward: what it announces
    const char *name;   // "session" of `struct session`; "" for none
    const char *unit;   // the source file it is of, where units differ; NULL: no matter
    uint64_t size;      // in bytes; of arrays, typedefs and qualifiers see type_size
    uint32_t target;    // what it points to, holds, names, qualifies, slices, returns
    uint32_t count;     // of an array: elements
    uint32_t first_part; // members, enumerators or arguments
    uint32_t part_count;
    uint8_t encoding;    // enum type_encoding, of integers and floats
    uint8_t offset_bits; // of a slice: within its integer
    uint16_t bits;       // of a slice
    bool variadic;       // of a function
};

// A type_part is a member, an enumerator or an argument.
struct type_part {
    const char *name; // "" for none
    uint32_t type;
    uint64_t offset_bits; // of a member
    int64_t value;        // of an enumerator
};

// A type_symbol is a function or a variable and its type.
struct type_symbol {
    const char *name;
    const char *unit; // as of a type
    uint32_t type;
};

struct type_table {
    struct type *types;
    uint32_t count;
    size_t capacity;
    struct type_part *parts;
    uint32_t part_count;
    size_t part_capacity;
    struct type_symbol *symbols;
    uint32_t symbol_count;
    size_t symbol_capacity;
};

// type_table_init makes a table that has the unknown type alone.
CH_CHECKED enum ch_status type_table_init(struct type_table *table);

// type_table_deinit frees what table holds; a zeroed one is empty.
void type_table_deinit(struct type_table *table);

// type_table_add appends type. CH_ERR_LIMIT: TYPE_TABLE_MAX.
CH_CHECKED enum ch_status type_table_add(struct type_table *table,
                                         const struct type *type, uint32_t *out_index);

// type_table_add_part appends a part: those of a type are appended in one go.
CH_CHECKED enum ch_status type_table_add_part(struct type_table *table,
                                              const struct type_part *part);

// type_table_add_symbol appends a function or variable.
CH_CHECKED enum ch_status type_table_add_symbol(struct type_table *table,
                                                const struct type_symbol *symbol);

// type_strip gives what index comes down to without typedefs and qualifiers; a slice
// stays one. It is the unknown type where there is no end to them.
uint32_t type_strip(const struct type_table *table, uint32_t index);

// type_size stores how many bytes an object of the type has. CH_ERR_NOT_FOUND: there
// are none of it, it is incomplete or a function. CH_ERR_LIMIT: more than 2^63.
CH_CHECKED enum ch_status type_size(const struct type_table *table, uint32_t index,
                                    uint64_t *out);

// type_size_bits is how many bits a member of the type has, 0 where that is not known.
uint64_t type_size_bits(const struct type_table *table, uint32_t index);

// type_kind_name is a kind as listings spell it ("struct").
const char *type_kind_name(enum type_kind kind);
