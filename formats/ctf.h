// SPDX-License-Identifier: Apache-2.0
//
// CTF version 3: one dictionary, the C types, functions and variables of a program or
// of one of its units (docs/formats/ctf.md).
//
// A dictionary is opened once: a compressed one is inflated, every type is found. Then
// types are read by number, their parts one by one; nothing is copied, what comes out
// points into the dictionary. Numbers of types that other types mention are not checked
// here: whoever follows them asks for that type, and is told that there is none.
//
// Both byte orders. Version 3 alone; limits are CTF_BODY_MAX and what the bytes hold.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/elf.h"

// CTF_BODY_MAX is how large a dictionary may be once it is inflated.
#define CTF_BODY_MAX (64u << 20)

// CTF_CHILD_BIT is set in the numbers of types that a unit's own dictionary has.
#define CTF_CHILD_BIT 0x80000000u

enum ctf_kind {
    CTF_UNKNOWN,
    CTF_INTEGER,
    CTF_FLOAT,
    CTF_POINTER,
    CTF_ARRAY,
    CTF_FUNCTION,
    CTF_STRUCT,
    CTF_UNION,
    CTF_ENUM,
    CTF_FORWARD,
    CTF_TYPEDEF,
    CTF_VOLATILE,
    CTF_CONST,
    CTF_RESTRICT,
    CTF_SLICE,
};

enum ctf_integer_flag { CTF_SIGNED = 1, CTF_CHARACTER = 2, CTF_BOOLEAN = 4 };

enum ctf_section {
    CTF_OBJECTS,
    CTF_FUNCTIONS,
    CTF_OBJECT_NAMES,
    CTF_FUNCTION_NAMES,
    CTF_VARIABLES,
    CTF_TYPES,
    CTF_STRINGS,
    CTF_SECTION_COUNT,
};

// CTF_NAME_MAX is how long a name may be.
#define CTF_NAME_MAX 4096

// A ctf_outside is one symbol table of the ELF file around a dictionary, and its
// strings; empty cursors where the file has none.
struct ctf_outside {
    const struct elf_view *elf; // NULL: a bare section
    struct cursor symbols;
    struct cursor strings;
};

struct ctf_dict {
    struct cursor sections[CTF_SECTION_COUNT];
    struct ctf_outside outside;
    bool is_child;      // its types have CTF_CHILD_BIT
    const char *parent; // the name of the dictionary it continues; "" for none
    const char *unit;   // the source file it is about; "" for none
    uint8_t *inflated;  // owned; NULL: it was not compressed
    uint32_t *type_offsets;
    uint32_t type_count; // types are numbered from 1
};

struct ctf_type {
    enum ctf_kind kind;
    bool is_root;       // false: not to be found by its name
    const char *name;   // "" for none; "(?)": in a string table that is not there
    uint64_t size;      // in bytes, of kinds that have one
    uint32_t reference; // what it points to, names, qualifies, slices or returns; of an
                        // array what it holds; of a forward an enum ctf_kind
    uint32_t count;     // of an array: elements
    uint32_t index_type; // of an array
    uint8_t encoding;    // of an integer: enum ctf_integer_flag; of a float: its format
    uint16_t offset_bits; // of an integer, float or slice: within its bytes
    uint16_t bits;
    uint32_t part_count;
    struct cursor parts; // members, enumerators or arguments, for ctf_next_part
};

// A ctf_part is a member, an enumerator or an argument.
struct ctf_part {
    const char *name;     // of a member or enumerator
    uint32_t type;        // of a member or argument; an argument of 0: any more
    uint64_t offset_bits; // of a member
    int32_t value;        // of an enumerator
};

enum ctf_symbol_kind { CTF_SYMBOL_OBJECT, CTF_SYMBOL_FUNCTION, CTF_SYMBOL_VARIABLE };

struct ctf_symbol {
    enum ctf_symbol_kind kind;
    const char *name;
    uint32_t type;
};

// A ctf_symbols walks the three tables that give names types.
struct ctf_symbols {
    const struct ctf_dict *dict;
    enum ctf_section table;
    struct cursor types;
    struct cursor names;   // of an indexed table and of variables
    struct cursor symbols; // of a table in the order of the ELF symbols
};

// ctf_dict_open reads the dictionary in bytes, which must outlive it, as must the ELF
// file around it: all is its symbol table, dynamic that of its dynamic symbols, and the
// dictionary says which of them it refers to. CH_ERR_UNSUPPORTED: another version, or
// flags that are not known. CH_ERR_LIMIT: it is larger than CTF_BODY_MAX. Whatever it
// returns, dict is to be closed.
CH_CHECKED enum ch_status ctf_dict_open(struct ctf_dict *dict, struct cursor bytes,
                                        const struct ctf_outside *all,
                                        const struct ctf_outside *dynamic);

// ctf_dict_close frees what dict holds; a zeroed one is closed.
void ctf_dict_close(struct ctf_dict *dict);

// ctf_dict_type reads the index'th type of dict, counted from 1 without the child bit.
// CH_ERR_NOT_FOUND: it has none. CH_ERR_UNSUPPORTED: a kind that is not known.
CH_CHECKED enum ch_status ctf_dict_type(const struct ctf_dict *dict, uint32_t index,
                                        struct ctf_type *out);

// ctf_next_part reads the next part of type, which dict gave. CH_END: there are no
// more.
CH_CHECKED enum ch_status ctf_next_part(const struct ctf_dict *dict,
                                        struct ctf_type *type, struct ctf_part *out);

// ctf_symbols_init begins with the first symbol of dict, which must outlive symbols.
void ctf_symbols_init(struct ctf_symbols *symbols, const struct ctf_dict *dict);

// ctf_next_symbol gives the next symbol that has a name and a type: data objects, then
// functions, then variables. CH_END: there are no more.
CH_CHECKED enum ch_status ctf_next_symbol(struct ctf_symbols *symbols,
                                          struct ctf_symbol *out);
