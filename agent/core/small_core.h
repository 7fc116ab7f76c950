// SPDX-License-Identifier: Apache-2.0
//
// A small core: the core that the kernel would write of a process that it holds, cut
// down to the pages that a debugger needs for backtraces and variables.
//
// Headers and notes are the kernel's, so all threads have all of their registers. Of
// the memory it has, in this order and up to a limit: the first pages of mapped files,
// which have their build IDs; the dynamic linker's list of libraries; the stacks, that
// of the crashed thread first; the thread pointers' pages; what registers and stacks
// point to; the data of images; and what all of that points to, the nearest first. A
// page that was left out is in no segment, so that debuggers call it unreadable and do
// not show zeros.
//
// The pages are copied while the process is held (small_core_copy), and the file is
// written after that (small_core_write). User: cli/session/core_store.c.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "agent/core/core_capture.h"
#include "base/status.h"

// A small_page is a page that was copied.
struct small_page {
    uint64_t address;
    size_t number; // where it is in the bytes
};

struct small_core {
    const struct core_file *from; // headers and notes
    uint64_t page_bytes;
    struct small_page *pages;
    uint8_t *bytes;
    size_t count;
    size_t limit;
    uint64_t *seen;   // a hash table of the pages that were tried, each plus 1
    size_t seen_size; // a power of two
};

// small_core_copy copies pages of at most limit_bytes of the dumped process that from
// captured; from must outlive out. CH_ERR_UNSUPPORTED: it has more mappings than a core
// can list. small_core_deinit frees them; out may be zeroed.
CH_CHECKED enum ch_status small_core_copy(struct core_capture *from,
                                          uint64_t limit_bytes, struct small_core *out);
void small_core_deinit(struct small_core *core);

// small_core_write writes the core to the empty file fd. CH_ERR_IO: errno is set.
CH_CHECKED enum ch_status small_core_write(struct small_core *core, int fd);
