// SPDX-License-Identifier: Apache-2.0
//
// Our own process as a memory_reader that cannot crash us.
//
// The rest of the calling thread's stack is read directly, which is what makes a
// capture fast. Everything else (another stack that a library switched to, unwind
// tables, an arbitrary frame pointer) is read by process_vm_readv, which returns an
// error where a load would fault, whatever is unmapped meanwhile. Pages of images'
// code, which every walk reads again, are cached.
#pragma once
#include <stdint.h>

#include "base/memory_reader.h"
#include "images/images.h"

enum { LOCAL_PAGES = 64, LOCAL_PAGE_BYTES = 4096 };

struct local_memory {
    uint64_t stack_low; // addresses read directly; both 0: none
    uint64_t stack_high;
    const struct target_images *images; // whose code is cached; NULL: none
    uint64_t page_address[LOCAL_PAGES]; // 0: empty
    uint8_t *pages;                     // NULL: not allocated yet
};

// local_memory_deinit frees what memory holds; a zeroed one is ready for use.
void local_memory_deinit(struct local_memory *memory);

// local_memory_reader reads the process through memory, which must outlive it.
struct memory_reader local_memory_reader(struct local_memory *memory);

// local_memory_use_stack makes the calling thread's stack, from address sp outward, be
// read directly. This is valid until the function whose stack pointer sp was returns.
void local_memory_use_stack(struct local_memory *memory, uint64_t sp);

// local_memory_forget_stack ends direct reads of the stack.
void local_memory_forget_stack(struct local_memory *memory);
