// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    OUTSIDE_STEPS = 1024, // how far code outside the function is followed
    // What calls need not keep: rax, rdx, rcx, rsi, rdi, r8 to r11.
    CALL_WRITES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8,
    CALL_KEEPS = 1 << 3 | 1 << 6 | 0xf << 12,
};

static bool decode(struct argument_scan *scan, argument_code_fn *code, void *context)
{
    size_t left;
    const uint8_t *bytes = code(context, scan->entry, &left);
    if (bytes == NULL || left < scan->size)
        return false;
    for (uint64_t at = 0; at < scan->size;) {
        struct argument_scan_step *step = &scan->steps[scan->count];
        step->offset = (uint32_t)at;
        if (instruction_read_effects(bytes + at, (size_t)(scan->size - at),
                                     scan->entry + at, &step->effects) != CH_OK)
            return false;
        at += step->effects.length;
        scan->count++;
    }
    return true;
}

// find_step gives the index of the instruction at vaddr, SIZE_MAX: none begins there.
static size_t find_step(const struct argument_scan *scan, uint64_t vaddr)
{
    size_t low = 0;
    size_t high = scan->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t at = scan->entry + scan->steps[middle].offset;
        if (at == vaddr)
            return middle;
        if (at < vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}

static bool is_inside(const struct argument_scan *scan, uint64_t vaddr)
{
    return vaddr - scan->entry < scan->size;
}

static bool is_jump(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_JUMPS || effects->flow == INSTRUCTION_MAY_JUMP;
}

// Places outside the function that are still to be looked at.
struct outside {
    uint64_t waiting[OUTSIDE_STEPS];
    size_t count;
    size_t steps;
};

static void add_outside(struct outside *outside, uint64_t vaddr)
{
    for (size_t i = 0; i < outside->count; i++)
        if (outside->waiting[i] == vaddr)
            return;
    if (outside->count < OUTSIDE_STEPS)
        outside->waiting[outside->count++] = vaddr;
}

// follow_run follows code from vaddr to where it jumps, and says whether it jumps back
// into the function, past its entry.
static bool follow_run(const struct argument_scan *scan, struct outside *outside,
                       uint64_t vaddr, argument_code_fn *code, void *context)
{
    while (outside->steps++ < OUTSIDE_STEPS) {
        size_t left;
        struct instruction_effects effects;
        const uint8_t *bytes = code(context, vaddr, &left);
        if (bytes == NULL ||
            instruction_read_effects(bytes, left, vaddr, &effects) != CH_OK)
            return false;
        if (is_jump(&effects) && is_inside(scan, effects.target) &&
            effects.target != scan->entry)
            return true;
        if (is_jump(&effects) && !is_inside(scan, effects.target))
            add_outside(outside, effects.target);
        if (effects.flow == INSTRUCTION_JUMPS || effects.flow == INSTRUCTION_ENDS ||
            effects.flow == INSTRUCTION_ANYWHERE)
            return false;
        vaddr += effects.length;
    }
    return false;
}

// comes_back is whether code that the function jumps to, outside of it, jumps back: a
// part that the compiler has moved away, and whose writes are not in the function.
static bool comes_back(const struct argument_scan *scan, argument_code_fn *code,
                       void *context)
{
    struct outside *outside = calloc(1, sizeof(*outside));
    bool back = outside == NULL;
    for (size_t i = 0; !back && i < scan->count; i++) {
        const struct instruction_effects *effects = &scan->steps[i].effects;
        if (is_jump(effects) && !is_inside(scan, effects->target))
            add_outside(outside, effects->target);
    }
    for (size_t i = 0; !back && i < outside->count; i++)
        back = follow_run(scan, outside, outside->waiting[i], code, context);
    free(outside);
    return back;
}

// targets_fit is whether every jump within the function is to an instruction.
static bool targets_fit(const struct argument_scan *scan)
{
    for (size_t i = 0; i < scan->count; i++) {
        const struct instruction_effects *effects = &scan->steps[i].effects;
        if (is_jump(effects) && is_inside(scan, effects->target) &&
            find_step(scan, effects->target) == SIZE_MAX)
            return false;
    }
    return true;
}

enum ch_status argument_scan_init(struct argument_scan *scan, uint64_t entry,
                                  uint64_t size, argument_code_fn *code, void *context)
{
    *scan = (struct argument_scan){ .entry = entry, .size = size };
    if (size == 0 || size > ARGUMENT_SCAN_BYTES_MAX)
        return CH_OK;
    scan->steps = calloc((size_t)size, sizeof(scan->steps[0]));
    if (scan->steps == NULL)
        return CH_ERR_NO_MEMORY;
    bool decoded = decode(scan, code, context);
    void *shrunk = scan->count != 0
                       ? realloc(scan->steps, scan->count * sizeof(scan->steps[0]))
                       : NULL;
    if (shrunk != NULL)
        scan->steps = shrunk;
    scan->usable = decoded && targets_fit(scan) && !comes_back(scan, code, context);
    return CH_OK;
}

void argument_scan_deinit(struct argument_scan *scan)
{
    free(scan->steps);
    *scan = (struct argument_scan){ 0 };
}

// A walk marks instructions that paths go through.
struct walk {
    const struct argument_scan *scan;
    size_t *jump;   // of each instruction: where it jumps to within the function
    bool *reached;  // from the entry
    bool *reaching; // the pc
};

static bool falls_through(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_NEXT || effects->flow == INSTRUCTION_MAY_JUMP ||
           effects->flow == INSTRUCTION_CALLS;
}

static void mark_reached(struct walk *walk)
{
    const struct argument_scan *scan = walk->scan;
    walk->reached[0] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < scan->count; i++) {
            const struct instruction_effects *effects = &scan->steps[i].effects;
            if (!walk->reached[i])
                continue;
            size_t next = falls_through(effects) ? i + 1 : scan->count;
            if (next < scan->count && !walk->reached[next])
                changed = walk->reached[next] = true;
            if (walk->jump[i] != SIZE_MAX && !walk->reached[walk->jump[i]])
                changed = walk->reached[walk->jump[i]] = true;
            if (effects->flow == INSTRUCTION_ANYWHERE) {
                memset(walk->reached, true, scan->count);
                return;
            }
        }
    }
}

