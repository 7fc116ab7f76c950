// SPDX-License-Identifier: Apache-2.0
//
// The program's handlers for our signals: what it requested, how a handler is called
// first when such a signal arrives, and which fault it is handling should it end the
// process.
//
// Part of the crash path (see crash.h, which includes it).
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "handler/crash/crash_stack.h"
#include "shared/request_page.h"

#pragma GCC visibility push(hidden)

// A crash_action is what the program wants done about one of our signals.
struct crash_action {
    uint64_t handler; // SIG_DFL, SIG_IGN or a function
    uint64_t flags;
    uint64_t mask;
};

// CRASH_ACTION_UNSEEN is a flag of our own: the action was not set by a call that we
// interpose, so its handler's calls may not be seen either.
static const uint64_t CRASH_ACTION_UNSEEN = UINT64_C(1) << 32;

struct sys_action;

// A fault_note is that a handler of the program runs for a signal in a thread.
struct fault_note {
    uint64_t thread; // its machine_thread_word; 0: unused
    ucontext_t *context;
    uintptr_t alternate; // the thread's signal stack then
    size_t alternate_bytes;
    uint64_t program_counter;
    uint64_t stack;
    uint64_t held;    // crash_mask.c
    uint64_t witness; // what the kernel has blocked for the handler
    uint64_t added;   // the part of it that the handler has not requested
    int32_t signal;
    bool is_fault; // a handler may end the process because of it
    bool told;     // it has been reported
};

// A crash_asked is a handler of the program that is being called, and the signal.
struct crash_asked {
    int signal;
    siginfo_t *info;
    void *context;
    struct crash_asked *home;     // the copy on the handler's stack, or this one
    struct crash_own_stack *left; // the stack of ours that the frame was on, or NULL
    struct crash_action action;
    struct fault_note *note;
    bool last;     // it ends the process, and never recovers
    bool told;     // the fault has been reported, once the handler has returned
    bool relayed;  // the signal is not ours to judge
    bool raised;   // by the program's own raise(SIGABRT), which is no abort
    uint32_t held; // before, by the handler of another signal
    uint64_t registers[REQUEST_REGISTERS]; // before the handler ran
};

// A crash_fault is the fault that a handler of the program is handling.
struct crash_fault {
    int signal;
    siginfo_t *info;
    void *context;
    bool *told; // it has been reported
};

// A crash_verdict is what a signal is, once the program's own action is known.
enum crash_verdict {
    CRASH_NONE,        // not a crash: the program continues
    CRASH_COMES_AGAIN, // not yet: another handler is called when the fault recurs
    CRASH_DIES,        // report, then the default action
    CRASH_GOES_ON,     // report, then whatever the actions in force do
    CRASH_ASKS,        // its handler is to be called first
    CRASH_ASKS_LATE,   // report, then call its handler, which ends the process
};

// crash_process points to the pid, in memory that is zeroed in a fork: 0 until it is
// needed. NULL: there is no such memory.
extern int32_t *crash_process;

// crash_holds is the mask of signals that can be held, see crash_mask.c.
extern uint64_t crash_holds;

// crash_restore is the code that signal handlers return to.
void crash_restore(void);

// crash_begin handles a signal completely, or returns the program's handler that is to
// be called first; crash_end then does the rest.
uintptr_t crash_begin(int signal, siginfo_t *info, void *context,
                      struct crash_asked *asked);
void crash_end(struct crash_asked *asked);

// crash_handle_called is for code that calls our handler as a function, with three
// arguments or with the number alone.
void crash_handle_called(int signal, siginfo_t *info, void *context);

// crash_action_read copies the program's action for signal.
void crash_action_read(int signal, struct crash_action *out);

// crash_action_exchange sets it, and copies the one that was in force.
void crash_action_exchange(int signal, const struct crash_action *action,
                           struct crash_action *out_old);

// crash_action_calls returns true if the action is a function.
bool crash_action_calls(const struct crash_action *action);

// crash_action_is_there returns true if the code of the handler that signal is to call
// is mapped. It is where the program has set the action by a call that we interpose,
// and is looked at again by crash_action_look_again.
bool crash_action_is_there(int signal, const struct crash_action *action);
void crash_action_look_again(void);

// crash_restorer is libc's code that signal handlers return to; 0: not known.
extern uintptr_t crash_restorer;

// crash_action_for_kernel is the kernel's action by which we run in place of theirs.
void crash_action_for_kernel(int signal, const struct crash_action *theirs,
                             struct sys_action *out);

// CRASH_POPULATE_READ and _WRITE are madvise's since Linux 5.14; older headers lack
// them.
enum { CRASH_POPULATE_READ = 22, CRASH_POPULATE_WRITE = 23 };

