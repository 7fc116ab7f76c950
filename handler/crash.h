// SPDX-License-Identifier: Apache-2.0
//
// What install.c prepares and the crash path uses: the plan, its writable state, and
// the three pieces of the path (ask the previous handler, start the agent, die).
//
// The plan is read-only memory from the moment it is installed; the request page and
// the state behind it are the only memory that a crash writes. Both lie between guard
// pages.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "crashhook/crashhook.h"
#include "handler/crash_action.h"
#include "handler/record_file.h"
#include "handler/request_page.h"

// Reached without a table that the loader fills in.
#pragma GCC visibility push(hidden)

enum {
    CRASH_SIGNALS = 32,
    // After CRASHHOOK_TIMEOUT: when a record is no longer waited for, and when the
    // kernel ends the process.
    CRASH_RECORD_NS = 350000000,
    CRASH_BOUND_NS = 700000000,
    CRASH_SCRATCH = 8192,
    // What a child needs is a few hundred bytes, and the kernel some thousand for a
    // signal.
    CRASH_CHILD_STACK = 16384,
    CRASH_KEPT_VARIABLES = 6,
};

// Where the crash path is while code of the program runs.
enum crash_stage { CRASH_STAGE_NONE, CRASH_STAGE_BEFORE, CRASH_STAGE_AFTER };

// The first of the two processes that a crash starts, which share our memory. Its state
// and its orders are words to wait on.
struct crash_helper {
    uint32_t state; // enum crash_helper_state; the kernel clears it
    uint32_t order; // enum crash_helper_order
    int32_t pid;    // 0: none has been started
    int32_t channel;
    char *const *argv; // of the agent; NULL: it is to start none
    enum record_reason reason;
    int32_t program_ppid; // the program's parent
    char thread_name[16];
    uint32_t wrote; // the record is in the spool
};

enum crash_helper_state { CRASH_HELPER_GONE, CRASH_HELPER_STARTS, CRASH_HELPER_WAITS };
enum crash_helper_order { CRASH_HELPER_WAIT, CRASH_HELPER_END, CRASH_HELPER_RECORD };

// What the crash path notes about itself. Not on the request page: should that be lost,
// the path still knows that it has been entered and for what.
struct crash_state {
    uint64_t claim;   // pid << 32 | tid of the thread whose crash is handled; 0: none
    int32_t signal;   // its signal
    int32_t dumpable; // what PR_GET_DUMPABLE said before we changed it
    uint32_t exec_fails; // written by the agent's process when it cannot be started
    uint32_t record_due; // no report has been written yet
    struct crash_helper helper;
    int32_t daemon_pid;  // of an agent that waits; 0: there is none
    int daemon_socket;   // the way to it
    ino_t daemon_inode;  // of that socket
    int32_t bound;       // the timer that ends the process; negative: none
    uint32_t re_entries; // how often the handler has crashed in this crash
    uint32_t dying;      // the program is to end, whatever signal comes
    uint32_t raised;     // the process ends by what a handler of its own has raised
    enum crash_stage stage;
    crashhook_before_fn *before; // of the program; NULL: none
    crashhook_after_fn *after;
    void *callback_argument;
    void *callback_stack_end; // NULL: there is no stack for them
    bool reads_thread_word;   // see machine_thread_word
    uint64_t runtime_text; // of Go's code, which recovers from faults of its own alone
    uint64_t runtime_text_end;
    char why[REQUEST_WHY_MAX]; // the agent's words, why there is no report; empty: none
};

struct crash_plan {
    struct request_page *page;
    const char *agent; // path
    char *const *argv;
    char *const *daemon_argv; // of an agent that is to wait
    char *const *envp;
    const char *spool;                      // where a record goes; NULL: nowhere
    const char *kept[CRASH_KEPT_VARIABLES]; // of envp, what a record repeats
    char *scratch;                          // CRASH_SCRATCH bytes to work in
    void *first_stack_end; // stacks of the two children on the way to the agent
    void *second_stack_end;
    uint64_t words_at; // where the arguments and environment begin, above the stack
    size_t page_size;
    size_t bytes;  // of the plan and its strings, in whole pages
    void *mapping; // what all of it lies in
    size_t mapping_bytes;
    uint64_t signals; // bit N: signal N is a crash
    uint64_t timeout_ns;
    bool reports_first; // before a handler of the program's is asked
    dev_t error_device; // of standard error at the start
    ino_t error_inode;
};

extern struct crash_state crash_state;

// crash_plan is what the next crash goes by; set before the first handler is installed.
extern struct crash_plan *crash_plan;

// crash_handle is the signal handler.
void crash_handle(int signal, siginfo_t *info, void *context);

