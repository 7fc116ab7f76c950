// SPDX-License-Identifier: Apache-2.0
//
// What install.c prepares and the crash path uses: the plan, its writable state, and
// the three steps of the path (ask the previous handler, start the agent, die).
//
// The plan is read-only once installed; the request page and the state are the only
// memory that a crash writes. All are between guard pages.
#pragma once
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash_action.h"
#include "handler/crash/crash_owner.h"
#include "shared/record_file.h"
#include "shared/request_page.h"
#include "shared/signals.h"

// Hidden symbols are reached without a table that the loader fills in.
#pragma GCC visibility push(hidden)

enum {
    // Time after CRASHHOOK_TIMEOUT until a record is no longer waited for, and until
    // the kernel ends the process.
    CRASH_RECORD_NS = 350000000,
    CRASH_BOUND_NS = 700000000,
    CRASH_SCRATCH = 8192,
    // A child needs a few hundred bytes, and the kernel some thousand for a signal
    // frame.
    CRASH_CHILD_STACK = 16384,
    CRASH_KEPT_VARIABLES = 7,
};

// A crash_stage says which of the program's callbacks is running.
enum crash_stage { CRASH_STAGE_NONE, CRASH_STAGE_BEFORE, CRASH_STAGE_AFTER };

// A crash_helper is the first of the two processes that a crash starts, which share our
// memory. Its state and its orders are futex words.
struct crash_helper {
    uint32_t state; // enum crash_helper_state; the kernel clears it at the helper's end
    uint32_t order; // enum crash_helper_order
    int32_t pid;    // 0: not started
    int32_t channel;
    char *const *argv; // of the agent; NULL: do not start one
    enum record_reason reason;
    int32_t program_ppid; // the program's parent
    char thread_name[16];
    uint32_t wrote;  // the record is in the spool
    uint32_t pinned; // it runs on the crashed thread's processor alone
};

enum crash_helper_state { CRASH_HELPER_GONE, CRASH_HELPER_STARTS, CRASH_HELPER_WAITS };
enum crash_helper_order { CRASH_HELPER_WAIT, CRASH_HELPER_END, CRASH_HELPER_RECORD };

// A crash_state is what the crash path records about itself. It is not on the request
// page: even if that page is lost, the path still knows that it was entered and for
// which signal.
struct crash_state {
    uint64_t claim;     // pid << 32 | tid of the thread that handles its crash; 0: none
    uint32_t claimants; // threads that have crashed and are about to claim that
    int32_t signal;     // its signal
    int32_t dumpable;   // PR_GET_DUMPABLE's value before we changed it
    uint32_t filtered;  // a seccomp filter is active: it may kill for any call
    uint32_t alone;     // the process has no other thread
    uint32_t exec_fails;       // set by the agent's process when exec fails
    uint32_t record_due;       // no report has been written yet
    uint32_t lost;             // neither a report nor a record could be written
    const char *record_folder; // the last one that was tried for the record
    struct crash_helper helper;
    int32_t daemon_pid;  // of a waiting agent; 0: there is none
    int daemon_socket;   // connected to it
    ino_t daemon_inode;  // of that socket
    int32_t bound;       // timer that ends the process; negative: none
    uint32_t re_entries; // how often the handler itself crashed in this crash
    uint32_t dying;      // the process is to end, whatever signal comes
    uint32_t raised;     // it ends by a signal that its own handler raised
    enum crash_stage stage;
    crashhook_before_fn *before; // the program's; NULL: none
    crashhook_after_fn *after;
    void *callback_argument;
    void *callback_stack_end; // NULL: there is no stack for them
    bool reads_thread_word;   // see machine_thread_word
    uint64_t strict_thread;   // see crash_is_strict
    uint64_t raises_abort;    // a thread's word, in raise(SIGABRT); 0: none
    uint32_t *ended; // enum liveness_ended, in a liveness record; NULL: there is none
    int (*clock)(clockid_t, struct timespec *); // libc's, if there is a context page
    uint64_t runtime_text; // Go's code, whose handler recovers from its own faults only
    uint64_t runtime_text_end;
    uint64_t runtime_asks; // bit N: it asks the handler of signal N that it replaced
    char why[REQUEST_WHY_MAX]; // the agent's reason for writing no report; empty: none
};

struct crash_plan {
    struct request_page *page;
    const char *agents; // paths at which the agent may be; an empty one ends them
    char *const *argv;
    char *const *daemon_argv; // of a waiting agent
    char *const *envp;
    const char *spool;                      // folder for records; NULL: none
    const char *kept[CRASH_KEPT_VARIABLES]; // entries of envp that a record repeats
    char *scratch;                          // CRASH_SCRATCH bytes of working memory
    void *first_stack_end; // stacks of the two children that lead to the agent
    void *second_stack_end;
    uint64_t words_at; // where argument and environment strings begin, above the stack
    size_t page_size;
    size_t bytes;  // of the plan and its strings, in whole pages
    void *mapping; // the mapping that contains everything
    size_t mapping_bytes;
    uint64_t signals; // bit N: signal N is a crash
    uint64_t timeout_ns;
    bool reports_first; // before a handler of the program is called
    dev_t error_device; // of standard error at install
    ino_t error_inode;
};

