// SPDX-License-Identifier: Apache-2.0
#include "agent/live/stop_registers.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

// Values that the kernel leaves in the result register of a system call it will restart
// (include/linux/errno.h); user space never sees them.
enum {
    ERESTARTSYS = 512,
    ERESTARTNOINTR = 513,
    ERESTARTNOHAND = 514,
    ERESTART_RESTARTBLOCK = 516,
};

// Register sets that glibc's <elf.h> may not name yet (include/uapi/linux/elf.h).
enum { REGSET_X86_SHSTK = 0x204, REGSET_ARM_GCS = 0x410 };

// answers_eintr returns true if the call fails with EINTR after a stop without having
// had an effect, so that repeating it gives what would have happened without us.
static bool answers_eintr(int64_t number)
{
    switch (number) {
    case SYS_epoll_pwait:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_io_uring_enter:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
        return true;
    default:
        return false;
    }
}

// read_shadow_stack reads the pointer of the thread's shadow stack, the last of count
// words. Kernels that have no such registers are asked once.
static void read_shadow_stack(struct stopped_thread *thread, int type, size_t count)
{
    enum { WORDS_MAX = 3, ENABLED = 1 };
    static bool unknown;
    uint64_t words[WORDS_MAX] = { ENABLED };
    struct iovec vector = { .iov_base = words, .iov_len = count * sizeof(words[0]) };
    if (unknown)
        return;
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)(intptr_t)type, &vector) != 0) {
        unknown = errno == EINVAL;
        return;
    }
    // GCS has the features that are enabled and locked before the pointer.
    if (vector.iov_len == count * sizeof(words[0]) &&
        (count == 1 || (words[0] & ENABLED) != 0))
        thread->shadow_stack = words[count - 1];
}

// note_thread_call records whether the thread sleeps in a system call, and whether we
// must restart that call.
static void note_thread_call(struct stopped_thread *thread, int64_t number,
                             int64_t result)
{
    bool in_call = number >= 0;
    thread->call = number;
    thread->call_result = (uint64_t)result;
    thread->restart = in_call && result == -EINTR && answers_eintr(number);
    bool will_restart = result == -ERESTARTSYS || result == -ERESTARTNOINTR ||
                        result == -ERESTARTNOHAND || result == -ERESTART_RESTARTBLOCK;
    thread->run_state = in_call && (will_restart || thread->restart) ? 'S' : 'R';
}

bool stop_registers_tag(pid_t tid, const void *address, uint8_t *out)
{
    const int peek_tags = 33; // PTRACE_PEEKMTETAGS, since Linux 5.10
    uint8_t tag;
    struct iovec vector = { .iov_base = &tag, .iov_len = sizeof(tag) };
    if (ptrace(peek_tags, tid, address, &vector) != 0 || vector.iov_len != sizeof(tag))
        return false;
    *out = tag;
    return true;
}

#if defined(__x86_64__)

void stop_registers_before(int tasks_fd, struct stopped_thread *thread)
{
    (void)tasks_fd;
    (void)thread;
}

// narrow_regset is what the kernel gives for a 32-bit program: its
// user_regs_struct32 (arch/x86/include/asm/user32.h).
struct narrow_regset {
    uint32_t ebx, ecx, edx, esi, edi, ebp, eax, segments[4], orig_eax, eip, cs, eflags,
        esp, ss;
};

// note_narrow_call records a 32-bit call. Those have other numbers, and are never
// restarted by us.
static void note_narrow_call(struct stopped_thread *thread,
                             const struct narrow_regset *r)
{
    int32_t number = (int32_t)r->orig_eax;
    int32_t result = (int32_t)r->eax;
    note_thread_call(thread, number, result);
    thread->restart = false;
}

static void note_narrow(struct stopped_thread *thread, const void *bytes)
{
    struct narrow_regset r;
    memcpy(&r, bytes, sizeof(r));
    thread->narrow = true;
    thread->registers =
        (struct unwind_registers){ { r.eax, r.edx, r.ecx, r.ebx, r.esi, r.edi, r.ebp,
                                     r.esp, [16] = r.eip } };
    thread->flags = r.eflags;
    note_narrow_call(thread, &r);
}

bool stop_registers_read(struct stopped_thread *thread)
{
    struct user_regs_struct r;
    struct iovec vector = { .iov_base = &r, .iov_len = sizeof(r) };
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &vector) != 0)
        return false;
    if (vector.iov_len == sizeof(struct narrow_regset)) {
        note_narrow(thread, &r);
        return true;
    }

    thread->registers =
        (struct unwind_registers){ { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp,
                                     r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
                                     r.r14, r.r15, r.rip } };
    thread->flags = r.eflags;
    thread->thread_pointer = r.fs_base;
    thread->gs_base = r.gs_base;
    read_shadow_stack(thread, REGSET_X86_SHSTK, 1);
    note_thread_call(thread, (int64_t)r.orig_rax, (int64_t)r.rax);
    return true;
}

bool stop_registers_vectors(pid_t tid, uint8_t out[512])
{
    struct user_fpregs_struct r;
    struct iovec vector = { .iov_base = &r, .iov_len = sizeof(r) };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &vector) != 0 ||
        vector.iov_len != sizeof(r))
        return false;
    memcpy(out, r.xmm_space, sizeof(r.xmm_space));
    return true;
}

int64_t stop_registers_last_call(const struct stopped_thread *thread)
{
    return thread->call;
}

bool stop_registers_is_filtered(const struct stopped_thread *thread)
{
    // The kernel rolls the call back, or there is no result yet.
    return thread->call >= 0 && (thread->call_result == (uint64_t)thread->call ||
                                 thread->call_result == (uint64_t)-ENOSYS);
}