// crash_fault_open records that a handler is called for a signal, crash_fault_close
// that it has returned; true: the fault has been reported. NULL: there is no room, or
// it is called within the handler of a fault.
struct fault_note *crash_fault_open(struct crash_asked *asked);
bool crash_fault_close(struct crash_asked *asked);

// crash_fault_turns is how many turns a sent signal waits for a fault of another thread
// with the same number. They are few if no handler runs for one: it may just have
// ended.
unsigned crash_fault_turns(int signal);

// crash_fault_note is this thread's note, or NULL. crash_fault_stands returns true if
// the code at depth, a stack address, was called by the note's handler.
struct fault_note *crash_fault_note(void);
bool crash_fault_stands(const struct fault_note *note, uintptr_t depth);

// crash_mask_to_hold is the set of signals that are held while the handler of theirs
// runs, crash_mask_of_kernel the mask by which the kernel runs us in its place.
uint64_t crash_mask_to_hold(int signal, const struct crash_action *theirs);
uint64_t crash_mask_of_kernel(int signal, const struct crash_action *theirs);

// crash_mask_begin records in the note what the handler that is called has blocked, and
// returns what was held before.
uint64_t crash_mask_begin(struct fault_note *note, const struct crash_asked *asked);

// crash_mask_judge gives the verdict about a signal that the program has blocked by its
// handler's mask; CRASH_ASKS: it has not.
enum crash_verdict crash_mask_judge(int signal, const siginfo_t *info, void *context);

// crash_mask_change adapts a call of sigprocmask by the program: set, which is what it
// passes (NULL: nothing), to what libc is to be passed, and now, the thread's mask, to
// what the program takes for it. depth is an address on the caller's stack.
void crash_mask_change(int how, uint64_t *set, uint64_t *now, uintptr_t depth);

// crash_fault_moved records that the frame of the fault is now at context, on stack.
void crash_fault_moved(struct fault_note *note, ucontext_t *context,
                       const stack_t *stack);

// crash_first_fault is the fault whose handler the caller runs in; depth is an address
// on the stack that the handler uses. False: there is none.
bool crash_first_fault(uintptr_t depth, struct crash_fault *out);

// crash_fault_tell records that the fault has been reported. last: its handler never
// recovers, so that SIGABRT, by which it may end the process, is no other crash.
void crash_fault_tell(struct fault_note *note, bool last);

// crash_fault_expect records that a reported fault comes again at context.
void crash_fault_expect(const void *context);

// crash_fault_is_reported returns true if the signal at context is of a crash that has
// been reported before its handler was called.
bool crash_fault_is_reported(int signal, const void *context);

// A crash_called is the arguments of our handler when it is called as a function.
struct crash_called {
    siginfo_t *info;
    void *context;
    siginfo_t own_info; // used where the caller passed none
    ucontext_t own_context;
};

// crash_find_caller fills in what the caller did not pass; the search starts at depth,
// on the callers' stack. True: the program's handler is already being called about
// this.
bool crash_find_caller(int signal, uintptr_t depth, struct crash_called *called);

// crash_report_exit reports the fault in whose handler the program exits, if there is
// one. status: -1 where it is not known.
void crash_report_exit(int status, uintptr_t depth);

// crash_report_signal reports the fault in whose handler the program sends a signal
// with this code to process, if there is one and the signal ends this process. process:
// 0 is the process itself.
void crash_report_signal(int signal, int code, int32_t process);

// crash_raise_take returns true, once, if this thread has called raise(SIGABRT) itself:
// that is no abort.
bool crash_raise_take(void);

// crash_tell_end reports a fault whose handler is about to exit with status, or to send
// the signal of then (NULL: none).
void crash_tell_end(const struct crash_fault *first, int status, const siginfo_t *then);

// crash_is_in_runtime returns true if the address is in the code of a Go runtime.
bool crash_is_in_runtime(uint64_t address);

// crash_ask gives the verdict about a signal. CRASH_ASKS, CRASH_ASKS_LATE: asked is
// filled in.
enum crash_verdict crash_ask(int signal, siginfo_t *info, void *context,
                             struct crash_asked *asked);

// crash_ask_there also moves the signal's frame to the stack of the handler, where the
// kernel has called us; if it does not fit there, the verdict is that the process dies.
enum crash_verdict crash_ask_there(int signal, siginfo_t *info, void *context,
                                   struct crash_asked *asked);

// crash_judge gives the verdict once the handler has returned.
enum crash_verdict crash_judge(struct crash_asked *asked);

// crash_call calls the handler as the kernel would have.
void crash_call(struct crash_asked *asked);

// crash_record_first fills the request page with the fault in whose handler the program
// raises the signal of then (NULL: none), or exits with status (-1: it does not); we
// end the process if dies.
void crash_record_first(const struct crash_fault *first, int status,
                        const siginfo_t *then, bool dies);

#pragma GCC visibility pop
