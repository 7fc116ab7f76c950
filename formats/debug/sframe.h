// SPDX-License-Identifier: Apache-2.0
//
// SFrame, versions 1 to 3: unwind rules as small fixed tables (docs/formats/sframe.md).
//
// A section is a header, an array of functions, which is searched by their starts, and
// their rows. Nothing is copied and nothing is allocated: sframe_section is a view of
// bytes that were fetched before. Opening it checks the layout once; everything else is
// checked where it is read. A row comes out as a struct unwind_row.
//
// Addresses are vaddrs: the caller adds the bias. formats/debug/sframe_file.h finds the
// section of a file.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/debug/unwind_row.h"

enum sframe_arch {
    SFRAME_AARCH64_BIG = 1,
    SFRAME_AARCH64_LITTLE = 2,
    SFRAME_AMD64 = 3,
    SFRAME_S390X = 4,
};

enum sframe_flag {
    SFRAME_SORTED = 1,        // functions are sorted by their starts
    SFRAME_FRAME_POINTER = 2, // all functions keep a frame pointer
    SFRAME_START_PCREL = 4,   // starts are relative to their own fields
};

struct sframe_section {
    struct cursor bytes; // of this section alone: the header gives its size
    uint64_t vaddr;      // of its first byte
    uint8_t version;
    uint8_t flags;     // enum sframe_flag, or-ed
    uint8_t arch;      // enum sframe_arch
    int8_t fixed_fp;   // 0: rows have it
    int8_t fixed_ra;   // 0: rows have it
    uint8_t aux_size;  // of the header's extension
    bool field_starts; // starts are relative to their own fields
    uint32_t function_count;
    uint32_t row_count;
    size_t functions_offset;
    size_t rows_offset;
    size_t rows_size;
};

struct sframe_function {
    uint64_t start; // vaddr
    uint32_t size;
    uint32_t row_count;
    size_t field_offset; // of its start field in the section
    size_t rows_offset;  // of its first row in the section
    uint8_t row_type;    // a row's start has 1 << row_type bytes
    bool mask;           // rows hold for each block of block_size bytes
    uint8_t rep_size;    // as written
    uint8_t block_size;  // of a mask function
    bool signal;         // its caller was interrupted by a signal
    bool flex;           // its rows name registers
    bool key_b;          // return addresses are signed with key B
};

// An sframe_rows iterates over one function's rows.
struct sframe_rows {
    const struct sframe_section *section;
    const struct sframe_function *function;
    struct cursor input;
    uint32_t left;
    uint32_t next_start; // of the row whose words are next in input
    uint8_t next_info;   // of the same row
    bool begun;
};

// sframe_section_init reads the header of the section at vaddr, which is at the start
// of the size bytes given. More bytes may follow it, because PT_GNU_SFRAME is often too
// long. CH_ERR_MALFORMED: not SFrame, or it contradicts itself. CH_ERR_UNSUPPORTED: an
// unknown version, architecture or flag.
CH_CHECKED enum ch_status sframe_section_init(struct sframe_section *section,
                                              const void *bytes, size_t size,
                                              uint64_t vaddr);

// sframe_section_size is the size of the section as its header gives it.
size_t sframe_section_size(const struct sframe_section *section);

// sframe_section_usable returns true if starts can be trusted: version 1 and 2 sections
// with unsorted functions come from linkers that do not know the format.
bool sframe_section_usable(const struct sframe_section *section);

// sframe_read_function reads function index.
CH_CHECKED enum ch_status sframe_read_function(const struct sframe_section *section,
                                               uint32_t index,
                                               struct sframe_function *out);

// sframe_find_function finds the function that covers pc, by binary search if functions
// are sorted. CH_ERR_NOT_FOUND: none does.
CH_CHECKED enum ch_status sframe_find_function(const struct sframe_section *section,
                                               uint64_t pc,
                                               struct sframe_function *out);

// sframe_rows_init begins with the function's first row; section and function must
// outlive rows.
void sframe_rows_init(struct sframe_rows *rows, const struct sframe_section *section,
                      const struct sframe_function *function);

// sframe_next_row reads one row, which holds for the offsets from start to end in its
// function, or in each of its function's blocks. CH_END: there are no more. After any
// other failure out is unspecified.
CH_CHECKED enum ch_status sframe_next_row(struct sframe_rows *rows,
                                          struct unwind_row *out);

// sframe_find_row finds the row for pc in function, which covers pc, in the form that
// sframe_next_row gives. CH_ERR_NOT_FOUND: the first row begins after pc, or there is
// none.
CH_CHECKED enum ch_status sframe_find_row(const struct sframe_section *section,
                                          const struct sframe_function *function,
                                          uint64_t pc, struct unwind_row *out);

// sframe_lookup is what an unwinder calls: it gives the rules at pc, with the range
// they hold for. After a failure out is unspecified.
CH_CHECKED enum ch_status sframe_lookup(const struct sframe_section *section,
                                        uint64_t pc, struct unwind_row *out);

// sframe_base_registers gives the DWARF numbers of the architecture's stack and frame
// pointers.
void sframe_base_registers(enum sframe_arch arch, uint16_t *out_sp, uint16_t *out_fp);
