// SPDX-License-Identifier: Apache-2.0
//
// shadow_tracer PROGRAM ARGUMENT...: runs PROGRAM one instruction at a time and keeps
// the shadow stack that a processor with SHSTK and Linux would have (x86-64). At a
// return to another address than that stack's, the program gets SEGV_CPERR. When a
// signal ends it, the words of its shadow stack are printed, the innermost first, each
// after its address.
#include <elf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4096, SEGV_CPERR_CODE = 10 };
static const uint64_t top = 0x6f0000001000;
static uint64_t shadow[WORDS];
static size_t depth; // shadow[depth - 1] is the innermost
static pid_t pid;
static struct user_regs_struct registers;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t word_at(uint64_t address)
{
    return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, (void *)address, NULL);
}

static uint64_t pointer(void)
{
    return top - 8 * depth;
}

static void push(uint64_t word)
{
    if (depth == WORDS)
        exit(1);
    shadow[depth++] = word;
}

static void resume(int how, int number)
{
    if (ptrace((enum __ptrace_request)how, pid, NULL, (void *)(intptr_t)number) != 0)
        die("ptrace");
}

// await_stop returns the signal of the next stop; the program may not end meanwhile.
static int await_stop(void)
{
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        exit(1);
    ptrace(PTRACE_GETREGS, pid, NULL, &registers);
    return WSTOPSIG(status);
}

static uint64_t entry_of(void)
{
    char path[64];
    Elf64_auxv_t one;
    (void)snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
    FILE *file = fopen(path, "rb");
    while (file != NULL && fread(&one, sizeof(one), 1, file) == 1)
        if (one.a_type == AT_ENTRY)
            return one.a_un.a_val;
    die("auxv");
    return 0;
}

// run_to_entry runs the dynamic linker at full speed.
static void run_to_entry(void)
{
    uint64_t entry = entry_of();
    uint64_t word = word_at(entry);
    ptrace(PTRACE_POKEDATA, pid, (void *)entry,
           (void *)((word & ~UINT64_C(0xff)) | 0xcc));
    resume(PTRACE_CONT, 0);
    if (await_stop() != SIGTRAP)
        exit(1);
    ptrace(PTRACE_POKEDATA, pid, (void *)entry, (void *)word);
    registers.rip = entry;
    ptrace(PTRACE_SETREGS, pid, NULL, &registers);
}

enum kind { OTHER, CALL, RETURN, SIGRETURN };

static enum kind kind_at(uint64_t pc)
{
    uint64_t words[2] = { word_at(pc), word_at(pc + 8) };
    uint8_t code[16];
    memcpy(code, words, sizeof(code));
    const uint8_t *at = code;
    while (strchr("\x66\x67\xf2\xf3\x2e\x3e\x36\x26\x64\x65", *at) != NULL && *at != 0)
        at++;
    if ((*at & 0xf0) == 0x40)
        at++;
    if (*at == 0xe8 || (*at == 0xff && (at[1] >> 3 & 7) == 2))
        return CALL;
    if (*at == 0xc3 || *at == 0xc2)
        return RETURN;
    return at[0] == 0x0f && at[1] == 0x05 && registers.rax == 15 ? SIGRETURN : OTHER;
}

// returns_right compares a return with the shadow stack, of which longjmp drops words.
static bool returns_right(void)
{
    uint64_t to = word_at(registers.rsp);
    for (size_t left = depth; left != 0; left--) {
        if (shadow[left - 1] != to)
            continue;
        depth = left - 1;
        return true;
    }
    return false;
}

static void print_shadow(void)
{
    for (size_t i = depth; i != 0; i--)
        printf("%lx %lx\n", top - 8 * i, shadow[i - 1]);
}

static bool ends_by(int number)
{
    char path[64];
    char line[256];
    uint64_t caught = 0;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    if (file != NULL)
        (void)fclose(file);
    return (caught >> (number - 1) & 1) == 0;
}

// step_over makes one step, through a signal that the program handles. It returns the
// signal that ends it, or 0.
static int step_over(void)
{
    enum kind kind = kind_at(registers.rip);
    if (kind == RETURN && !returns_right())
        return -SIGSEGV;
    resume(PTRACE_SINGLESTEP, 0);
    int number = await_stop();
    if (kind == CALL && number == SIGTRAP)
        push(word_at(registers.rsp));
    if (kind == SIGRETURN)
        while (depth != 0 && shadow[--depth] >> 63 == 0)
            ;
    while (number != SIGTRAP) {
        if (ends_by(number))
            return number;
        uint64_t token = pointer() | UINT64_C(1) << 63;
        resume(PTRACE_SINGLESTEP, number);
        number = await_stop();
        push(token);
        push(word_at(registers.rsp));
    }
    return 0;
}

int main(int argc, char **argv)
{
    (void)argc;
    pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    (void)await_stop();
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
    run_to_entry();
    int number = 0;
    while (number == 0)
        number = step_over();
    print_shadow();
    siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_CPERR_CODE };
    if (number < 0 && ptrace(PTRACE_SETSIGINFO, pid, NULL, &info) != 0)
        die("siginfo");
    resume(PTRACE_CONT, abs(number));
    int status;
    (void)waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 0 : 1;
}
