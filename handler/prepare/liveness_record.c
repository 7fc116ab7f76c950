// SPDX-License-Identifier: Apache-2.0
#include "handler/prepare/liveness_record.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handler/crash/crash.h"
#include "handler/crash/crash_filter.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/context.h"

// __libc_single_threaded is glibc's, since 2.32.
extern char __libc_single_threaded __attribute__((weak));

static int32_t counted; // the process whose start was; 0: none

void starts_begin(void)
{
    struct context_page *context = context_current;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (counted != 0 || context == NULL || random == NULL)
        return;
    counted = sys_getpid();
    memcpy(&context->session, random, sizeof(context->session));
}

// is_still returns true if this is that process. Children of fork have no record; where
// a filter refuses the question, there are no others. The call is libc's, which a
// program that dispatches its own system calls allows.
static bool is_still(pid_t process)
{
    return process != 0 &&
           (!crash_may_call(CRASH_CALLS_PID) || process == (pid_t)syscall(SYS_getpid));
}

void starts_end(void)
{
    if (context_current != NULL && is_still(counted))
        context_current->liveness.session_ended = 1;
}

static struct context_page *record_page;
static size_t record_bytes;
static pid_t record_process;
static bool record_is_of_run; // its supervisor is the parent, which sees the end itself

// read_start is the clock tick, since the machine's start, in which the process began:
// the 20th number after the name in /proc/self/stat. It stays across execve.
static uint64_t read_start(void)
{
    enum { NAME_END = 32, BEFORE = 20 }; // a name has 15 bytes at most
    static char line[512];               // clear
    int fd = sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    sys_read(fd, line, sizeof(line) - 1);
    sys_close(fd);
    const char *at = line + NAME_END;
    while (at > line && *at != ')')
        at--;
    for (int i = 0; i < BEFORE; i++)
        while (*at != 0 && *at++ != ' ')
            ;
    return sys_read_number(&at);
}

// leave_to_parent gives a forked child a context page of its own, without a liveness
// record: most children execute another program at once. Where a filter refuses that,
// the child has none.
static void leave_to_parent(void)
{
    crash_state.ended = NULL;
    void *own = MAP_FAILED;
    if (crash_may_call(CRASH_CALLS_MAP))
        own = mmap(NULL, record_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        context_current = NULL;
    if (own == MAP_FAILED)
        return;
    memcpy(own, record_page, sizeof(*record_page));
    machine_call(SYS_mremap, (long)own, (long)record_bytes, (long)record_bytes,
                 MREMAP_MAYMOVE | MREMAP_FIXED, (long)record_page);
}

// open_given opens the memory that `crashhook run` made for this process. Children of
// the program inherit the variable, so the file is checked before it is written to.
static int open_given(const char *path)
{
    struct record_header header = { 0 };
    int with_parent = 0;
    // Only the process that run started gets SIGKILL when its parent ends.
    if (path != NULL)
        sys_prctl(PR_GET_PDEATHSIG, (unsigned long)&with_parent);
    if (with_parent != SIGKILL)
        return -1;
    int fd = sys_open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && sys_seals(fd) >= 0 &&
        sys_read_at(fd, &header, sizeof(header), 0) == sizeof(header) &&
        header.magic == RECORD_MAGIC && header.pid == sys_getpid())
        return fd;
    sys_close(fd);
    return -1;
}

// give_memory allocates what the record needs and fixes the size of the file, unless a
// program that this process has executed before did so. RLIMIT_FSIZE counts for a
// memfd too: a size past it would raise SIGXFSZ.
static bool give_memory(int fd)
{
    const size_t needed = crash_plan->page_size + record_bytes;
    const long seals = sys_seals(fd);
    struct rlimit limit = { 0, 0 };
    sys_limit(RLIMIT_FSIZE, NULL, &limit);
    if (limit.rlim_cur < LIVENESS_LEAST_BYTES)
        return false;
    if ((seals & F_SEAL_GROW) != 0)
        return true;
    if (sys_allocate(fd, needed) != 0)
        return false;
    sys_truncate(fd, limit.rlim_cur < LIVENESS_BYTES ? LIVENESS_LEAST_BYTES
                                                     : LIVENESS_BYTES);
    return sys_seal(fd, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
}

static bool fill_memory(int fd, struct context_page *context)
{
    struct request_page *request = crash_plan->page;
    request->crash_realtime_ns = read_start();
    request->crashed_tid = sys_getpid();
    crash_state.helper.program_ppid = sys_getppid();
    sys_prctl(PR_GET_NAME, (unsigned long)crash_state.helper.thread_name);
    return give_memory(fd) && crash_put_contents(fd, RECORD_ALIVE) &&
           mmap(context, record_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                fd, (off_t)crash_plan->page_size) == context &&
           liveness_record_hear_forks(leave_to_parent);
}

int liveness_record_begin(const char *given, bool alone, bool *out_supervised)
{
    struct context_page *context = context_current;
    *out_supervised = false;
    if (record_page != NULL || context == NULL)
        return -1;
    record_bytes =
        (sizeof(*context) + crash_plan->page_size - 1) & -crash_plan->page_size;
    int fd = open_given(given);
    *out_supervised = fd >= 0;
    if (fd < 0 && alone)
        fd = sys_memory_file(LIVENESS_NAME);
    if (fd < 0)
        return -1;
    if (!fill_memory(fd, context)) {
        sys_close(fd);
        return -1;
    }
    record_page = context;
    record_process = crash_plan->page->crashed_tid;
    record_is_of_run = *out_supervised;
    crash_state.ended = &context->liveness.ended;
    return fd;
}

void liveness_record_note_exec(bool failed)
{
    if (crash_state.ended != NULL && !record_is_of_run && is_still(record_process))
        failed ? crash_continue_liveness(LIVENESS_ENDED)
               : crash_note_liveness(LIVENESS_ENDED);
}

void liveness_record_end(void)
{
    crash_claim_await();
    starts_end();
    if (crash_state.ended != NULL && is_still(record_process))
        crash_note_liveness(LIVENESS_ENDED);
}

// has_threads returns true if the program may have other threads.
static bool has_threads(void)
{
    return &__libc_single_threaded != NULL && __libc_single_threaded == 0;
}

// await_fault waits as long as the kernel takes to call the handler of a fault that
// another thread has just had: destructors release what such threads still use. A wait
// in which a second begins is shorter, and one in a program with a clock of its own
// ends by the number of looks.
static void await_fault(void)
{
    enum { WAIT_NS = 50000, LOOKS = 5000 };
    struct timespec began = { 0 }, now;
    if (!has_threads() || !crash_may_call(CRASH_CALLS_CLOCK))
        return;
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    for (int i = 0; i < LOOKS && !crash_claim_is_near(); i++) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        if ((unsigned long)(now.tv_nsec - began.tv_nsec) > WAIT_NS)
            return;
    }
}

__attribute__((destructor)) static void end_at_exit(void)
{
    await_fault();
    liveness_record_end();
}
