// SPDX-License-Identifier: Apache-2.0
//
// prctl and syscall, interposed before libc's by the shared library, for what a program
// does to its own system calls. Other calls are passed on by a jump.
//
// A thread that enters strict seccomp mode cannot be queried later for whether it is in
// that mode, because the kernel ends it for the call. A filter may end the process for
// a call that a healthy program makes because of us; so the filter is run here on each
// of these (crash_filter.h). It may also end a program that this one executes, as soon
// as the handler is installed there: then our library is not preloaded into it.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/crash/crash_filter.h"
#include "handler/interpose/actions.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/prepare/next_call.h"

// LD_PRELOAD for the programs that this one executes: our libraries are cut out of it,
// in place, where they would do harm.
//
// chroot and setns, interposed before libc's by the shared library: the loader of a
// program that is then executed prints an error for each library of LD_PRELOAD that it
// does not find.

typedef int chroot_fn(const char *);
typedef int setns_fn(int, int);

static const char preload[] = "LD_PRELOAD=";

// is_own_library returns true if the word is a library in the folder of ours.
static bool is_own_library(const char *word, size_t length, const char *library)
{
    static const char name[] = "libcrashhook";
    size_t folder = (size_t)(strrchr(library, '/') + 1 - library);
    return length > folder + sizeof(name) - 1 && memcmp(word, library, folder) == 0 &&
           memcmp(word + folder, name, sizeof(name) - 1) == 0;
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (at[length] != 0 && at[length] != ' ' && at[length] != ':')
        length++;
    return length;
}

// cut_ours takes ours out of the words, in place. It writes nothing before the first of
// ours: the program may have set a constant text. True: nothing is left.
static bool cut_ours(char *words, const char *library)
{
    char *to = NULL;
    for (char *at = words; *at != 0;) {
        size_t length = word_length(at);
        size_t whole = length + (at[length] != 0);
        if (is_own_library(at, length, library)) {
            to = to != NULL ? to : at;
        } else if (to != NULL) {
            memmove(to, at, whole);
            to += whole;
        }
        at += whole;
    }
    if (to != NULL)
        *to = 0;
    return to == words;
}

// preload_leave_out cuts them out.
static void preload_leave_out(void)
{
    const char *library = next_call_library();
    char **entry = environ;
    if (library == NULL || library[0] != '/')
        return;
    while (entry != NULL && *entry != NULL &&
           strncmp(*entry, preload, sizeof(preload) - 1) != 0)
        entry++;
    if (entry != NULL && *entry != NULL &&
        cut_ours(*entry + sizeof(preload) - 1, library)) {
        for (; *entry != NULL; entry++)
            entry[0] = entry[1];
    }
}

// preload_after_root does so where they are not to be found any more after a call that
// gives the process another root, and returns the call's result.
static long preload_after_root(long result)
{
    const char *library = next_call_library();
    if (result == 0 && library != NULL && crash_may_call(CRASH_CALLS_START) &&
        !actions_are_shared() && !sys_exists(library))
        preload_leave_out();
    return result;
}

CRASHHOOK_API int chroot(const char *path)
{
    return (int)preload_after_root(((chroot_fn *)next_symbol("chroot"))(path));
}

CRASHHOOK_API int setns(int fd, int kind)
{
    return (int)preload_after_root(((setns_fn *)next_symbol("setns"))(fd, kind));
}

