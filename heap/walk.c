// SPDX-License-Identifier: Apache-2.0
#include "heap/walk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "backtrace/local_code.h"
#include "formats/interchange/cbf.h"
#include "heap/frame_rule.h"

enum {
    WORD = sizeof(uint64_t),
    CACHE_RULES = 4096, // a power of two
    OWN_FRAMES = 8,     // at most so many are the library's own
    FRAME_BYTES_MAX = 1 << 20,
    STACK_BYTES_MAX = 1 << 30,
};

// A cached_rule is valid if key ^ rule is its address: two threads may write the same
// place at the same time.
struct cached_rule {
    uint64_t key;
    uint64_t rule;
};

static struct cached_rule cache[CACHE_RULES];
static uint64_t cache_generation; // the upper bits of keys

struct walk {
    struct walk_frame frame;
    uint64_t sp;
    uint64_t fp;
    uint64_t high; // end of the stack
    bool has_end;  // high is known
};

static uint64_t cache_key(uint64_t pc)
{
    return pc ^ (__atomic_load_n(&cache_generation, __ATOMIC_RELAXED) << 48);
}

void walk_forget(void)
{
    __atomic_add_fetch(&cache_generation, 1, __ATOMIC_RELAXED);
}

static struct frame_rule find_rule(uint64_t pc)
{
    struct cached_rule *at = &cache[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
    uint64_t bits = __atomic_load_n(&at->rule, __ATOMIC_RELAXED);
    uint64_t key = __atomic_load_n(&at->key, __ATOMIC_RELAXED);
    struct frame_rule rule;
    if ((key ^ bits) == cache_key(pc)) {
        memcpy(&rule, &bits, sizeof(rule));
        return rule;
    }
    key = cache_key(pc);
    rule = frame_rule_find(pc);
    memcpy(&bits, &rule, sizeof(rule));
    __atomic_store_n(&at->rule, bits, __ATOMIC_RELAXED);
    __atomic_store_n(&at->key, key ^ bits, __ATOMIC_RELAXED);
    return rule;
}

uint64_t walk_function(uint64_t pc)
{
    struct local_image image;
    return local_code_image(pc, &image) ? local_code_function(&image, pc) : 0;
}

uint64_t walk_image(uint64_t pc)
{
    struct local_image image;
    return local_code_image(pc, &image) ? image.start : 0;
}

static bool walk_load(const struct walk *walk, uint64_t address, uint64_t *out)
{
    if (address < walk->sp || address % sizeof(*out) != 0 ||
        address > walk->high - sizeof(*out))
        return false;
    *out = *(const volatile uint64_t *)(uintptr_t)address;
    return true;
}

static uint64_t first_stack_end;
static bool is_go; // a program of Go that calls C

void walk_start(void)
{
    first_stack_end = getauxval(AT_EXECFN); // the kernel puts it above the first frame
    is_go = dlsym(RTLD_DEFAULT, "crosscall2") != NULL;
}

// find_stack_end sets where the stack ends: the first thread's where it began, another
// one's at its descriptor, which the C library puts there. Others, as those of
// coroutines, have no known end, and are left by rules alone.
static void find_stack_end(struct walk *walk)
{
    const uint64_t ends[] = { first_stack_end, (uint64_t)pthread_self() };
    walk->high = walk->sp + STACK_BYTES_MAX;
    walk->has_end = false;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends[i] <= walk->sp || ends[i] >= walk->high)
            continue;
        walk->has_end = true;
        walk->high = ends[i];
    }
}

static uint64_t strip_signature(uint64_t address)
{
#if defined(__aarch64__)
    return address & ((UINT64_C(1) << 48) - 1);
#else
    return address;
#endif
}

// leave_signal takes the registers that the kernel saved when it called the handler.
static bool leave_signal(struct walk *walk)
{
#if defined(__x86_64__)
    const ucontext_t *saved = (const ucontext_t *)(uintptr_t)walk->sp;
    const greg_t *registers = saved->uc_mcontext.gregs;
    walk->frame.pc = (uint64_t)registers[REG_RIP];
    walk->fp = (uint64_t)registers[REG_RBP];
    walk->sp = (uint64_t)registers[REG_RSP];
#elif defined(__aarch64__)
    const ucontext_t *saved =
        (const ucontext_t *)(uintptr_t)(walk->sp + sizeof(siginfo_t));
    walk->frame.pc = saved->uc_mcontext.pc;
    walk->fp = saved->uc_mcontext.regs[29];
    walk->sp = saved->uc_mcontext.sp;
#endif
    walk->frame.is_exact = true;
    find_stack_end(walk);
    return true;
}

