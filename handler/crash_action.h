// SPDX-License-Identifier: Apache-2.0
//
// The handlers that the program has for signals of ours: what it has asked for, how it
// is asked first when such a signal comes, and which fault it is at work on should it
// end the process.
//
// Part of the crash path (see crash.h, which includes it).
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "handler/request_page.h"

#pragma GCC visibility push(hidden)

// What the program wants to be done about a signal that is ours.
struct crash_action {
    uint64_t handler; // SIG_DFL, SIG_IGN or a function
    uint64_t flags;
    uint64_t mask;
};

struct sys_action;
struct fault_note;

// A handler of the program's that is being asked, and what it was asked about.
struct crash_asked {
    int signal;
    siginfo_t *info;
    void *context;
    struct crash_action action;
    struct fault_note *note;
    uint64_t registers[REQUEST_REGISTERS]; // as they were before
};

// The fault that a handler of the program's is at work on.
struct crash_fault {
    int signal;
    siginfo_t *info;
    void *context;
    bool *told; // there is a report of it already
};

// crash_process is the pid, in memory that is empty after a fork: 0 until it is asked
// for. NULL: there is no such memory.
extern int32_t *crash_process;

// crash_restore is where signal handlers return to.
void crash_restore(void);

// crash_begin does all that a signal is to have done, or returns the handler of the
// program's that is to be called first; crash_end then does the rest.
uintptr_t crash_begin(int signal, siginfo_t *info, void *context,
                      struct crash_asked *asked);
void crash_end(struct crash_asked *asked);

// crash_handle_called is for who calls our handler as a function, with three arguments
// or with the number alone.
void crash_handle_called(int signal, siginfo_t *info, void *context);

// crash_action_read copies the program's action for signal.
void crash_action_read(int signal, struct crash_action *out);

// crash_action_exchange sets it, and copies the one that was in force.
void crash_action_exchange(int signal, const struct crash_action *action,
                           struct crash_action *out_old);

// crash_action_calls: it is a function.
bool crash_action_calls(const struct crash_action *action);

// crash_action_is_there: the code of the handler that signal is to have called is
// mapped. It is looked for once, and again after crash_action_look_again.
bool crash_action_is_there(int signal, const struct crash_action *action);
void crash_action_look_again(void);

// crash_action_for_kernel is the action that puts us before theirs.
void crash_action_for_kernel(const struct crash_action *theirs, struct sys_action *out);

// CRASH_POPULATE_READ and _WRITE are advice of Linux 5.14, not in older headers.
enum { CRASH_POPULATE_READ = 22, CRASH_POPULATE_WRITE = 23 };

// crash_fault_open notes that a handler is asked about a fault, crash_fault_close that
// it has returned. NULL: it is no fault, or one within the handler of another.
struct fault_note *crash_fault_open(int signal, const siginfo_t *info,
                                    ucontext_t *context);
void crash_fault_close(struct fault_note *note);

// crash_first_fault is the fault in whose handler the caller is; depth is an address on
// the stack that the handler works on. false: it is in none.
bool crash_first_fault(uintptr_t depth, struct crash_fault *out);

// crash_fault_tell notes that there is a report of it. NULL is allowed.
void crash_fault_tell(struct fault_note *note);

// What our handler goes by when it is called as a function.
struct crash_called {
    siginfo_t *info;
    void *context;
    siginfo_t own_info; // where the caller has passed none
    ucontext_t own_context;
};

// crash_find_caller puts right what the caller has not passed: depth is where the stack
// of callers begins. true: the program's handler is being asked about this already.
bool crash_find_caller(int signal, uintptr_t depth, struct crash_called *called);

// crash_report_exit reports the fault in whose handler the program exits, if it does.
// status: -1 where it is not known.
void crash_report_exit(int status, uintptr_t depth);

// What a signal is, once the program's own action is known.
enum crash_verdict {
    CRASH_NONE,      // no crash: the program goes on
    CRASH_DIES,      // reported, then the default action
    CRASH_GOES_ON,   // reported, then whatever the actions now in force make of it
    CRASH_ASKS,      // its handler is to be called first
    CRASH_ASKS_LATE, // reported, then its handler is called, which ends the process
};

// crash_ask says what a signal is. CRASH_ASKS, CRASH_ASKS_LATE: asked is filled.
enum crash_verdict crash_ask(int signal, siginfo_t *info, void *context,
                             struct crash_asked *asked);

// crash_judge says what it was, once the handler has returned.
enum crash_verdict crash_judge(struct crash_asked *asked);

// crash_call calls the handler as the kernel would have.
void crash_call(struct crash_asked *asked);

// crash_record_first fills the request page with the fault in whose handler the program
// raises what then says (NULL: nothing), or exits with status (-1: it does not).
void crash_record_first(const struct crash_fault *first, int status,
                        const siginfo_t *then);

#pragma GCC visibility pop
