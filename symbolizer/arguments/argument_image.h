// SPDX-License-Identifier: Apache-2.0
//
// What finding arguments needs of one image: its call frame information, its types, and
// the functions of its debug information by address.
#pragma once
#include <stdint.h>

#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/code/argument_scan.h"
#include "symbolizer/names/address_table.h"
#include "symbolizer/names/symbol_table.h"
#include "symbolizer/names/unit_index.h"
#include "symbolizer/search/debug_search.h"
#include "symbolizer/search/report_images.h"
#include "symbolizer/types/type_image.h"
#include "unwind/unwind.h"

// An argument_unit is a unit whose functions were read because the file's address table
// (.debug_aranges) has it.
struct argument_unit {
    void *die;  // the unit's entry
    bool whole; // all of its functions were read, not only the outer ones
    struct unit_scopes scopes;
};

// An argument_passed is what a call passes in a register, by the caller's debug
// information. It is cached, as threads that wait in one place have the same calls.
struct argument_passed {
    const void *callee; // the called function's entry; NULL: unused
    uint64_t returns;   // vaddr of the call's return address
    unsigned reg;
    bool said; // false: the debug information does not say
    Dwarf_Attribute value;
    Dwarf_Op *ops;
    size_t count;
};

// An argument_called is the call that returns to a vaddr, cached likewise.
struct argument_called {
    uint64_t returns;
    bool known;  // false: unused
    bool listed; // the debug information has it:
    Dwarf_Die site;
    bool through_pointer; // it has the expression of the called address:
    struct argument_passed target;
};

// An argument_found is the function at a vaddr, cached likewise.
struct argument_found {
    uint64_t vaddr;
    bool known; // false: unused
    enum ch_status status;
    Dwarf_Die function;
};

// ARGUMENT_SCANNED_BESIDE_DWARF_MAX limits the code that is scanned of an image that
// has debug information, in bytes.
enum { ARGUMENT_SCANNED_BESIDE_DWARF_MAX = 16 << 10 };

struct argument_plan;

struct argument_image {
    bool opened;
    bool loaded; // with the debug information
    bool debug_places_read;
    uint64_t bias; // address - vaddr
    struct type_image types;
    uint64_t text[2]; // first and one past the last vaddr of code
    struct argument_unit *listed;
    size_t listed_count;
    size_t listed_capacity;
    struct address_table table;
    const char *cache_folder; // NULL: none, or it was asked for cache
    struct build_id id;
    struct symbol_cache cache; // of no bytes: there is none
    bool indexed;              // units was read, for what the address table lacks
    bool unindexable;
    struct unit_index units;
    bool places_read;
    struct symbol_places places;       // functions by address
    struct symbol_places debug_places; // the same, of a separate debug file
    bool symbols_read;
    struct symbol_table symbols;                      // functions by name
    struct argument_passed *passed;                   // a hash table by remainder
    struct argument_called *called;                   // the same
    struct argument_found *found;                     // the same
    struct argument_plan **plans;                     // lists by hash (argument_plan.h)
    void (*free_plans)(struct argument_image *image); // set with plans
    struct argument_scan **scans;                     // of functions that were scanned
    size_t scan_count;
    size_t scan_capacity;
    uint64_t scanned; // bytes of code
};

// argument_image_passed gives the cache entry of a register at a call, which may hold
// another call's; NULL: out of memory.
struct argument_passed *argument_image_passed(struct argument_image *image,
                                              const void *callee, uint64_t returns,
                                              unsigned reg);

// argument_image_called gives the cache entry of the call that returns to a vaddr,
// likewise.
struct argument_called *argument_image_called(struct argument_image *image,
                                              uint64_t returns);

// argument_image_open opens the files of an image of a report, as far as they exist.
// Debug information is read only when it is needed: that of a C library takes longer
// than all the rest of a report, and most stacks do not need it.
void argument_image_open(struct argument_image *image, const struct report_image *from,
                         const struct symbolizer_options *options);

// argument_image_rules gives the unwinder the image's extent and the location of its
// rules.
void argument_image_rules(const struct argument_image *image,
                          struct unwind_image *unwind);

// argument_image_debug_frame gives the unwinder the debug file's call frame
// information, for code that the image itself has none of. The image owns the bytes.
void argument_image_debug_frame(struct argument_image *image,
                                struct unwind_image *unwind);

// argument_image_bytes gives the bytes of the image's file at vaddr, and how many there
// are: only of its code, or of everything that the program cannot write. NULL: none.
const uint8_t *argument_image_bytes(const struct argument_image *image, uint64_t vaddr,
                                    bool code, size_t *out_size);

// argument_image_thread_block gives the address of the program's thread locals of the
// thread with that thread pointer: their end is there, as far as their alignment
// allows. 0: image is a library, or not of x86-64, or thread_pointer is 0.
uint64_t argument_image_thread_block(const struct argument_image *image,
                                     uint64_t thread_pointer);

// argument_image_close frees what image holds; a zeroed one is closed.
void argument_image_close(struct argument_image *image);

// argument_image_function finds the entry of the function that contains vaddr, ignoring
// inlined calls. CH_ERR_NOT_FOUND: debug information has none.
CH_CHECKED enum ch_status argument_image_function(struct argument_image *image,
                                                  uint64_t vaddr, Dwarf_Die *out);

// An argument_symbol is a function found by the ELF symbols.
struct argument_symbol {
    const char *name;
    uint64_t vaddr;
    uint64_t size;
};

// argument_image_symbol finds the function that contains vaddr by the symbols of the
// image file itself, or, where it has none there, of its separate debug file.
bool argument_image_symbol(struct argument_image *image, uint64_t vaddr,
                           struct argument_symbol *out);

// argument_image_named finds the only function with that name by the image's symbols.
// False: none has it, or several.
bool argument_image_named(struct argument_image *image, const char *name,
                          uint64_t *out_vaddr);

// argument_image_is_unique returns true if exactly one function has that name.
bool argument_image_is_unique(struct argument_image *image, const char *name);

// argument_image_named_part finds the first function whose name is length bytes of
// name. False: there is none.
bool argument_image_named_part(struct argument_image *image, const char *name,
                               size_t length, struct argument_symbol *out);

// argument_image_machine gives the processor of the image's file.
const struct argument_machine *
argument_image_machine(const struct argument_image *image);

// argument_image_scan gives what the code of the function at vaddr proves; NULL: out of
// memory, or the limit on scanned code is reached. The image owns the result.
const struct argument_scan *argument_image_scan(struct argument_image *image,
                                                uint64_t vaddr, uint64_t size);

// argument_image_scan_any is argument_image_scan without that limit, for the few
// functions that led to the crash.
const struct argument_scan *argument_image_scan_any(struct argument_image *image,
                                                    uint64_t vaddr, uint64_t size);
