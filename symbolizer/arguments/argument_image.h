// SPDX-License-Identifier: Apache-2.0
//
// What arguments are found by in one image: its call frame information, its types, and
// from its debug information the functions by address.
#pragma once
#include <stdint.h>

#include "symbolizer/arguments/argument_scan.h"
#include "symbolizer/names/report_images.h"
#include "symbolizer/names/symbol_table.h"
#include "symbolizer/names/symbolizer_options.h"
#include "symbolizer/names/unit_index.h"
#include "symbolizer/types/type_image.h"
#include "unwind/unwind.h"

// An argument_unit is one whose functions were read, because the file's table of
// addresses has it.
struct argument_unit {
    void *die; // which unit: where its entry is
    struct unit_scopes scopes;
};

// An argument_passed is what a call passes in a register, by the debug information of
// the code that calls. Threads that wait in one place have the same calls.
struct argument_passed {
    const void *callee; // the entry of the function called; NULL: the place is free
    uint64_t returns;   // vaddr that the call returns to
    unsigned reg;
    bool said; // false: it does not say
    Dwarf_Attribute value;
    Dwarf_Op *ops;
    size_t count;
};

// ARGUMENT_SCANNED_BESIDE_DWARF_MAX is how many bytes of an image's code are looked at
// if it has debug information.
enum { ARGUMENT_SCANNED_BESIDE_DWARF_MAX = 16 << 10 };

struct argument_image {
    bool opened;
    bool loaded;   // the debug information too
    uint64_t bias; // address - vaddr
    struct type_image types;
    uint64_t text[2]; // first and one past the last address of code
    struct argument_unit *listed;
    size_t listed_count;
    size_t listed_capacity;
    bool indexed; // units is there: addresses were asked for that the table has not
    bool unindexable;
    struct unit_index units;
    bool symbols_read; // of images without debug information
    struct symbol_table symbols;
    struct argument_passed *passed; // a place for each remainder
    struct argument_scan **scans;   // of functions that were asked for
    size_t scan_count;
    size_t scan_capacity;
    uint64_t scanned; // bytes of code
};

// argument_image_passed is where what is known of a register at a call is kept, of it
// or of another; NULL: there is no memory.
struct argument_passed *argument_image_passed(struct argument_image *image,
                                              const void *callee, uint64_t returns,
                                              unsigned reg);

// argument_image_open opens the files of an image of a report; what is not there is
// left out. Debug information is not read before it is asked for: that of a C library
// costs more than all the rest of a report, and most stacks do not need it.
void argument_image_open(struct argument_image *image, const struct report_image *from,
                         const struct symbolizer_options *options);

// argument_image_rules tells the unwinder where the image's rules are, and how far it
// reaches.
void argument_image_rules(const struct argument_image *image,
                          struct unwind_image *unwind);

// argument_image_debug_frame gives the unwinder the call frame information of the debug
// file, for code of which the image itself has none. The bytes are the image's.
void argument_image_debug_frame(struct argument_image *image,
                                struct unwind_image *unwind);

// argument_image_bytes gives what the image's file has at vaddr, and how much of it: of
// its code alone, or of all that the program cannot write. NULL: nothing.
const uint8_t *argument_image_bytes(const struct argument_image *image, uint64_t vaddr,
                                    bool code, size_t *out_size);

// argument_image_close frees what image holds; a zeroed one is closed.
void argument_image_close(struct argument_image *image);

// argument_image_function finds the entry of the function that vaddr is in, inlined
// calls left out. CH_ERR_NOT_FOUND: debug information has none.
CH_CHECKED enum ch_status argument_image_function(struct argument_image *image,
                                                  uint64_t vaddr, Dwarf_Die *out);

// An argument_symbol is a function by the ELF symbols.
struct argument_symbol {
    const char *name;
    uint64_t vaddr;
    uint64_t size;
};

// argument_image_symbol finds the function that vaddr is in, by the symbols the image
// itself has. False: it has none there.
bool argument_image_symbol(struct argument_image *image, uint64_t vaddr,
                           struct argument_symbol *out);

// argument_image_is_unique is whether one function alone has that name.
bool argument_image_is_unique(const struct argument_image *image, const char *name);

// argument_image_scan gives what the code of the function at vaddr proves; NULL: there
// is no memory for it, or too much was looked at before. It is the image's.
const struct argument_scan *argument_image_scan(struct argument_image *image,
                                                uint64_t vaddr, uint64_t size);