void stop_registers_restart(struct stopped_thread *thread)
{
    ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user, regs.rax),
           (void *)(intptr_t)-ERESTARTNOHAND);
}

bool stop_registers_interrupted(pid_t tid)
{
    return ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, regs.rax), NULL) ==
           -EINTR;
}

#elif defined(__aarch64__)

bool stop_registers_vectors(pid_t tid, uint8_t out[512])
{
    struct user_fpsimd_struct r;
    struct iovec vector = { .iov_base = &r, .iov_len = sizeof(r) };
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRFPREG, &vector) != 0 ||
        vector.iov_len != sizeof(r))
        return false;
    memcpy(out, r.vregs, sizeof(r.vregs));
    return true;
}

bool stop_registers_interrupted(pid_t tid)
{
    struct stopped_thread thread = { .tid = tid };
    return stop_registers_read(&thread) && thread.restart;
}

enum { SVC = 0xd4000001, CALL_BYTES = 4, X8 = 8 };

static bool is_call_at(pid_t tid, uint64_t pc)
{
    errno = 0;
    long word = ptrace(PTRACE_PEEKTEXT, tid, (void *)(uintptr_t)pc, NULL);
    return errno == 0 && (uint32_t)word == SVC;
}

int64_t stop_registers_last_call(const struct stopped_thread *thread)
{
    const uint64_t *value = thread->registers.value;
    if (thread->call >= 0)
        return thread->call;
    return is_call_at(thread->tid, value[UNWIND_PC] - CALL_BYTES) ? (int64_t)value[X8]
                                                                  : -1;
}

bool stop_registers_is_filtered(const struct stopped_thread *thread)
{
    // A call that waited was wound back to its instruction, or has failed.
    const uint64_t *value = thread->registers.value;
    return (int64_t)value[0] != -EINTR &&
           is_call_at(thread->tid, value[UNWIND_PC] - CALL_BYTES);
}

// note_rewound_call records a call that waits: before the thread stops, the kernel
// winds it back to the call's instruction and forgets the call, which is made again
// afterwards. A thread that is about to make a call looks the same.
static void note_rewound_call(struct stopped_thread *thread)
{
    if (!is_call_at(thread->tid, thread->registers.value[UNWIND_PC]))
        return;
    thread->call = (int64_t)thread->registers.value[X8];
    thread->run_state = 'S';
}

// parse_call_before reads a line of /proc: the call's number, six arguments, the stack
// pointer and the program counter. Of a thread that runs it says so in a word.
static bool parse_call_before(const char *line, struct call_before *out)
{
    enum { WORDS = 8, SP = 6, PC = 7 };
    uint64_t words[WORDS];
    char *end;
    out->number = strtol(line, &end, 10);
    for (size_t i = 0; i < WORDS; i++) {
        const char *word = end;
        words[i] = strtoull(word, &end, 16);
        if (end == word)
            return false;
    }
    out->argument = words[0];
    out->sp = words[SP];
    out->pc = words[PC];
    return true;
}

void stop_registers_before(int tasks_fd, struct stopped_thread *thread)
{
    char name[32];
    char line[256];
    (void)snprintf(name, sizeof(name), "%d/syscall", thread->tid);
    int fd = openat(tasks_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (size <= 0)
        return;
    line[size] = 0;
    struct call_before before;
    if (parse_call_before(line, &before))
        thread->before = before;
}

// note_ended_call records a call that the stop has ended with EINTR: the thread is
// where it was in the call. Its first argument is in no register any more.
static void note_ended_call(struct stopped_thread *thread)
{
    const uint64_t *value = thread->registers.value;
    const struct call_before *before = &thread->before;
    if ((int64_t)value[0] != -EINTR || !answers_eintr(before->number) ||
        value[X8] != (uint64_t)before->number || value[UNWIND_SP] != before->sp ||
        value[UNWIND_PC] != before->pc)
        return;
    thread->call = before->number;
    thread->restart = true;
    thread->run_state = 'S';
}

bool stop_registers_read(struct stopped_thread *thread)
{
    struct user_regs_struct r;
    struct iovec vector = { .iov_base = &r, .iov_len = sizeof(r) };
    struct iovec pointer = { .iov_base = &thread->thread_pointer,
                             .iov_len = sizeof(thread->thread_pointer) };
    int number = -1;
    struct iovec call = { .iov_base = &number, .iov_len = sizeof(number) };
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &vector) != 0)
        return false;

    for (int i = 0; i < 31; i++)
        thread->registers.value[i] = r.regs[i];
    thread->registers.value[UNWIND_SP] = r.sp;
    thread->registers.value[UNWIND_PC] = r.pc;
    thread->flags = r.pstate;
    ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_ARM_SYSTEM_CALL, &call);
    ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_ARM_TLS, &pointer);
    read_shadow_stack(thread, REGSET_ARM_GCS, 3);
    note_thread_call(thread, number, (int64_t)r.regs[0]);
    if (number < 0) {
        note_rewound_call(thread);
        note_ended_call(thread);
    }
    return true;
}

void stop_registers_restart(struct stopped_thread *thread)
{
    struct user_regs_struct r;
    struct iovec vector = { .iov_base = &r, .iov_len = sizeof(r) };
    if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &vector) != 0)
        return;
    r.regs[0] = thread->before.argument;
    r.pc = thread->before.pc - CALL_BYTES;
    ptrace(PTRACE_SETREGSET, thread->tid, (void *)NT_PRSTATUS, &vector);
}

#endif
