// SPDX-License-Identifier: Apache-2.0
//
// DWARF call frame information: .eh_frame, .eh_frame_hdr and .debug_frame.
//
// A section is a sequence of entries: CIEs, which hold what functions have in common,
// and FDEs, each for one range of code. An FDE's instructions, executed after its
// CIE's, give the rules at an address; they come out as a struct unwind_row.
//
// The caller fetches an entry's bytes first; nothing here reads a target, and nothing
// is allocated. Addresses are the target's. Expressions are not evaluated here: rules
// point to their bytes.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"
#include "formats/debug/unwind_row.h"

enum {
    CFI_ENTRY_HEAD = 12, // enough bytes of an entry to know its size
    CFI_HEADER_MAX = 20, // enough bytes of .eh_frame_hdr to know where its table is
};

enum cfi_kind { CFI_EH_FRAME, CFI_DEBUG_FRAME };

// A cfi_section is what the encoded numbers of a section are relative to.
struct cfi_section {
    enum cfi_kind kind;
    bool big_endian;
    bool narrow;      // of a 32-bit program: its addresses have 4 bytes
    uint64_t address; // of its first byte; of .debug_frame, 0
    uint64_t bias;    // added to the vaddrs of .debug_frame
    uint64_t text;    // DW_EH_PE_textrel
    uint64_t data;    // DW_EH_PE_datarel
};

// A cfi_processor is what rules have to know of the processor.
struct cfi_processor {
    uint8_t register_count; // at most UNWIND_REGISTERS_MAX; rules of others are dropped
    uint8_t fp;
    bool signs_returns; // the operation is aarch64's, not SPARC's of the same number
};

struct cfi_entry {
    bool is_cie;
    uint64_t address; // of its first byte
    uint64_t cie;     // address of an FDE's CIE
    struct cursor body;
    uint64_t body_address; // of the body's first byte
};

struct cfi_cie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t return_register;
    uint8_t pointer_encoding;
    uint8_t segment_size;
    bool has_sizes; // FDEs give the size of their augmentation data
    bool signal;    // a signal frame: the kernel made the call
    bool key_b;     // signs return addresses with key B
    struct cursor instructions;
    uint64_t instructions_address;
};

struct cfi_fde {
    uint64_t start;
    uint64_t end;
    struct cursor instructions;
    uint64_t instructions_address;
};

// A cfi_header is .eh_frame_hdr: a table of FDEs, sorted by the start of their code.
struct cfi_header {
    uint64_t address;
    uint64_t eh_frame;
    uint64_t table; // address of its first entry
    uint64_t count; // 0: it has no table
    uint8_t encoding;
    uint8_t entry_size;
};

struct cfi_header_entry {
    uint64_t start; // of the code
    uint64_t fde;
};

// cfi_entry_size is the size of the entry that starts with the CFI_ENTRY_HEAD bytes (or
// fewer, at a section's end) of head. CH_END: the section ends here.
CH_CHECKED enum ch_status cfi_entry_size(struct cursor head, uint64_t *out);

// cfi_next_entry reads the entry at address, where section_bytes is, and passes over
// it. CH_END: there are no more.
CH_CHECKED enum ch_status cfi_next_entry(const struct cfi_section *section,
                                         struct cursor *section_bytes, uint64_t address,
                                         struct cfi_entry *out);

// cfi_read_cie reads a CIE; it points into the entry's bytes.
CH_CHECKED enum ch_status cfi_read_cie(const struct cfi_section *section,
                                       const struct cfi_entry *entry,
                                       struct cfi_cie *out);

// cfi_read_fde reads an FDE; it points into the entry's bytes.
CH_CHECKED enum ch_status cfi_read_fde(const struct cfi_section *section,
                                       const struct cfi_entry *entry,
                                       const struct cfi_cie *cie, struct cfi_fde *out);

// cfi_find_row gives the rules at pc, which fde covers.
CH_CHECKED enum ch_status cfi_find_row(const struct cfi_section *section,
                                       const struct cfi_processor *processor,
                                       const struct cfi_cie *cie,
                                       const struct cfi_fde *fde, uint64_t pc,
                                       struct unwind_row *out);

// cfi_read_header reads the first CFI_HEADER_MAX bytes (or fewer) of the header at
// address, whose full size is size.
CH_CHECKED enum ch_status cfi_read_header(struct cursor head, uint64_t address,
                                          uint64_t size, struct cfi_header *out);

// cfi_read_header_entry reads one entry of the table, at address.
CH_CHECKED enum ch_status cfi_read_header_entry(const struct cfi_header *header,
                                                struct cursor entry, uint64_t address,
                                                struct cfi_header_entry *out);

// cfi_bases are the addresses that encoded pointers may be relative to.
struct cfi_bases {
    uint64_t text;
    uint64_t data;
    uint64_t function;
};

// cfi_read_pointer reads a pointer of the given encoding. begin_address is the address
// of the cursor's first byte. CH_ERR_UNSUPPORTED: the encoding is indirect, that is,
// the value is in the target's memory.
CH_CHECKED enum ch_status cfi_read_pointer(struct cursor *c, uint64_t begin_address,
                                           uint8_t encoding,
                                           const struct cfi_bases *bases,
                                           uint64_t *out);
