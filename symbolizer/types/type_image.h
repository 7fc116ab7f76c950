// SPDX-License-Identifier: Apache-2.0
//
// The types of one image of a report: from its debug information or, if there is none,
// from its CTF or BTF. A program names a type in words and gives its size; the size
// tells types of the same name apart, and types of another build from those of the
// process.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/files/debug_files.h"
#include "symbolizer/types/type_btf.h"
#include "symbolizer/types/type_ctf.h"
#include "symbolizer/types/type_dwarf.h"
#include "symbolizer/types/type_table.h"

enum type_source { TYPE_FROM_EITHER, TYPE_FROM_CTF, TYPE_FROM_DWARF, TYPE_FROM_BTF };

struct type_image {
    struct debug_files files;
    uint64_t linked_base; // the vaddr of the image's base
    struct type_table table;
    enum type_source source; // TYPE_FROM_EITHER: there are no types
    bool damaged;            // it has CTF or BTF that cannot be read
    Dwarf *dwarf;
    struct type_dwarf dwarf_types;
    struct type_ctf ctf;
};

// type_image_open finds the types of the image at path with that build ID. That there
// are none is no failure. image has to be closed whatever is returned.
CH_CHECKED enum ch_status type_image_open(struct type_image *image, const char *path,
                                          const struct build_id *id,
                                          const struct debug_search *search);

// type_image_find_files is the first half of type_image_open, which is fast. The types
// are available after type_image_load, the second half, which may have to decompress a
// lot.
CH_CHECKED enum ch_status type_image_find_files(struct type_image *image,
                                                const char *path,
                                                const struct build_id *id,
                                                const struct debug_search *search);
CH_CHECKED enum ch_status type_image_load(struct type_image *image);

// type_image_missing returns which debug information the image refers to that was not
// found, so that types and names are not known; NULL: none.
const char *type_image_missing(const struct type_image *image);

// type_image_close frees what image holds.
void type_image_close(struct type_image *image);

enum type_match {
    TYPE_MATCHED,
    TYPE_NO_TYPES,   // the image has neither DWARF nor CTF nor BTF
    TYPE_DAMAGED,    // its CTF or BTF cannot be read
    TYPE_NOT_FOUND,  // no type of that name is complete
    TYPE_OTHER_SIZE, // none of that name has that size
    TYPE_AMBIGUOUS,  // several differ, and nothing tells which is meant
};

// type_match_reason gives the word for it in a report ("no-type").
const char *type_match_reason(enum type_match match);

enum { TYPE_CANDIDATES_MAX = 8 };

// A type_search is a program's description of a type, and what was found.
struct type_search {
    const char *name; // in words: "struct session"
    uint64_t size;
    uint64_t vaddr; // in the code that gave it, whose unit is searched first
    uint32_t found; // if TYPE_MATCHED
    uint32_t candidates[TYPE_CANDIDATES_MAX]; // types of that name
    uint32_t candidate_count;
};

// type_usual_name gives the compilers' name of a built-in type: "long unsigned int" for
// "unsigned long". Other names are returned as they are.
const char *type_usual_name(const char *name);

// type_image_find looks up the type that search describes.
enum type_match type_image_find(struct type_image *image, struct type_search *search);

// The C types of one file for a listing: all of them, from its CTF, or else its BTF, or
// else its DWARF.

struct type_file;

// type_file_open reads the types of the ELF file or bare section of CTF or BTF, which
// must outlive it. base is the file whose BTF is continued, if there is one. From
// DWARF, if name is not NULL, only the types of that name are guaranteed to be read.
// CH_ERR_NOT_FOUND: it has no types from the wanted source.
CH_CHECKED enum ch_status type_file_open(struct type_file **out,
                                         const struct type_bytes *bytes,
                                         const struct type_bytes *base,
                                         enum type_source wanted, const char *name);

// type_file_close frees file, which may be NULL.
void type_file_close(struct type_file *file);

// type_file_table gives the types.
const struct type_table *type_file_table(const struct type_file *file);

// type_file_source returns which source they were read from.
enum type_source type_file_source(const struct type_file *file);

// type_source_name gives "ctf", "btf" or "dwarf".
const char *type_source_name(enum type_source source);