// crash_refused: the signal is a filter's answer to a system call of ours, which then
// fails with ENOSYS.
bool crash_refused(int signal, const siginfo_t *info, void *context);

// crash_re_enter deals with a signal that comes to a thread in the handler: it returns
// from one that is none of the handler's business.
void crash_re_enter(const siginfo_t *info);

// crash_give_up ends the process: the handler itself has crashed.
__attribute__((noreturn)) void crash_give_up(void);

// crash_return_refused ends the process: a filter has refused the return from a signal,
// and there is nowhere else to go.
__attribute__((noreturn)) void crash_return_refused(void);

// crash_bound_set has the kernel kill the process when a crash takes too long;
// negative: it cannot. crash_bound_renew starts that time again, crash_bound_lift ends
// it for a program that goes on.
int crash_bound_set(void);
void crash_bound_renew(int timer);
void crash_bound_lift(int timer);

// crash_bound_leave_to has signal end the process instead, whose default action is in
// force: it does not cut a core dump short.
void crash_bound_leave_to(int timer, int signal);

enum crash_claim { CRASH_CLAIM_WON, CRASH_CLAIM_RE_ENTERED, CRASH_CLAIM_TAKEN };

// crash_claim_of_caller is what the calling thread's claim looks like.
uint64_t crash_claim_of_caller(void);

// crash_claim_take makes the crash that of self, waiting while another thread has it.
// CRASH_CLAIM_TAKEN: that was not given back in time.
enum crash_claim crash_claim_take(uint64_t self);
void crash_claim_give_back(void);

// The handler's ends of a running agent; pidfd is negative when there is none.
struct crash_agent {
    int channel;
    int pidfd;
    bool stays; // it is there for other crashes too
};

// crash_start_agent has a helper start the agent. false: there is none.
bool crash_start_agent(struct crash_agent *out, char *const *argv);

// crash_ask_daemon has the agent that was started at install take this crash. false:
// there is none.
bool crash_ask_daemon(struct crash_agent *out);

// crash_helper_end tells the helper that nothing is left to do, and where the program
// goes on waits for its end.
void crash_helper_end(void);

// crash_helper_run is what the helper does, crash_helper_serve the part of it that
// waits for an order.
int crash_helper_run(void *argument);
void crash_helper_serve(void);

// crash_close_from closes the descriptors from first on.
void crash_close_from(unsigned first);

// crash_make_channel makes a pair of sockets, in a full descriptor table too. 0: done.
long crash_make_channel(int *out_ends);

// crash_serve_memory answers a request_read whose first byte was read from channel.
// false: it is none, or nobody takes the answer.
bool crash_serve_memory(int channel);

// crash_record fills the request page.
void crash_record(int signal, const siginfo_t *info, void *context, bool dies);

// crash_dying_siginfo is that of the signal by which the process ends.
const void *crash_dying_siginfo(void);

// crash_report has the agent report what the request page says, or leaves a record.
// false: neither could be.
bool crash_report(void);

// crash_call_before and crash_call_after call the program's functions, if there are
// any.
enum crashhook_answer crash_call_before(siginfo_t *info, void *context);
void crash_call_after(siginfo_t *info, void *context, bool reported);

// crash_callback_ends: this signal is the end of a function of the program's.
bool crash_callback_ends(const siginfo_t *info);

enum crash_live { CRASH_LIVE_DONE, CRASH_LIVE_BUSY, CRASH_LIVE_FAILED };

// crash_report_live reports the running process.
enum crash_live crash_report_live(void);

// crash_may_start: starting a process is not known to end this one.
bool crash_may_start(void);

// crash_leave_record has the helper write a record, where there can be one, and waits
// no longer than a crash may take: a disk may hang. false: there is no record.
bool crash_leave_record(enum record_reason reason);

// crash_write_record writes a record into the spool. false: it cannot.
bool crash_write_record(enum record_reason reason);

// crash_say_unreported says on standard error and in the system's log that this crash
// has no report and no record.
void crash_say_unreported(enum record_reason reason);

// crash_put_contents fills the file of a record. false: not even its header fits.
bool crash_put_contents(int fd, enum record_reason reason);

// crash_put_dumpable_back undoes what was done to let the agent read the process.
void crash_put_dumpable_back(void);

// crash_die_on_return leaves things so that returning to the program, as context says,
// ends it.
void crash_die_on_return(int signal, const void *siginfo, void *context);

// crash_die_now ends the process by the signal it was handling: the handler itself has
// crashed and cannot return anywhere.
__attribute__((noreturn)) void crash_die_now(void);

#pragma GCC visibility pop