#if defined(__x86_64__)
enum { OWN_ARCHITECTURE = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { OWN_ARCHITECTURE = AUDIT_ARCH_AARCH64 };
#endif

typedef int prctl_fn(int, unsigned long, unsigned long, unsigned long, unsigned long);
typedef long syscall_fn(long, long, long, long, long, long, long);

static const struct sock_filter *jump(const struct sock_filter *step, bool taken)
{
    return step + (taken ? step->jt : step->jf);
}

// filter_answer runs a filter, which the kernel has accepted: what it reads and where
// it jumps to is there, and it ends. It knows the instructions that libseccomp,
// systemd and Chromium make; others count as a refusal.
static uint32_t filter_answer(const struct sock_filter *step,
                              const struct seccomp_data *data)
{
    uint32_t value = 0;
    for (;; step++) {
        switch (step->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            value = *(const uint32_t *)(const void *)((const char *)data + step->k);
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            value &= step->k;
            break;
        case BPF_JMP | BPF_JA:
            step += step->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            step = jump(step, value == step->k);
            break;
        case BPF_JMP | BPF_JGT | BPF_K:
            step = jump(step, value > step->k);
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            step = jump(step, value >= step->k);
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            step = jump(step, (value & step->k) != 0);
            break;
        case BPF_RET | BPF_K:
            return step->k;
        default:
            return SECCOMP_RET_KILL_PROCESS;
        }
    }
}

// filter_refuses returns true if the filter does more than to let the call fail.
static bool filter_refuses(const struct sock_fprog *filter, int call)
{
    const struct seccomp_data data = { .nr = call, .arch = OWN_ARCHITECTURE };
    switch (filter_answer(filter->filter, &data) & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
    case SECCOMP_RET_ERRNO:
        return false;
    default:
        return true;
    }
}

// filter_refused gives the calls of ours that the filter refuses.
static uint32_t filter_refused(const struct sock_fprog *filter)
{
    static const struct {
        uint16_t call;
        uint16_t is; // of enum crash_own_call
    } calls[] = {
        { SYS_sigaltstack, CRASH_CALLS_STACK },
        { SYS_rt_sigaction, CRASH_CALLS_ACTION },
        { SYS_mmap, CRASH_CALLS_MAP },
        { SYS_mprotect, CRASH_CALLS_MAP },
        { SYS_mremap, CRASH_CALLS_MAP },
        { SYS_munmap, CRASH_CALLS_MAP },
        { SYS_madvise, CRASH_CALLS_MAP },
        { SYS_clock_gettime, CRASH_CALLS_CLOCK },
        { SYS_getpid, CRASH_CALLS_PID },
        { SYS_gettid, CRASH_CALLS_PID },
        { SYS_prctl, CRASH_CALLS_PRCTL },
        { SYS_rt_sigprocmask, CRASH_CALLS_MASK },
        { SYS_faccessat, CRASH_CALLS_START },
        { SYS_geteuid, CRASH_CALLS_START },
        { SYS_getuid, CRASH_CALLS_START },
        { SYS_getppid, CRASH_CALLS_START },
        { SYS_ioctl, CRASH_CALLS_START },
        { SYS_fstat, CRASH_CALLS_START },
        { SYS_clone, CRASH_CALLS_START },
        { SYS_wait4, CRASH_CALLS_START },
        { SYS_futex, CRASH_CALLS_START },
        { SYS_memfd_create, CRASH_CALLS_START },
        { SYS_fallocate, CRASH_CALLS_START },
        { SYS_ftruncate, CRASH_CALLS_START },
        { SYS_fcntl, CRASH_CALLS_START },
        { SYS_pwrite64, CRASH_CALLS_START },
        { SYS_readlinkat, CRASH_CALLS_START },
        { SYS_socketpair, CRASH_CALLS_START },
        { SYS_setsockopt, CRASH_CALLS_START },
        { SYS_sendmsg, CRASH_CALLS_START },
    };
    uint32_t refused = 0;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        refused |= filter_refuses(filter, calls[i].call) ? calls[i].is : 0;
    return refused;
}

// before_filter has other threads make no call of ours while the filter is set, since
// it may be for them too. False: this is a child that shares its parent's memory, and
// nothing is noted for the parent.
static bool before_filter(void)
{
    if (actions_are_shared())
        return false;
    (void)__atomic_fetch_add(&crash_refused_calls, CRASH_FILTER_SETTING,
                             __ATOMIC_SEQ_CST);
    return true;
}

static void after_filter(bool set, const void *filter)
{
    uint32_t refused = set ? filter_refused(filter) : 0;
    if (refused != 0) // a library that starts below the filter does not know it
        preload_leave_out();
    if (getauxval(AT_SYSINFO_EHDR) != 0) // libc finds the clock there
        refused &= ~(uint32_t)CRASH_CALLS_CLOCK;
    (void)__atomic_fetch_or(&crash_refused_calls, refused, __ATOMIC_SEQ_CST);
    (void)__atomic_fetch_sub(&crash_refused_calls, CRASH_FILTER_SETTING,
                             __ATOMIC_SEQ_CST);
}

// before_strict_mode records the calling thread, and after_strict_mode forgets it if it
// is not in strict mode after all. Several threads may do so at once; where a second
// one fails, all count as strict from then on, because the others cannot be
// distinguished.
static uint64_t before_strict_mode(void)
{
    const uint64_t mine = machine_thread_pointer(); // by a system call
    uint64_t before = 0;
    if (!__atomic_compare_exchange_n(&crash_state.strict_thread, &before, mine, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        __atomic_store_n(&crash_state.strict_thread, CRASH_STRICT_ALL,
                         __ATOMIC_SEQ_CST);
    return mine;
}

static void after_strict_mode(uint64_t mine, bool set)
{
    if (!set)
        __atomic_compare_exchange_n(&crash_state.strict_thread, &mine, 0, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

// call_prctl is prctl, which is declared with a variable number of arguments.
int call_prctl(int option, unsigned long first, unsigned long second,
               unsigned long third, unsigned long fourth) __asm__("prctl");

CRASHHOOK_API int call_prctl(int option, unsigned long first, unsigned long second,
                             unsigned long third, unsigned long fourth)
{
    static prctl_fn *found;
    if (found == NULL)
        found = (prctl_fn *)next_symbol("prctl");
    if (found == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (option == PR_SET_SECCOMP && first == SECCOMP_MODE_STRICT) {
        uint64_t mine = before_strict_mode();
        int result = found(option, first, second, third, fourth);
        after_strict_mode(mine, result == 0);
        return result;
    }
    if (option == PR_SET_SECCOMP && first == SECCOMP_MODE_FILTER) {
        bool noted = before_filter();
        int result = found(option, first, second, third, fourth);
        if (noted)
            after_filter(result == 0, (const void *)second);
        return result;
    }
    return found(option, first, second, third, fourth);
}

// call_seccomp is the system call seccomp, which has no function in libc. With
// SECCOMP_FILTER_FLAG_TSYNC it fails by a positive number, a thread's, and with
// SECCOMP_FILTER_FLAG_NEW_LISTENER it returns a descriptor.
static long call_seccomp(syscall_fn *next, long operation, long flags, long argument)
{
    bool listens = (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
    if (operation == SECCOMP_SET_MODE_STRICT) {
        uint64_t mine = before_strict_mode();
        long result = next(SYS_seccomp, operation, flags, argument, 0, 0, 0);
        after_strict_mode(mine, result == 0);
        return result;
    }
    if (operation != SECCOMP_SET_MODE_FILTER)
        return next(SYS_seccomp, operation, flags, argument, 0, 0, 0);
    bool noted = before_filter();
    long result = next(SYS_seccomp, operation, flags, argument, 0, 0, 0);
    if (noted)
        after_filter(result == 0 || (result > 0 && listens), (const void *)argument);
    return result;
}

// call_syscall is syscall, which is declared with a variable number of arguments, too.
long call_syscall(long number, long first, long second, long third, long fourth,
                  long fifth, long sixth) __asm__("syscall");

// NOLINTNEXTLINE(readability-function-size): a system call has so many.
CRASHHOOK_API long call_syscall(long number, long first, long second, long third,
                                long fourth, long fifth, long sixth)
{
    static syscall_fn *found;
    if (found == NULL)
        found = (syscall_fn *)next_symbol("syscall");
    if (found == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (number == SYS_seccomp)
        return call_seccomp(found, first, second, third);
    if (number == SYS_pivot_root)
        return preload_after_root(
            found(number, first, second, third, fourth, fifth, sixth));
    return found(number, first, second, third, fourth, fifth, sixth);
}
