// SPDX-License-Identifier: Apache-2.0
//
// The request page: the crashed process's message to the agent.
//
// install.c maps it before any crash, between guard pages; crash.c fills it in; the
// agent copies it from the crashed process with one read. Both sides are built from the
// same tree, and version ensures it: an agent that finds another version makes no
// report and releases the process.
//
// The channel is a socket pair. The handler sends one request_message as soon as the
// agent may read the process (PR_SET_PTRACER and dumpable are set). The agent answers
// with one byte, REQUEST_WRITTEN, when the report is in the spool, and with another,
// REQUEST_RELEASE, when the process may die; without the first the handler leaves a
// record. If the agent can write no report, it first sends why: REQUEST_WHY and a
// terminated text of at most REQUEST_WHY_MAX bytes. A closed channel means that the
// other side is gone.
//
// Where the process dies of the crash, the process that becomes the agent has seized
// and interrupted its other threads before (crash_seize.c), as far as the kernel lets
// it.
//
// The agent starts on the processor of the crashed thread, and gives itself the others
// back when it has read the page. It starts in another process group, with an empty
// signal mask, default signal actions, the channel as descriptor 3, /dev/null as 0,
// and as 1 and 2 unless kept_files has them; no other descriptor is open.
#pragma once
#include <stdint.h>

#define REQUEST_MAGIC UINT64_C(0x6b6f6f6868736172) // "rashhook"
enum { REQUEST_VERSION = 16 };

// REQUEST_STALL_MS: an agent that waits this long for one page of the process's memory
// is killed, and the next one is asked to read with care: it leaves out pages that a
// stopped thread (userfaultfd) or a dead file server would have to supply.
enum { REQUEST_STALL_MS = 2000 };

// request_stall_ms is that time where a crash may take timeout_ms.
static inline uint64_t request_stall_ms(uint64_t timeout_ms)
{
    return timeout_ms / 4 < REQUEST_STALL_MS ? timeout_ms / 4 : REQUEST_STALL_MS;
}

// The agent's answers.
enum { REQUEST_WRITTEN = 'W', REQUEST_RELEASE = 'R', REQUEST_WHY = 'Y' };

enum { REQUEST_WHY_MAX = 512 };

// REQUEST_WATCHDOG is the value of the SIGABRT by which the program's own watchdog ends
// it.
#define REQUEST_WATCHDOG UINT64_C(0x676f646863746177) // "watchdog"

// REQUEST_CHANNEL_FD is the agent's descriptor of the channel.
enum { REQUEST_CHANNEL_FD = 3 };

// Registers in the order of the kernel's signal context: gregs of x86-64's ucontext
// (r8..r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags, csgsfs, err, trapno,
// oldmask, cr2), or x0..x30, sp, pc, pstate of aarch64.
enum { REQUEST_REGISTERS = 34 };

enum { REQUEST_PROCESSORS = 1024 };

// REQUEST_READ begins a struct request_read: the agent has no other way to read the
// process's memory. The handler answers with the number of bytes, all or 0, as an
// 8-byte integer, followed by the bytes.
enum { REQUEST_READ = 'M', REQUEST_READ_MAX = 4096 };

struct request_read {
    uint8_t what; // REQUEST_READ
    uint8_t unused[3];
    uint32_t length; // at most REQUEST_READ_MAX
    uint64_t address;
};

struct request_message {
    uint64_t magic;
    uint64_t page_address; // address of the struct request_page in the crashed process
    int32_t pid;
    int32_t tid;       // the crashed thread
    uint32_t filtered; // 1: a seccomp filter is active, which the agent inherits
    uint32_t
        careful; // 1: an agent before this one waited for a page (REQUEST_STALL_MS)
};

// runtime_places is where the runtimes in the process keep what they said last. The
// handler finds it at install; in a core the agent does.
struct runtime_places {
    uint64_t abort_message;    // address of __abort_msg, a pointer; 0: not known
    int64_t exception_globals; // offset from the thread pointer; 0: not known
    uint64_t terminate;        // std::terminate; 0: not known
    uint64_t set_terminate;    // std::set_terminate; 0: not known
    int64_t exception_slot;    // offset of a pointer to libc++abi's; 0: not known
    uint64_t get_terminate;    // std::get_terminate; 0: not known
    uint64_t assert_fail; // __assert_fail, which may store no message; 0: not known
    uint64_t sanitizer_report; // a text, empty until AddressSanitizer reports; 0: none
};

struct request_page {
    uint64_t magic;
    uint32_t version;
    uint32_t size;       // of this struct
    int32_t crashed_tid; // the crashed thread; 0: none yet
    int32_t agent_pid;   // written by clone(CLONE_PARENT_SETTID)
    uint32_t dies;       // 1: the process dies of this; 0: an earlier handler decides
    uint32_t kept_files; // bit N: descriptor N, 1 or 2, stays the program's
    uint32_t live;       // 1: no crash; crashed_tid requests a report of the process
    uint32_t seized;     // 1: the agent's process traces other threads already
    int32_t memory_tag;  // of the memory at a tag fault of AArch64; negative: none
    uint32_t unused;
    uint64_t crash_monotonic_ns;
    uint64_t crash_realtime_ns;
    uint64_t deadline_monotonic_ns;
    uint64_t registers[REQUEST_REGISTERS];
    uint8_t siginfo[128];     // as given by the kernel
    uint64_t context_address; // address of the ucontext_t in the crashed process
    uint64_t alternate_stack; // 0: the handler runs on the thread's own stack
    uint64_t alternate_stack_bytes;
    uint64_t thread_pointer; // the crashed thread's; 0: not known
    uint64_t gs_base;        // x86-64; 0: not set
    uint64_t shadow_stack;   // pointer of the handler's; 0: none, or not known
    struct runtime_places places;
    uint64_t context_page; // address of struct context_page; 0: none
    uint64_t watches;      // address of the table of watch_page.h
    // What the program's handler did about the crash: the siginfo of the signal that it
    // raised (si_signo 0: none), or the status that it exits with (-1: it does not).
    uint8_t then[128];
    int64_t exit_status;
    uint64_t flight_state; // libcrashhook-flight's (shared/flight_state.h); 0: none
    // If the process dies: the processors that the crashed thread might run on, as
    // sched_getaffinity gives them, before it kept itself and the agent to one; none:
    // it did not.
    uint64_t processors[REQUEST_PROCESSORS / 64];
};
