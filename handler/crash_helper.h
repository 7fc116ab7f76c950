// SPDX-License-Identifier: Apache-2.0
//
// The helper: a process that shares the program's memory, starts the agent and waits
// for orders (crash_helper.c, crash_spawn.c). Its state and its orders are futex words
// in the crash_state.
#pragma once
#include <stdbool.h>

#include "handler/crash.h"

enum crash_helper_state { CRASH_HELPER_GONE, CRASH_HELPER_STARTS, CRASH_HELPER_WAITS };

enum crash_helper_order {
    CRASH_HELPER_WAIT,
    CRASH_HELPER_END,
    CRASH_HELPER_OUTLIVE, // end once the program has
    CRASH_HELPER_RECORD,
};

// Nothing of this leaves the library.
#pragma GCC visibility push(hidden)

// crash_helper_need starts a helper that starts no agent, if there is none yet.
void crash_helper_need(void);

// crash_helper_end tells the helper that nothing is left to do, and waits for its end
// if the program continues.
void crash_helper_end(void);

// crash_helper_clone makes the helper and returns its pid, or an error.
long crash_helper_clone(void);

// crash_helper_serve is the part of the helper that waits for an order.
void crash_helper_serve(void);

#pragma GCC visibility pop
