// SPDX-License-Identifier: Apache-2.0
//
// The memory of a report: around what the crashed thread's registers point to with
// CRASHHOOK_MEMORY, and stacks with CRASHHOOK_STACKS. Any of the program's data may be
// there, so by default there is none.
//
// Runs of characters that look like secrets are masked as everywhere; other bytes are
// shown as they are.
#pragma once
#include "agent/live/capture.h"
#include "report/json/json_writer.h"
#include "report/summary/crash_facts.h"

// raw_pointers_write writes the member pointers of the crash: where each register
// points that has an address. It has none of the memory there.
void raw_pointers_write(struct json_writer *w, const struct capture *capture);

// raw_memory_write writes the member memory, if any is kept. crashed is the stack of
// the crashed thread.
void raw_memory_write(struct json_writer *w, const struct capture *capture,
                      const struct crash_stack *crashed);
