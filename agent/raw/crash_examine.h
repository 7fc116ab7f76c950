// SPDX-License-Identifier: Apache-2.0
//
// Examining a crash while the process is held: where the addresses in question are,
// what the libraries reported, which process sent the signal, which limit is near. What
// can be derived from the report alone is left to the free phase.
#pragma once
#include "agent/facts/malloc_chunks.h"
#include "agent/facts/waits.h"
#include "agent/live/capture.h"
#include "agent/messages/abort_message.h"
#include "agent/messages/exception.h"
#include "agent/messages/heap_fault.h"
#include "agent/raw/origins.h"
#include "report/summary/crash_facts.h"

// An x86-64 instruction has at most 15 bytes.
enum { CRASH_INSTRUCTION_BYTES = 16, CRASH_NAME_BYTES = 64 };

struct crash_examination {
    struct crash_facts facts; // points into the members below and into the capture
    char thread_name[CRASH_NAME_BYTES];
    char sender_name[CRASH_NAME_BYTES];
    char message[ABORT_MESSAGE_MAX];              // empty: none was left
    struct exception exception;                   // uncaught; an empty type: none
    uint8_t instruction[CRASH_INSTRUCTION_BYTES]; // at the pc
    size_t instruction_size;                      // 0: not read
    uint64_t stack_top;                           // the word at the stack pointer
    bool has_stack_top;
    const struct waits *waits; // of the process's threads
    struct origins origins;
    struct thrown_stack thrown; // of the exception
    struct heap_fault heap;
    struct malloc_chunks chunks;
    char heap_threads[2][CRASH_NAME_BYTES]; // that allocated and freed its block
};

// crash_examine examines the crash of capture, which must outlive out, as must waits.
// Out is all zero, as large parts of it are never touched.
void crash_examine(struct capture *capture, const struct waits *waits,
                   struct crash_examination *out);
