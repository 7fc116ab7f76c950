// SPDX-License-Identifier: Apache-2.0
//
// The parts of a core file as the kernel writes them (binfmt_elf, core(5)): header,
// program headers, notes. Users: minidump_core, debug_core.
#pragma once
#include <stdint.h>

#include "base/text.h"
#include "formats/debug/core_notes.h"

// CORE_ELF_BYTES and CORE_SEGMENT_BYTES are the sizes of the header and of a program
// header.
enum { CORE_ELF_BYTES = 64, CORE_SEGMENT_BYTES = 56, CORE_PAGE = 4096 };

// core_put_elf appends the header of a file of that type for machine (enum
// elf_machine).
void core_put_elf(struct text *out, uint16_t type, uint16_t machine, size_t segments);

// A core_range is a program header: size bytes of the process, of which in_file are at
// offset of the core.
struct core_range {
    uint32_t type;  // enum elf_segment_type
    uint32_t flags; // ELF_PF_W and so on
    uint64_t start;
    uint64_t size;
    uint64_t offset;
    uint64_t in_file;
};
void core_put_range(struct text *out, const struct core_range *range);

// core_put_note appends a note of size bytes.
void core_put_note(struct text *notes, uint32_t type, const void *bytes, size_t size);

// core_put_thread appends a thread's registers. Those of segments are what every 64-bit
// program has.
void core_put_thread(struct text *notes, uint16_t machine,
                     const struct core_thread *thread);

// core_put_process appends what is known of the process: its id, the path of its
// program, and the first bytes of its arguments.
void core_put_process(struct text *notes, uint32_t pid, const char *program,
                      struct cursor arguments);

// core_put_signal appends the signal. about is the address of a fault, or the sender's
// process (its user in the upper half).
void core_put_signal(struct text *notes, int64_t signal, int64_t code, uint64_t about);

// A core_table is the table of mapped files in the making.
struct core_table {
    struct text entries;
    struct text names;
    uint64_t count;
};
void core_table_add(struct core_table *table, uint64_t start, uint64_t end,
                    uint64_t offset, const char *path);
void core_table_deinit(struct core_table *table);
void core_put_table(struct text *notes, const struct core_table *table);