extern struct crash_state crash_state;

// crash_plan is the plan for the next crash, set before the first handler is there.
extern struct crash_plan *crash_plan;

// crash_handle is the signal handler.
void crash_handle(int signal, siginfo_t *info, void *context);

// crash_refused returns true if the signal is a seccomp filter's answer to one of our
// system calls, which then fails with ENOSYS.
bool crash_refused(int signal, const siginfo_t *info, void *context);

// crash_re_enter handles a signal that arrives while the thread is in the handler; it
// returns if the signal does not concern the handler.
void crash_re_enter(const siginfo_t *info);

// crash_give_up ends the process because the handler itself has crashed.
__attribute__((noreturn)) void crash_give_up(void);

// crash_return_refused ends the process: a filter refused a signal handler's return.
__attribute__((noreturn)) void crash_return_refused(void);

// crash_bound_set has the kernel kill the process when a crash takes too long;
// negative: it cannot. crash_bound_renew restarts that time, crash_bound_lift cancels
// it for a program that continues.
int crash_bound_set(void);
void crash_bound_renew(int timer);
void crash_bound_lift(int timer);

// crash_bound_leave_to lets signal, whose default action is in force, end the process
// instead: unlike SIGKILL it does not cut a core dump short.
void crash_bound_leave_to(int timer, int signal);

// A crash_agent is the handler's connection to an agent.
struct crash_agent {
    int channel;
    int pidfd;      // negative: not open
    int32_t tracer; // the process that may trace us: the agent or its parent
    bool stays;     // it serves other crashes too
};

// crash_start_agent has a helper start the agent: crash_agent_started says whether one
// came, once the channel has ended. False: not even the helper was started.
bool crash_start_agent(struct crash_agent *out, char *const *argv);

// crash_start_daemon starts the agent that waits, natively under Valgrind, and returns
// the channel to it; negative: there is none.
int crash_start_daemon(void);
bool crash_agent_started(void);

// crash_ask_daemon has the agent started at install take this crash. False: none is.
bool crash_ask_daemon(struct crash_agent *out);

// crash_helper_end signals to the helper that nothing is left to do, and waits for its
// end if the program continues.
void crash_helper_end(void);

// crash_helper_clone starts the helper and returns its pid, or an error.
// crash_helper_serve is the part of it that waits for an order.
long crash_helper_clone(void);
void crash_helper_serve(void);

// crash_close_from closes all descriptors from first on.
void crash_close_from(unsigned first);

// crash_make_channel makes a socket pair, even in a full descriptor table. 0: done.
long crash_make_channel(int *out_ends);

// crash_serve_memory answers a request_read whose first byte was read from channel.
// False: it is malformed, or the answer cannot be sent.
bool crash_serve_memory(int channel);

// crash_record fills the request page.
void crash_record(int signal, const siginfo_t *info, void *context, bool dies);

// crash_dying_siginfo is the siginfo of the signal by which the process ends.
const void *crash_dying_siginfo(void);

// crash_report has the agent make a report from the request page, or leaves a record.
// False: neither worked.
bool crash_report(void);

// crash_call_before and crash_call_after call the program's callbacks, if there are
// any.
enum crashhook_answer crash_call_before(siginfo_t *info, void *context);
void crash_call_after(siginfo_t *info, void *context, bool reported);

// crash_callback_ends returns true if this signal ends a callback.
bool crash_callback_ends(const siginfo_t *info);

enum crash_live { CRASH_LIVE_DONE, CRASH_LIVE_BUSY, CRASH_LIVE_FAILED };

// crash_report_live makes a report of the running process.
enum crash_live crash_report_live(void);

// crash_send_descriptor sends a byte, and with it a descriptor, over a socket whose
// queue has room for them. Negative: it cannot.
long crash_send_descriptor(int socket, int fd);

// crash_may_start is false where starting a process might end this one.
bool crash_may_start(void);

// crash_leave_record has the helper write a record, if there is a helper, and waits no
// longer than a crash may take, because a disk may hang. False: there is no record.
bool crash_leave_record(enum record_reason reason);

// crash_write_record writes a record into the spool. False: it cannot.
bool crash_write_record(enum record_reason reason);

// crash_say_unreported prints on standard error and in the system's log that this crash
// has no report, and where its record is (folder NULL: there is none).
void crash_say_unreported(enum record_reason reason, const char *folder);

// crash_put_contents fills the file of a record. False: not even its header fits, or a
// liveness record is not whole.
bool crash_put_contents(int fd, enum record_reason reason);

// crash_put_dumpable_back restores what was changed to let the agent read the process.
void crash_put_dumpable_back(void);

// crash_die_on_return arranges that returning to the program, as context says, ends it.
void crash_die_on_return(int signal, const void *siginfo, void *context);

// crash_die_without_calls ends the process, at once or by the return to the program,
// without a system call that strict seccomp mode does not allow.
void crash_die_without_calls(const siginfo_t *info, void *context);

// crash_die_now ends the process by the signal that it was handling, because the
// handler itself has crashed and cannot return.
__attribute__((noreturn)) void crash_die_now(void);

#pragma GCC visibility pop