// mark_reaching marks what comes before the instruction at pc on some path to it.
static void mark_reaching(struct walk *walk, size_t pc)
{
    const struct argument_scan *scan = walk->scan;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = scan->count; i > 0; i--) {
            const struct instruction_effects *effects = &scan->steps[i - 1].effects;
            size_t next = falls_through(effects) ? i : SIZE_MAX;
            size_t jump = walk->jump[i - 1];
            bool reaches = effects->flow == INSTRUCTION_ANYWHERE;
            reaches =
                reaches || (next < scan->count && (next == pc || walk->reaching[next]));
            reaches =
                reaches || (jump != SIZE_MAX && (jump == pc || walk->reaching[jump]));
            if (reaches && !walk->reaching[i - 1])
                changed = walk->reaching[i - 1] = true;
        }
    }
}

static uint16_t writes(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_CALLS
               ? (uint16_t)(effects->written | CALL_WRITES)
               : effects->written;
}

// is_only_write is whether nothing but instruction copy, and what takes it off the
// stack at the end, writes register reg; and no such end lies before the pc.
static bool is_only_write(const struct walk *walk, size_t copy, unsigned reg)
{
    for (size_t i = 0; i < walk->scan->count; i++) {
        const struct instruction_effects *effects = &walk->scan->steps[i].effects;
        bool before = walk->reached[i] && walk->reaching[i];
        if (i != copy && effects->written >> reg & 1 && (!effects->pops || before))
            return false;
    }
    return true;
}

// first_target is the first instruction that something jumps to.
static size_t first_target(const struct walk *walk)
{
    size_t first = walk->scan->count;
    for (size_t i = 0; i < walk->scan->count; i++)
        if (walk->jump[i] < first)
            first = walk->jump[i];
    return first;
}

// prove_copies looks for copies before the first jump or call, and before anything that
// is jumped to: every path goes there, once.
static void prove_copies(const struct walk *walk, size_t pc, struct argument_proof *out)
{
    const struct argument_scan *scan = walk->scan;
    size_t end = first_target(walk);
    uint16_t written = 0;
    for (size_t i = 0; i < end && i < pc; i++) {
        const struct instruction_effects *effects = &scan->steps[i].effects;
        uint8_t from = effects->copies_from;
        uint8_t to = effects->copies_to;
        if (effects->flow != INSTRUCTION_NEXT)
            return;
        if (from < 16 && to < 16 && CALL_KEEPS >> to & 1 && !(written >> from & 1) &&
            out->copied_to[from] == INSTRUCTION_NO_REGISTER &&
            is_only_write(walk, i, to)) {
            out->copied_to[from] = to;
            out->copied_bytes[from] = effects->copied_bytes;
        }
        written |= effects->written;
    }
}

static void prove(struct walk *walk, size_t pc, struct argument_proof *out)
{
    const struct argument_scan *scan = walk->scan;
    uint16_t written = 0;
    for (size_t i = 0; i < scan->count; i++) {
        const struct instruction_effects *effects = &scan->steps[i].effects;
        walk->jump[i] = is_jump(effects) && is_inside(scan, effects->target)
                            ? find_step(scan, effects->target)
                            : SIZE_MAX;
    }
    mark_reached(walk);
    mark_reaching(walk, pc);
    for (size_t i = 0; i < scan->count; i++)
        if (walk->reached[i] && walk->reaching[i])
            written |= writes(&scan->steps[i].effects);
    *out = (struct argument_proof){ .untouched = (uint16_t)~written };
    memset(out->copied_to, INSTRUCTION_NO_REGISTER, sizeof(out->copied_to));
    prove_copies(walk, pc, out);
}

bool argument_scan_prove(const struct argument_scan *scan, uint64_t pc,
                         struct argument_proof *out)
{
    size_t at = scan->usable ? find_step(scan, pc) : SIZE_MAX;
    if (at == SIZE_MAX)
        return false;
    struct walk walk = { .scan = scan,
                         .jump = calloc(scan->count, sizeof(size_t)),
                         .reached = calloc(scan->count, sizeof(bool)),
                         .reaching = calloc(scan->count, sizeof(bool)) };
    bool room = walk.jump != NULL && walk.reached != NULL && walk.reaching != NULL;
    if (room)
        prove(&walk, at, out);
    free(walk.jump);
    free(walk.reached);
    free(walk.reaching);
    return room;
}
