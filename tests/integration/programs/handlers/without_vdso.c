// SPDX-License-Identifier: Apache-2.0
//
// without_vdso PROGRAM WORDS: executes the program in this process, without the vDSO,
// as kernels that have none do. A child traces this process for that, until it has
// hidden the vDSO in the auxiliary vector. 77: it may not.
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static uintptr_t stack_pointer(pid_t pid)
{
    struct user_regs_struct registers = { 0 };
    struct iovec into = { &registers, sizeof(registers) };
    if (ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &into) != 0)
        return 0;
#if defined(__x86_64__)
    return registers.rsp;
#else
    return registers.sp;
#endif
}

static uintptr_t word_of(pid_t pid, uintptr_t address)
{
    return (uintptr_t)ptrace(PTRACE_PEEKDATA, pid, (void *)address, NULL);
}

// hide_vdso: the stack has the arguments, the environment and the vector, with a 0
// after each of the first two.
static void hide_vdso(pid_t pid)
{
    const size_t size = sizeof(uintptr_t);
    uintptr_t at = stack_pointer(pid) + size;
    for (int lists = 0; lists < 2; at += size)
        lists += word_of(pid, at) == 0;
    for (; word_of(pid, at) != AT_NULL; at += 2 * size)
        if (word_of(pid, at) == AT_SYSINFO_EHDR)
            ptrace(PTRACE_POKEDATA, pid, (void *)at, (void *)AT_IGNORE);
}

static int trace_parent(int ready)
{
    const pid_t parent = getppid();
    if (ptrace(PTRACE_SEIZE, parent, NULL, (void *)PTRACE_O_TRACEEXEC) != 0)
        return 77;
    (void)!write(ready, "1", 1);
    int status = 0;
    if (waitpid(parent, &status, __WALL) != parent ||
        status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
        return 77;
    hide_vdso(parent);
    return ptrace(PTRACE_DETACH, parent, NULL, NULL) == 0 ? 0 : 77;
}

int main(int count, char **words)
{
    int ends[2];
    char byte;
    if (count < 2 || pipe(ends) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        _exit(trace_parent(ends[1]));
    }
    close(ends[1]);
    prctl(PR_SET_PTRACER, child, 0, 0, 0);
    if (read(ends[0], &byte, 1) != 1)
        return 77;
    close(ends[0]);
    execv(words[1], words + 1);
    return 2;
}
