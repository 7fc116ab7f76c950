// SPDX-License-Identifier: Apache-2.0
//
// An allocation or a free as it is recorded: when, by which thread, with which stack of
// at most HEAP_FRAMES frames.
#pragma once
#include "shared/heap_pool.h"

// event_start finds where thread ids are. It is called once, before event_note.
void event_start(void);

// event_name_thread records the name that the calling thread gave itself. Reports have
// it where the thread has ended by the time of the crash.
void event_name_thread(const char *name);

// event_note records a call that returns to caller. It makes no system call.
void event_note(struct heap_event *event, enum heap_origin origin, const void *caller);
