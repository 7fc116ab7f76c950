// SPDX-License-Identifier: Apache-2.0
//
// A type_table holds C types as values, whether they were read from CTF or DWARF.
//
// Types refer to each other by index; index 0 is the unknown type. Names point into
// what the types were read from, which must outlive the table. `int a[2][3]` is an
// array of 3 of arrays of 2: compilers up to gcc 13 write CTF so, and other CTF and
// DWARF are read to the same.
//
// Whatever is in a table was checked when it was added: indexes are in range, members
// are inside their structures, names and sizes are finite.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

// TYPE_UNKNOWN_INDEX is the index of the unknown type.
#define TYPE_UNKNOWN_INDEX 0u

// TYPE_TABLE_MAX bounds the number of types and of parts.
#define TYPE_TABLE_MAX (1u << 24)

// TYPE_CHAIN_MAX bounds the chain of typedefs and the like from a type to its base.
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
    TYPE_UNSIGNED = 16, // of an enum: values below 0 are 2^63 and more
};

struct type {
    enum type_kind kind;
    enum type_kind tag;  // of a forward: the kind it declares
    const char *name;    // "session" of `struct session`; "" for none
    const char *unit;    // its source file, where units differ; NULL: irrelevant
    uint64_t size;       // in bytes; of arrays, typedefs and qualifiers see type_size
    uint64_t alignment;  // in bytes, if it is asked for; 0: that of its members
    uint32_t target;     // what it points to, holds, names, qualifies, slices, returns
    uint32_t count;      // of an array: elements; with variants: the number among the
                         // parts of that which is selected if no other is; 0: none
    uint32_t first_part; // index of its members, enumerators or arguments
    uint32_t part_count;
    uint32_t argument_count; // template arguments: the parts after its part_count
    uint8_t encoding;        // enum type_encoding, of integers, floats and enums
    uint8_t offset_bits;     // of a slice: within its integer
    uint16_t bits;           // of a slice
    bool variadic;           // of a function
    bool flat;               // of an array: of all elements of arrays of arrays
    bool vector;             // of an array: it is aligned to its size
    uint8_t reference;       // of a pointer: 1 for `&`, 2 for `&&`, 0 for `*`
    bool variants; // of a structure: its first part is a number that selects one
                   // of the others (an enum of Rust)
    bool partial;  // it has members that are not among the parts
};

// type_base holds whether a member is a base class.
enum type_base {
    TYPE_BASE_NONE,
    TYPE_BASE_PLAIN,
    TYPE_BASE_VIRTUAL, // the object's table of virtual functions has its offset
};

// A type_part is a member, an enumerator, an argument, or a template argument, which
// has a type alone, or a value too.
struct type_part {
    const char *name; // "" for none; of a base class: its own
    uint32_t type;
    uint64_t offset_bits; // of a member
    int64_t value; // of an enumerator, a variant, a template argument; of a virtual
                   // base: where its offset is, from the table of virtual functions
    enum type_base base; // of a member
};

// A type_symbol is a function or a variable and its type.
struct type_symbol {
    const char *name;
    const char *unit; // as in struct type
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

// type_table_init makes a table with only the unknown type.
CH_CHECKED enum ch_status type_table_init(struct type_table *table);

// type_table_deinit frees what table holds; a zeroed one is empty.
void type_table_deinit(struct type_table *table);

// type_table_add appends type. CH_ERR_LIMIT: TYPE_TABLE_MAX is reached.
CH_CHECKED enum ch_status type_table_add(struct type_table *table,
                                         const struct type *type, uint32_t *out_index);

// type_table_add_part appends a part; the parts of a type are appended in one go.
CH_CHECKED enum ch_status type_table_add_part(struct type_table *table,
                                              const struct type_part *part);

// type_table_add_symbol appends a function or variable.
CH_CHECKED enum ch_status type_table_add_symbol(struct type_table *table,
                                                const struct type_symbol *symbol);

// type_strip gives the type at index without typedefs and qualifiers, but does not
// strip slices. It gives the unknown type if the chain is endless.
uint32_t type_strip(const struct type_table *table, uint32_t index);

// type_size stores the size of an object of the type. CH_ERR_NOT_FOUND: it has none,
// because it is incomplete or a function. CH_ERR_LIMIT: more than 2^63.
CH_CHECKED enum ch_status type_size(const struct type_table *table, uint32_t index,
                                    uint64_t *out);

// type_size_bits is the size in bits of a member of the type, 0 if it is not known.
uint64_t type_size_bits(const struct type_table *table, uint32_t index);

// type_kind_name gives the kind as listings spell it ("struct").
const char *type_kind_name(enum type_kind kind);

enum {
    TYPE_MEMBERS_DEPTH = 8,      // of nested unnamed structures and bases
    TYPE_MEMBERS_MAX = 1u << 20, // of one type, including those
};

struct type_members {
    const struct type_table *table;
    struct type_members_level {
        const struct type *type;
        uint32_t next;
        uint64_t offset_bits; // of the structure in the outermost one
    } levels[TYPE_MEMBERS_DEPTH];
    int depth;
    uint32_t visited;
};

struct type_member {
    const struct type_part *part;
    uint64_t offset_bits; // from the outermost structure; not of a virtual base
    int depth;            // how many unnamed structures and bases it is in
    bool opens;           // its members follow
    int closes;           // how many that opened ended before it
};

// type_members_init begins with the first member of type, a structure or union.
void type_members_init(struct type_members *members, const struct type_table *table,
                       const struct type *type);

// type_members_next gives the next member. It returns false when there are no more;
// closes is then the number of those that are still open.
bool type_members_next(struct type_members *members, struct type_member *out);
