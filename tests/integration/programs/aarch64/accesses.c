// SPDX-License-Identifier: Apache-2.0
//
// Measures what instructions of AArch64 access, without decoding them: each one on the
// standard input, in hexadecimal, is executed until it faults. A line of output has:
// - where it faults, relative to its base register, if every other register is 0x20;
// - where, if every other register is 0x1fffffff0, of which the lower half is -16;
// - how many bytes it accesses: the shortest distance from the end of a page at which
//   it does not fault;
// - whether it faults on a page that can only be read.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    CODE_BYTES = 1 << 16,
    PAGE = 4096,
    GAP_BYTES = 1 << 20,
    SP = 31,
    BYTES_MAX = 512,
    BRK = 0xd4200000,
    PACDZA = 0xdac12be0,
    KEY_B = 1 << 10,
    DC_ZVA = 0xd50b7420,
    PTRUE_P0_B = 0x2518e3e0,
    SETFFR = 0x252c9000,
};

// One mapping: code, a page of data, and a gap that cannot be accessed.
static uint8_t *code;
static uint8_t *data;
static uint8_t *gap;

static ucontext_t main_context;
static ucontext_t start; // of the instruction
static volatile sig_atomic_t caught;
static uintptr_t fault;

// The headers declare that raise calls nothing here.
static int (*volatile send)(int) = raise;

// on_signal starts the instruction on SIGUSR1, and on any other signal, which it
// ended with, resumes main.
static void on_signal(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    if (number == SIGUSR1) {
        main_context = *interrupted;
        memcpy(interrupted->uc_mcontext.regs, start.uc_mcontext.regs,
               sizeof(start.uc_mcontext.regs));
        interrupted->uc_mcontext.sp = start.uc_mcontext.sp;
        interrupted->uc_mcontext.pc = start.uc_mcontext.pc;
        return;
    }
    caught = number;
    fault = (uintptr_t)info->si_addr;
    *interrupted = main_context;
}

// is_literal gives whether the address is relative to the instruction, and where.
static int is_literal(uint32_t word, intptr_t *out_distance)
{
    *out_distance = (intptr_t)((int32_t)(word << 8) >> 13) * 4;
    return (word & 0x3b000000) == 0x18000000;
}

static int is_exclusive_store(uint32_t word)
{
    int is_pair = (word & 1u << 21) != 0;
    return (word & 0x3fc00000) == 0x08000000 && (!is_pair || word >> 31 == 1);
}

static int is_scalable(uint32_t word)
{
    return (word & 0x9e000000) == 0x84000000;
}

// put_code writes the instruction, and before it what it needs to get at memory: the
// exclusive load of an exclusive store, the signing of a pointer, or the predicate and
// the fault register of SVE.
static void put_code(uint32_t *to, uint32_t word)
{
    uint32_t *first = to;
    if (is_exclusive_store(word) && (word & 1u << 21) != 0)
        *to++ = (word & ~0x1ffc1fu) | 0x5f701d;
    else if (is_exclusive_store(word))
        *to++ = (word & ~0x1ffc1fu) | 0x5f7c1d;
    if ((word & 0xff200400) == 0xf8200400)
        *to++ = PACDZA | ((word & 1u << 23) != 0 ? KEY_B : 0) | (word >> 5 & 31);
    if (is_scalable(word)) {
        *to++ = PTRUE_P0_B;
        *to++ = SETFFR;
    }
    *to++ = word;
    *to++ = BRK;
    __builtin___clear_cache((char *)first, (char *)to);
}

// execute runs the instruction with its base register at base, and others at rest.
// Returns the signal that it ended with.
static int execute(uint32_t word, uintptr_t base, uint64_t rest)
{
    intptr_t distance;
    int literal = is_literal(word, &distance);
    uintptr_t at = literal ? base - (uintptr_t)distance : (uintptr_t)code;
    unsigned number = (word & 0xffffffe0) == DC_ZVA ? word & 31 : word >> 5 & 31;
    put_code((uint32_t *)at, word);
    for (int i = 0; i < SP; i++)
        start.uc_mcontext.regs[i] = rest;
    start.uc_mcontext.sp = (uintptr_t)code + CODE_BYTES / 2;
    if (!literal && number == SP)
        start.uc_mcontext.sp = base;
    else if (!literal)
        start.uc_mcontext.regs[number] = base;
    start.uc_mcontext.pc = at;
    send(SIGUSR1);
    return caught;
}

static void protect(int protection)
{
    if (mprotect(data, PAGE, protection) != 0)
        _exit(1);
}

// count_bytes gives how many bytes are accessed at displacement; 0: those of DC ZVA
// and of vectors of SVE depend on the processor.
static unsigned count_bytes(uint32_t word, intptr_t displacement)
{
    intptr_t distance;
    int is_copy = (word & 0xfe408000) == 0x84408000;
    if ((word & 0xffffffe0) == DC_ZVA || (is_scalable(word) && !is_copy))
        return 0;
    for (unsigned bytes = 1; bytes <= BYTES_MAX; bytes++)
        if ((!is_literal(word, &distance) || bytes % 4 == 0) &&
            execute(word, (uintptr_t)(gap - bytes - displacement), 0) == SIGTRAP)
            return bytes;
    return 0;
}

static void measure(uint32_t word)
{
    static const uint64_t rest[] = { 0x20, 0x1fffffff0 };
    intptr_t found[2];
    intptr_t distance;
    // An exclusive store is executed to a fault only where its load is not.
    uint8_t *base = is_exclusive_store(word)      ? data
                    : is_literal(word, &distance) ? gap
                                                  : gap + GAP_BYTES / 2;
    protect(PROT_READ);
    for (int i = 0; i < 2; i++) {
        int ended = execute(word, (uintptr_t)base, rest[i]);
        found[i] = (intptr_t)(fault - (uintptr_t)base);
        if (ended != SIGSEGV) {
            printf("%08x ended with signal %d\n", word, ended);
            return;
        }
    }
    (void)execute(word, (uintptr_t)base, 0);
    intptr_t displacement = (intptr_t)(fault - (uintptr_t)base);
    int is_write = execute(word, (uintptr_t)(data - displacement), 0) == SIGSEGV;
    protect(PROT_READ | PROT_WRITE);
    printf("%08x %ld %ld %u %s\n", word, (long)found[0], (long)found[1],
           count_bytes(word, displacement), is_write ? "write" : "read");
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = on_signal,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK };
    static uint8_t stack[1 << 16];
    stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
    static const int signals[] = { SIGUSR1, SIGSEGV, SIGBUS, SIGILL, SIGTRAP };
    code = mmap(NULL, CODE_BYTES + PAGE + GAP_BYTES, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data = code + CODE_BYTES;
    gap = data + PAGE;
    if (code == MAP_FAILED ||
        mprotect(code, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 ||
        sigaltstack(&alternate, NULL) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
    char line[64];
    while (fgets(line, sizeof(line), stdin) != NULL)
        measure((uint32_t)strtoul(line, NULL, 16));
    return 0;
}
