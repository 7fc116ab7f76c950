// SPDX-License-Identifier: Apache-2.0
#include "languages/go_runtime.h"

// Offsets in runtime.g and runtime.m. A gobuf lost a word after the version that this
// was tried with, so the frame pointer is in one of two places.
enum {
    STACK_LOW = 0,
    STACK_HIGH = 8,
    MACHINE = 48,
    SAVED_SP = 56,
    SAVED_PC = 64,
    SAVED_SELF = 72,
    SAVED_FP = 104,
    SAVED_FP_SHORT = 96,
    MACHINE_SCHEDULER = 0,
    MACHINE_CURRENT = 192,
};

// How the runtime leaves a goroutine's stack (asm_amd64.s): for its own functions the
// scheduler's stack is used from where it stood, with at most a word pushed. For C, at
// most CALL_ROOM bytes are left, and the goroutine is noted in them.
enum { CALL_ROOM = 80, CALL_GOROUTINE = 48 };

// The runtime's variable is the last in the thread's storage, or close to it where C
// libraries have some too.
enum { STORAGE_WORDS = 16 };

// Where a program's addresses begin (vm.mmap_min_addr) and end.
enum { FIRST_MAPPED = 64 << 10 };
#define LAST_ADDRESS (UINT64_MAX >> 17)

// current_goroutine is what the thread of the goroutine g runs, which may have been
// interrupted by a signal; 0: g is none. A thread (m) and its scheduler's goroutine
// refer to each other, as do the thread and the goroutine that it runs.
static uint64_t current_goroutine(const struct memory_reader *reader, uint64_t g)
{
    uint64_t machine;
    uint64_t scheduler;
    uint64_t current;
    uint64_t back;
    if (memory_read_word(reader, g + MACHINE, &machine) != CH_OK || machine == 0 ||
        memory_read_word(reader, machine + MACHINE_SCHEDULER, &scheduler) != CH_OK ||
        memory_read_word(reader, scheduler + MACHINE, &back) != CH_OK ||
        back != machine ||
        memory_read_word(reader, machine + MACHINE_CURRENT, &current) != CH_OK ||
        current == 0 || memory_read_word(reader, current + MACHINE, &back) != CH_OK)
        return 0;
    return back == machine ? current : 0;
}

uint64_t go_runtime_goroutine(const struct memory_reader *reader,
                              uint64_t thread_pointer)
{
    uint64_t found[STORAGE_WORDS];
    uint64_t machines[STORAGE_WORDS] = { 0 };
    size_t count = 0;
    for (uint64_t i = 1; thread_pointer != 0 && i <= STORAGE_WORDS; i++) {
        uint64_t g;
        if (memory_read_word(reader, thread_pointer - 8 * i, &g) != CH_OK ||
            g < FIRST_MAPPED || g > LAST_ADDRESS || g % sizeof(g) != 0)
            continue;
        machines[count] = g + MACHINE;
        found[count++] = g;
    }
    memory_fetch(reader, machines, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t current = current_goroutine(reader, found[i]);
        if (current != 0)
            return current;
    }
    return 0;
}

uint64_t go_runtime_program(const struct memory_reader *reader, uint64_t g)
{
    uint64_t pc;
    return memory_read_word(reader, g + SAVED_PC, &pc) == CH_OK ? pc : 0;
}

bool go_switch_is_placeholder(const struct memory_reader *reader, uint64_t pc)
{
    // The function that the runtime notes, and never calls, is a return alone.
    uint8_t code[2];
    return memory_read(reader, pc, code, sizeof(code)) == CH_OK && code[0] == 0xc3 &&
           code[1] == 0xcc;
}

static bool read_saved_fp(const struct memory_reader *reader, struct go_switch *change,
                          uint64_t high)
{
    static const uint64_t places[] = { SAVED_FP, SAVED_FP_SHORT };
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (memory_read_word(reader, change->goroutine + places[i], &change->fp) ==
                CH_OK &&
            change->fp >= change->sp && change->fp < high)
            return true;
    return false;
}

bool go_switch_find(const struct memory_reader *reader, uint64_t thread_pointer,
                    struct go_switch *out)
{
    uint64_t g = go_runtime_goroutine(reader, thread_pointer);
    struct go_switch change = { .goroutine = g };
    uint64_t low;
    uint64_t high;
    uint64_t self;
    uint64_t machine;
    uint64_t scheduler;
    if (g == 0 || memory_read_word(reader, g + STACK_LOW, &low) != CH_OK ||
        memory_read_word(reader, g + STACK_HIGH, &high) != CH_OK ||
        memory_read_word(reader, g + SAVED_SP, &change.sp) != CH_OK ||
        memory_read_word(reader, g + SAVED_PC, &change.pc) != CH_OK ||
        memory_read_word(reader, g + SAVED_SELF, &self) != CH_OK || self != g ||
        change.sp < low || change.sp >= high || !read_saved_fp(reader, &change, high))
        return false;
    if (memory_read_word(reader, g + MACHINE, &machine) != CH_OK ||
        memory_read_word(reader, machine + MACHINE_SCHEDULER, &scheduler) != CH_OK ||
        memory_read_word(reader, scheduler + SAVED_SP, &change.scheduler_sp) != CH_OK)
        return false;
    change.placeholder = go_switch_is_placeholder(reader, change.pc);
    *out = change;
    return true;
}

bool go_switch_is_at(const struct memory_reader *reader, const struct go_switch *change,
                     uint64_t sp)
{
    uint64_t noted;
    uint64_t room = change->scheduler_sp - sp; // wraps on other stacks
    return change->scheduler_sp != 0 &&
           (room <= sizeof(uint64_t) ||
            (room < CALL_ROOM &&
             memory_read_word(reader, sp + CALL_GOROUTINE, &noted) == CH_OK &&
             noted == change->goroutine));
}
