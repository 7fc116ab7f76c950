// SPDX-License-Identifier: Apache-2.0
//
// What a report says of a misused block of the heap, which libcrashhook-heap guarded:
// the facts, and the sentence that is made of them. Ages and thread names are missing
// where the report does not know them.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "shared/crash_kinds.h"
#include "shared/heap_pool.h"

enum { CRASH_HEAP_NO_AGE = -1 };

// A crash_heap_event is the allocation or the free of a block.
struct crash_heap_event {
    uint32_t thread;  // 0: it has not happened
    const char *name; // of the thread; NULL: not known
    const char *by;   // the function: "operator new[]"; NULL: not known
    int64_t age_ms;   // before the crash; CRASH_HEAP_NO_AGE: not known
};

struct crash_heap {
    enum crash_kind kind; // CRASH_KIND_NONE: the crash is not about a known block
    const char *found_by; // the call that found it; NULL: an access did
    uint64_t address;     // accessed, freed, or overwritten
    uint64_t block;
    uint64_t size;
    struct crash_heap_event allocated;
    struct crash_heap_event freed;
};

// crash_heap_allocator and crash_heap_deallocator are the functions of a family.
const char *crash_heap_allocator(enum heap_origin origin);
const char *crash_heap_deallocator(enum heap_origin origin);

// crash_heap_append appends the sentence of a crash whose access, such as "Write of 8
// bytes", is given.
void crash_heap_append(const struct crash_heap *heap, enum crash_kind kind,
                       const char *access, struct text *out);

// crash_heap_append_event appends what is known of an event: "by thread 7 'io', 2.1 s
// before the crash".
void crash_heap_append_event(const struct crash_heap_event *event, struct text *out);
