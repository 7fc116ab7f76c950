// SPDX-License-Identifier: Apache-2.0
//
// SIGTERM, by which a program is asked to end, where it has a handler for it: who asked
// and when is noted in its life (life.h), for the case that it does not end and is
// killed. A keeper that does not trace it cannot see that.
//
// The kernel gets a handler of ours that calls the program's, and queries return the
// program's. Like setting actions elsewhere, this neither locks nor allocates.
#pragma once
#include <signal.h>

// end_signal_exchange is sigaction for SIGTERM, in a process that has a life.
int end_signal_exchange(const struct sigaction *action, struct sigaction *old);
