// SPDX-License-Identifier: Apache-2.0
//
// Measures what the instructions of AArch64 that copy and set memory (MOPS) had left to
// do when they faulted, without decoding them. Each line of the standard input is the
// first of three, with the destination in x0, the source or the byte in x1, and the
// size in x2. A line of output has:
// - the instruction that faulted;
// - x0 and x1, of the byte its number, of addresses the distance from memory that
//   cannot be accessed, x2, and the flags (NZCV);
// - where it faulted, and where what it had left begins, from there;
// - how many bytes it had left, as the memory shows; whether reading or writing failed.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
    PAGE = 4096,
    OPEN_BYTES = 4 * PAGE,
    GAP_BYTES = 16 * PAGE,
    STAGE = 1 << 22,
    SET = 3 * STAGE,
    SET_STAGE = 1 << 14,
    FLAGS = 28, // the lowest bit of the flags in pstate
    LONG = 5008,
    SHORT = 208,
    INSIDE = 64,
    BYTE = 0x5a,
    BRK = 0xd4200000,
};

// An attempt is a copy of size bytes from source to destination.
struct attempt {
    uint8_t *destination;
    uint8_t *source;
    size_t size;
    int is_read; // what fails
    int is_down; // from the end to the begin
};

static uint32_t *code;
static uint8_t *open_memory;       // between two gaps that cannot be accessed
static uint8_t *other;             // after the second gap
static uint8_t before[OPEN_BYTES]; // what was in open_memory
static ucontext_t main_context;
static ucontext_t at_fault;
static uint64_t registers[3];
static uintptr_t fault;

static int (*volatile send)(int) = raise;

static void on_signal(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    if (number == SIGUSR1) {
        main_context = *interrupted;
        memcpy(interrupted->uc_mcontext.regs, registers, sizeof(registers));
        interrupted->uc_mcontext.pc = (uintptr_t)code;
        interrupted->uc_mcontext.pstate &= (1 << FLAGS) - 1;
        return;
    }
    at_fault = *interrupted;
    fault = number == SIGSEGV ? (uintptr_t)info->si_addr : 0;
    *interrupted = main_context;
}

static int is_in(const uint8_t *at, const uint8_t *memory)
{
    return at >= memory && at < memory + OPEN_BYTES;
}

// count_left gives how many bytes do not have what they were to be set to.
static size_t count_left(const struct attempt *a, int is_set)
{
    size_t done = 0;
    for (; done < a->size; done++) {
        const uint8_t *to = a->destination + (a->is_down ? a->size - done - 1 : done);
        const uint8_t *from = a->source + (to - a->destination);
        if (!is_in(to, other) && !is_in(to, open_memory))
            break;
        if (is_set ? *to != BYTE
            : is_in(from, other)
                ? *to != *from
                : !is_in(from, open_memory) || *to != before[from - open_memory])
            break;
    }
    return a->size - done;
}

static long from_gap(uint64_t address)
{
    return (long)(address - (uintptr_t)(open_memory + OPEN_BYTES));
}

static void measure(uint32_t word, const struct attempt *a)
{
    int is_set = (word & SET) == SET;
    uint32_t next = is_set ? SET_STAGE : STAGE;
    for (int i = 0; i < OPEN_BYTES; i++) {
        // A destination has nothing of its source yet.
        open_memory[i] = a->is_read ? (uint8_t)(i / 7 | 1) : 0;
        other[i] = a->is_read ? 0 : (uint8_t)(i | 1);
    }
    memcpy(before, open_memory, OPEN_BYTES);
    for (uint32_t i = 0; i < 3; i++)
        code[i] = word + i * next;
    code[3] = BRK;
    __builtin___clear_cache((char *)code, (char *)(code + 4));
    registers[0] = (uintptr_t)a->destination;
    registers[1] = is_set ? BYTE : (uintptr_t)a->source;
    registers[2] = a->size;
    send(SIGUSR1);
    const uint64_t *now = (const uint64_t *)at_fault.uc_mcontext.regs;
    if (fault == 0) {
        printf("%08x does not fault\n", word);
        return;
    }
    size_t left = count_left(a, is_set);
    const uint8_t *begin = a->is_read ? a->source : a->destination;
    if (!a->is_down)
        begin += a->size - left;
    printf("%08x %ld %ld %ld %u %ld %ld %zu %s\n",
           *(const uint32_t *)at_fault.uc_mcontext.pc, from_gap(now[0]),
           is_set ? BYTE : from_gap(now[1]), (long)now[2],
           (unsigned)(at_fault.uc_mcontext.pstate >> FLAGS), from_gap(fault),
           from_gap((uintptr_t)begin), left, a->is_read ? "read" : "write");
}

// measure_all has each of the three instructions fault, at each of its pointers.
static void measure_all(uint32_t word)
{
    static const struct {
        int inside; // bytes at the end of the memory that can be accessed
        size_t size;
    } forms[] = { { 0, LONG }, { INSIDE, LONG }, { INSIDE, SHORT } };
    uint8_t *end = open_memory + OPEN_BYTES;
    int is_set = (word & SET) == SET;
    int goes_down = !is_set && (word & 1 << 26) != 0;
    for (int i = 0; i < 3; i++) {
        struct attempt a = { end - forms[i].inside, other, forms[i].size, 0, 0 };
        measure(word, &a);
        a = (struct attempt){ other, end - forms[i].inside, forms[i].size, 1, 0 };
        if (!is_set)
            measure(word, &a);
    }
    struct attempt down = { open_memory + INSIDE, open_memory - LONG, LONG + PAGE, 1,
                            1 };
    if (goes_down)
        measure(word, &down);
    down = (struct attempt){ open_memory + INSIDE, open_memory - SHORT, PAGE, 1, 1 };
    if (goes_down)
        measure(word, &down);
}

int main(void)
{
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    static const int signals[] = { SIGUSR1, SIGSEGV, SIGBUS, SIGILL, SIGTRAP };
    uint8_t *begin = mmap(NULL, 2 * OPEN_BYTES + 2 * GAP_BYTES, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    open_memory = begin + GAP_BYTES;
    other = open_memory + OPEN_BYTES + GAP_BYTES;
    if ((void *)begin == MAP_FAILED || (void *)code == MAP_FAILED ||
        mprotect(open_memory, OPEN_BYTES, PROT_READ | PROT_WRITE) != 0 ||
        mprotect(other, OPEN_BYTES, PROT_READ | PROT_WRITE) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        sigaction(signals[i], &action, NULL);
    char line[64];
    while (fgets(line, sizeof(line), stdin) != NULL)
        measure_all((uint32_t)strtoul(line, NULL, 16));
    return 0;
}
