// SPDX-License-Identifier: Apache-2.0
//
// A capture is a process held still: its threads and registers, its memory, images and
// facts. A crash, a live attach and a core file are all captures; a crash adds what the
// handler, or the core, reported of it. The raw report is written from it
// (raw_report.h) while the process is held. capture_take captures a live process,
// core_capture.h a core.
#pragma once
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "agent/live/facts.h"
#include "agent/live/permitted.h"
#include "agent/live/stop.h"
#include "agent/live/target_memory.h"
#include "base/settings/settings.h"
#include "images/images.h"
#include "report/file/held_file.h"
#include "shared/request_page.h"
#include "unwind/unwind.h"

// The names of a held process's threads, from /proc.
//
// Reading one takes longer than unwinding and writing its thread, and needs nothing but
// the thread's number. So where a process has many threads, and more than one processor
// may be used, a second thread of ours reads names from the end of the list while the
// caller takes them from its beginning. A name that is not known yet when the caller
// needs it is read then.

// The kernel's thread names have at most 15 characters.
enum { THREAD_NAME_SIZE = 16 };

// A thread_name is what the second thread has read; complete is set last.
struct thread_name {
    char text[THREAD_NAME_SIZE];
    atomic_bool complete;
};

struct thread_names {
    const struct stop *stop;
    struct thread_name *names; // of stop's threads; NULL: nothing was read ahead
    size_t next;               // index of the thread that is probably next
    atomic_size_t passed;      // threads that the caller has passed
    pthread_t reader;
    int callers_processor; // negative: not known
    bool reading;          // reader was started and has to be joined
};

// thread_names_begin starts reading ahead, if that is worth it. stop must stay as it is
// until thread_names_end. A zeroed names is valid without thread_names_begin.
void thread_names_begin(struct thread_names *names, const struct stop *stop);

// thread_names_get writes the name of one of stop's threads, empty when unknown.
void thread_names_get(struct thread_names *names, const struct stop *stop, pid_t tid,
                      char out[static THREAD_NAME_SIZE]);

// thread_names_end ends the reading, but does not wait for the second thread: it may be
// without a processor just then, and the process is held. Names that were read stay
// available.
void thread_names_end(struct thread_names *names);

// thread_names_deinit waits for the second thread and frees what names holds.
void thread_names_deinit(struct thread_names *names);

// A target_crash is what the handler reported of the crash.
struct target_crash {
    pid_t tid;
    siginfo_t info;
    uint64_t realtime_ns;
    uint64_t monotonic_ns;
    struct unwind_registers registers;
    uint64_t flags;
    uint64_t fault_error;  // x86-64: the page fault's error code
    uint64_t fault_trap;   // x86-64: the exception's vector number
    bool dies;             // the process dies whatever its handlers do
    bool narrow;           // a 32-bit program: see raw_threads.c
    bool signal_only;      // only the signal number in info is known
    uint64_t context_page; // address of the program's context page; 0: none
    uint64_t flight_state; // address of libcrashhook-flight's rings; 0: none
    struct runtime_places places;
    uint64_t get_globals;    // __cxa_get_globals; 0: not known
    uint64_t thread_pointer; // the thread's; 0: not known
    uint64_t gs_base;        // x86-64; 0: not set
    uint64_t shadow_stack;   // pointer of the thread's; 0: none, or not known
    bool has_memory_tag;     // AArch64: that of the memory at a tag fault
    uint8_t memory_tag;
    unsigned handlers;         // that were called since, and are on the shadow stack
    uint64_t context;          // address of its ucontext_t; 0: not known
    const uint8_t *vectors_of; // a core's, as struct core_thread has them; NULL: none
    bool has_vectors;          // a tracer has read them:
    uint8_t vectors[HELD_VECTORS_BYTES];
    int channel;      // to the waiting handler; 0: none waits
    uint64_t watches; // address of the table of watched objects; 0: none

    // What one of the program's own handlers did about the crash: the signal that it
    // raised (si_signo 0: none), or the status that it was exiting with.
    siginfo_t then;
    bool exits;
    int32_t exit_status;
};

// A capture_problem is a part of the report that is missing, and why: partial is a
// result.
struct capture_problem {
    const char *stage;
    const char *status;
    uint64_t address; // 0: none
};

enum { CAPTURE_PROBLEMS_MAX = 32 };

struct capture_timings {
    uint64_t spawn_us;
    uint64_t attach_us;
    uint64_t capture_us;
    uint64_t unwind_us;
    uint64_t write_us;
};

struct context_page;
struct termination;