// enter_goroutine continues on the stack of a goroutine that called C. Go's code has no
// rules, but keeps its frame pointer when it changes to the stack that C runs on.
static void enter_goroutine(struct walk *walk)
{
    // Go asks for memory from here on. It reserves arenas of 64 MiB, but makes them
    // readable in chunks, of which one that has a frame is readable to its end.
    const uint64_t heap = UINT64_C(0xc000000000);
    const uint64_t chunk = 4 << 20;
    if (!is_go || walk->fp >> 32 != heap >> 32 || walk->sp >> 32 == heap >> 32)
        return;
    walk->sp = walk->fp;
    walk->high = (walk->fp | (chunk - 1)) + 1;
    walk->has_end = true;
}

// walk_by_frame_pointer leaves a frame of code that has no rules, as compiled at run
// time.
static bool walk_by_frame_pointer(struct walk *walk)
{
    uint64_t fp;
    uint64_t pc;
    enter_goroutine(walk);
    if (!walk->has_end || walk->fp - walk->sp > FRAME_BYTES_MAX ||
        !walk_load(walk, walk->fp, &fp) ||
        !walk_load(walk, walk->fp + sizeof(fp), &pc) || fp <= walk->fp)
        return false;
    walk->sp = walk->fp + 2 * sizeof(fp);
    walk->fp = fp;
    walk->frame = (struct walk_frame){ .pc = strip_signature(pc) };
    return true;
}

static bool step_by_rule(struct walk *walk, struct frame_rule rule)
{
    uint64_t base = rule.cfa == FRAME_CFA_SP ? walk->sp : walk->fp;
    uint64_t cfa = base + (uint64_t)(int64_t)rule.cfa_offset;
    uint64_t pc;
    uint64_t fp = walk->fp;
    if (rule.cfa == FRAME_CFA_LOADED && !walk_load(walk, cfa, &cfa))
        return false;
    if (cfa <= walk->sp || cfa - walk->sp > FRAME_BYTES_MAX ||
        !walk_load(walk, cfa + (uint64_t)(rule.ra_words * WORD), &pc))
        return false;
    base = rule.fp == FRAME_FP_AT_CFA ? cfa : walk->fp;
    if (rule.fp != FRAME_FP_SAME &&
        !walk_load(walk, base + (uint64_t)(rule.fp_words * WORD), &fp))
        return false;
    walk->fp = fp;
    walk->sp = cfa;
    walk->frame = (struct walk_frame){ .pc = strip_signature(pc) };
    return true;
}

static bool walk_outward(struct walk *walk)
{
    struct frame_rule rule = find_rule(walk->frame.pc - !walk->frame.is_exact);
    switch (rule.kind) {
    case FRAME_RULE_CFA:
        return step_by_rule(walk, rule) && walk->frame.pc != 0;
    case FRAME_RULE_SIGNAL:
        return leave_signal(walk);
    case FRAME_RULE_NONE:
        return walk_by_frame_pointer(walk) && walk_image(walk->frame.pc) != 0;
    default:
        return false; // outermost
    }
}

// walk_begin sets the registers to those of this point of the calling function, which
// it becomes a part of.
static inline __attribute__((always_inline)) void walk_begin(struct walk *walk)
{
#if defined(__x86_64__)
    __asm__ volatile("lea 0(%%rip), %0\n mov %%rsp, %1\n mov %%rbp, %2"
                     : "=&r"(walk->frame.pc), "=&r"(walk->sp), "=&r"(walk->fp));
#elif defined(__aarch64__)
    __asm__ volatile("adr %0, .\n mov %1, sp\n mov %2, x29"
                     : "=&r"(walk->frame.pc), "=&r"(walk->sp), "=&r"(walk->fp));
#endif
    walk->frame.is_exact = true;
}

__attribute__((noinline)) size_t walk_stack(uint64_t from, struct walk_frame *frames,
                                            size_t limit)
{
    struct walk walk;
    size_t count = 0;
    bool is_found = false;
    walk_begin(&walk);
    find_stack_end(&walk);
    while (count < limit && walk_outward(&walk)) {
        if (!is_found && walk.frame.pc == from) {
            is_found = true;
            count = 0;
        }
        if (!is_found && count >= OWN_FRAMES)
            break;
        frames[count++] = walk.frame;
    }
    return count;
}

size_t walk_encode(const struct walk_frame *frames, size_t count, uint8_t *out,
                   size_t limit)
{
    struct cbf_writer writer;
    enum ch_status status = cbf_writer_init(&writer, 64, CBF_SPECIFIED, out, limit);
    for (size_t i = 0; i < count && status == CH_OK; i++)
        status = cbf_write_frame(
            &writer, frames[i].is_exact ? CBF_PC : CBF_RETURN_ADDRESS, frames[i].pc);
    cbf_write_end(&writer);
    return writer.size;
}
