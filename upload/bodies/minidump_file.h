// SPDX-License-Identifier: Apache-2.0
//
// A report as a minidump: threads with their registers, the memory that the report has
// (stacks with CRASHHOOK_STACKS), images with their build IDs, the signal, and the
// report's facts as Crashpad's annotations. Users: the minidump target,
// export; debug_core, which reads the same of a report.
#pragma once
#include <jansson.h>

#include "base/status.h"
#include "base/text.h"
#include "formats/debug/core_notes.h"

// minidump_facts gives the annotations, an object of strings: the program, its version
// and so on under the names that servers of minidumps show, and the report's tags.
// NULL: out of memory.
json_t *minidump_facts(const json_t *report);

// minidump_file_write appends the minidump of a report to out, which is empty.
// CH_ERR_UNSUPPORTED: it has no registers of x86-64 or aarch64.
CH_CHECKED enum ch_status minidump_file_write(const json_t *report, struct text *out);

// minidump_read_thread reads the registers of a thread of a report, and returns their
// machine (enum elf_machine); 0: they are not known.
uint16_t minidump_read_thread(const json_t *thread, struct core_thread *out);

// A minidump_memory is memory of a report's process, at offset of a text or a file.
struct minidump_memory {
    uint64_t start;
    uint64_t size;
    uint64_t offset;
};

// minidump_read_memory appends the bytes of a report's memory to bytes, and gives the
// ranges, at most as many as there is room for, by address and without overlaps: of
// those debuggers read one alone.
size_t minidump_read_memory(const json_t *report, struct text *bytes,
                            struct minidump_memory *out, size_t most);