struct capture {
    const struct settings *settings;
    const char *home;                 // masked in paths; NULL: nothing is masked
    const struct target_crash *crash; // NULL: a live process
    struct target_crash first;        // what crash points to after an earlier fault was
                                      // found
    const char *tier; // NULL: derived from how the process was stopped and read
    const struct unwind_arch *arch;
    bool narrow; // a 32-bit program, see raw_threads.c
    struct stop stop;
    bool same_root; // our root folder is the process's: its handler has started us
    bool careful;   // pages that nobody may supply are left out
    bool bounded;   // a read that does not end ends us (stall_begin)
    pid_t dumped;   // what has the memory of a process whose threads are known already:
                    // one of them, which the kernel holds while it dumps core, or a
                    // copy (stop_snapshot.h); 0: neither. process and host are known
                    // then
    int memory_fd;  // /proc/PID/mem of a traced or dumped process, or -1
    char refusal[REFUSAL_MAX];   // why not all threads could be stopped; empty: all
                                 // could
    struct target_memory memory; // of a live process
    struct target_stack *stacks; // of a live process's stopped threads
    struct thread_names names;   // of a live process's threads
    struct memory_reader reader; // of memory, or of a core
    const char *core_name;       // name of a core's first thread; NULL: /proc has the
                                 // names
    pid_t core_name_tid;         // the thread with core_name, where that is not the
                                 // first
    const struct context_page
        *context; // what the program recorded of itself; NULL: nothing
    struct target_images images;
    struct process_facts process;
    struct host_facts host;
    struct capture_problem problems[CAPTURE_PROBLEMS_MAX];
    size_t problem_count;
    struct capture_timings timings;
    struct text *held; // a held_file of what the free phase needs; NULL: none is kept
    uint64_t watches;  // address of the table of watched objects; 0: none
    const struct termination
        *termination; // an end that no handler saw (termination.h); NULL: a crash
    bool gone;        // nothing of the process is left to be read
};

// target_crash_guess_trap infers the exception number, which neither a system call nor
// a core has. On x86-64 the kernel reports SI_KERNEL for a non-canonical address.
uint64_t target_crash_guess_trap(const siginfo_t *info);

// target_crash_untag removes the pointer's tag from the address of a fault, which the
// kernel of AArch64 removes for handlers, and not for tracers and cores. True: memory
// has another tag than the pointer (SEGV_MTESERR).
bool target_crash_untag(siginfo_t *info);

// capture_take stops process pid and collects what a report needs, except the stacks.
// The caller sets capture->settings, home and crash and zeroes the rest; it also sets
// stop where a tracer, or the kernel, already holds the threads (stop_traced). On
// failure the stopped threads are resumed; for CH_ERR_IO, errno is set.
CH_CHECKED enum ch_status capture_take(struct capture *capture, pid_t pid);

// capture_look reads the images and facts of a process that goes on meanwhile: there
// are no threads. It fails as capture_take does.
CH_CHECKED enum ch_status capture_look(struct capture *capture, pid_t pid);

// capture_release resumes a live process.
void capture_release(struct capture *capture);
void capture_deinit(struct capture *capture);

// capture_is_process returns true if a process is held, as opposed to a core or a
// record.
static inline bool capture_is_process(const struct capture *capture)
{
    return capture->tier == NULL;
}

// capture_next_place gives the next place, of size bytes, that a note of that kind
// announces in the images from *at on, and advances *at past it. An invalid place
// becomes a problem. False: there are no more.
bool capture_next_place(struct capture *capture, unsigned kind, size_t size, size_t *at,
                        uint64_t *out);

// capture_tier is the report's agent.tier: how the process was stopped and read.
const char *capture_tier(const struct capture *capture);

// capture_problem records that stage ended with status; problems past the limit are
// dropped.
void capture_problem(struct capture *capture, const char *stage, const char *status,
                     uint64_t address);

// capture_clock_us is a clock for timings.
uint64_t capture_clock_us(void);

// A bound on single reads of a process's memory.
//
// A read of a page that another process supplies may never end (target_memory.h), and
// only SIGKILL ends the wait. So one timer kills us after REQUEST_STALL_MS, and the
// handler of a second, more frequent timer sets the first one back: it runs unless we
// are in such a wait. The second signal interrupts other system calls too; musl repeats
// sigtimedwait with its whole timeout then, so threads are stopped before stall_begin.

// stall_end stops them. It may be called without stall_begin.
void stall_end(void);

// stall_start_timer has the kernel send us signal after first_ms, and then every_ms;
// 0: once.
bool stall_start_timer(int signal, uint64_t first_ms, uint64_t every_ms, timer_t *out);

// The mappings of a process, queried from the kernel one by one (PROCMAP_QUERY, since
// Linux 6.11) instead of read as lines of /proc/PID/maps.
//
// The kernel writes the path of a file's mapping only on request. That is most of what
// a line costs it, and the mappings of a library have one path: with many libraries the
// list takes half the time. The page of vsyscall is no mapping here.

// map_query_read lists the mappings of the process of pid, which may be any of its
// threads that has not exited, in out, whose other members become empty. On failure all
// of out is empty: the text has to be read. CH_ERR_UNSUPPORTED: the kernel does not
// know the query, or answers it otherwise than expected.
CH_CHECKED enum ch_status map_query_read(struct target_images *out, pid_t pid);
