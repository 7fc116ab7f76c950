// SPDX-License-Identifier: Apache-2.0
//
// CTF versions 1 to 3, one dictionary: the C types, functions and variables of a
// program or of one of its units (docs/formats/ctf.md).
//
// A dictionary is opened once: if it is compressed, it is inflated, and the position of
// every type is found. Then types are read by number, and their parts one by one.
// Nothing is copied: results point into the dictionary. The numbers of types that a
// type refers to are not checked here; looking such a type up says whether it exists.
//
// Both byte orders. Versions 1 and 2 are read as version 3. The limits are
// CTF_BODY_MAX and the size of the input.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/debug/ctf_layout.h"
#include "formats/debug/elf.h"

// CTF_NAME_MAX is the greatest length of a name.
#define CTF_NAME_MAX 4096

// A ctf_outside is one symbol table of the ELF file that contains a dictionary, and its
// strings; the cursors are empty where the file has none.
struct ctf_outside {
    const struct elf_view *elf; // NULL: a bare section
    struct cursor symbols;
    struct cursor strings;
};

struct ctf_dict {
    unsigned version; // 1 to 3; 2 is that of Solaris or libctf
    bool big_endian;
    bool is_compressed;
    bool is_c_order;      // it says that dimensions of arrays are in the order of C
    struct cursor labels; // for ctf_next_label
    struct cursor sections[CTF_SECTION_COUNT];
    struct ctf_outside outside;
    bool is_child;      // its types have CTF_CHILD_BIT
    const char *parent; // the name of its parent dictionary; "" for none
    const char *unit;   // the source file that it describes; "" for none
    uint8_t *inflated;  // owned; NULL: it was not compressed
    size_t inflated_size;
    uint32_t *type_offsets;
    uint32_t type_count; // types are numbered from 1
};

struct ctf_type {
    enum ctf_kind kind;
    bool is_root;        // false: it cannot be found by its name
    const char *name;    // "" for none; "(?)": its string table is missing
    uint64_t size;       // in bytes, of kinds that have one
    uint32_t reference;  // the type that it points to, names, qualifies, slices or
                         // returns; of an array its elements; of a forward an
                         // enum ctf_kind
    uint32_t count;      // of an array: elements
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
    uint32_t type;        // of a member or argument; an argument of 0: variadic
    uint64_t offset_bits; // of a member
    int32_t value;        // of an enumerator
};

// A ctf_label names the types of a dictionary up to a number. Solaris' tools write the
// release that added these types.
struct ctf_label {
    const char *name;
    uint32_t last_type;
};

enum ctf_symbol_kind { CTF_SYMBOL_OBJECT, CTF_SYMBOL_FUNCTION, CTF_SYMBOL_VARIABLE };

struct ctf_symbol {
    enum ctf_symbol_kind kind;
    const char *name;
    uint32_t type;
};

// A ctf_symbols iterates over the three tables that give symbols their types.
struct ctf_symbols {
    const struct ctf_dict *dict;
    enum ctf_section table;
    struct cursor types;
    struct cursor names;   // of an indexed table and of variables
    struct cursor symbols; // of a table in the order of the ELF symbols
};

// ctf_dict_open reads the dictionary in bytes. bytes must outlive it, as must the ELF
// file that contains it: all is that file's symbol table, dynamic its dynamic symbol
// table; the dictionary says which of them it refers to. CH_ERR_UNSUPPORTED: another
// version, or unknown flags. CH_ERR_LIMIT: it is larger than CTF_BODY_MAX. dict has to
// be closed whatever is returned.
CH_CHECKED enum ch_status ctf_dict_open(struct ctf_dict *dict, struct cursor bytes,
                                        const struct ctf_outside *all,
                                        const struct ctf_outside *dynamic);

// ctf_dict_close frees what dict holds; a zeroed one is closed.
void ctf_dict_close(struct ctf_dict *dict);

// ctf_dict_type reads type index of dict, counted from 1 without the child bit.
// CH_ERR_NOT_FOUND: there is none. CH_ERR_UNSUPPORTED: an unknown kind.
CH_CHECKED enum ch_status ctf_dict_type(const struct ctf_dict *dict, uint32_t index,
                                        struct ctf_type *out);

// ctf_next_part reads the next part of type, which came from dict. CH_END: there are no
// more.
CH_CHECKED enum ch_status ctf_next_part(const struct ctf_dict *dict,
                                        struct ctf_type *type, struct ctf_part *out);

// ctf_next_label reads the next label from labels, a copy of those of dict. CH_END:
// there are no more.
CH_CHECKED enum ch_status ctf_next_label(const struct ctf_dict *dict,
                                         struct cursor *labels, struct ctf_label *out);

// ctf_symbols_init begins with the first symbol of dict, which must outlive symbols.
void ctf_symbols_init(struct ctf_symbols *symbols, const struct ctf_dict *dict);

// ctf_next_symbol gives the next symbol that has a name and a type: data objects, then
// functions, then variables. CH_END: there are no more.
CH_CHECKED enum ch_status ctf_next_symbol(struct ctf_symbols *symbols,
                                          struct ctf_symbol *out);
