// SPDX-License-Identifier: Apache-2.0
//
// Building the crash_plan: one mapping that holds the request page, the stacks of the
// children that start the agent, the plan with every string it refers to, and the first
// thread's stack and the context page where there are none yet, between guard pages.
//
// Plans are made by install.c alone, at install. Nothing comes from the heap.
#pragma once
#include <stddef.h>

#include "handler/crash/crash.h"
#include "handler/prepare/message_places.h"
#include "shared/context_page.h"
#include "shared/watch_page.h"

#pragma GCC visibility push(hidden)

// A plan_variable is a variable of the agent's environment; name is not terminated.
struct plan_variable {
    const char *name;
    size_t name_length;
    const char *value;
    bool asked_for; // the settings were looked up by this name, so it is known
};

// plan_variable_is returns true if the variable has this name.
bool plan_variable_is(const struct plan_variable *variable, const char *name);

struct plan_wishes {
    const char *agent;    // path; NULL: it is looked for
    const char *folder;   // from here
    size_t folder_length; // 0: it is not known
    const char *spool;    // path; NULL: none
    const struct plan_variable *variables;
    size_t variable_count;
    uint64_t signals;
    uint64_t timeout_ns;
    uint32_t kept_files; // as in struct request_page
    bool reports_first;  // before a handler of the program is called
    struct runtime_places places;
    size_t regions; // bytes after the plan that stay when it is destroyed
};

// plan_map maps bytes, which are whole pages, between guard pages. NULL: out of memory.
void *plan_map(size_t bytes);

// plan_create maps and fills a plan. NULL: out of memory.
struct crash_plan *plan_create(const struct plan_wishes *wishes);

// plan_regions is where the wished bytes after the plan begin.
void *plan_regions(struct crash_plan *plan);

// plan_is_in_force returns true if the handler is in place.
bool plan_is_in_force(void);

// plan_destroy unmaps a plan that no crash uses any more; NULL is allowed.
void plan_destroy(struct crash_plan *plan);

// plan_seal makes the plan read-only; its state stays writable.
void plan_seal(struct crash_plan *plan);

// watch_slots is the table of the program's watched objects (watch.c), at an address
// that the request page has. The calls that fill it are in crashhook.h. It never grows.
extern struct watch_slot watch_slots[WATCH_COUNT];

#pragma GCC visibility pop
