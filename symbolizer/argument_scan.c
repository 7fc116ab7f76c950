// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_scan.h"

#include <stdlib.h>
#include <string.h>

enum {
    OUTSIDE_STEPS = 1024, // how far code outside the function is followed
    // What calls need not keep: rax, rdx, rcx, rsi, rdi, r8 to r11.
    CALL_WRITES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8,
    ARGUMENTS = 1 << 5 | 1 << 4 | 1 << 1 | 1 << 2 | 1 << 8 | 1 << 9,
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

static uint16_t writes(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_CALLS
               ? (uint16_t)(effects->written | CALL_WRITES)
               : effects->written;
}

// Places outside the function that are still to be looked at.
struct outside {
    uint64_t waiting[OUTSIDE_STEPS];
    size_t count;
    size_t steps;
    bool came_back;
    argument_code_fn *code;
    void *context;
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
// into the function, past its entry. What it writes is added to written; registers
// taken off the stack are put back for a return, not for the function.
static bool follow_run(const struct argument_scan *scan, struct outside *outside,
                       uint64_t vaddr, uint16_t *written)
{
    while (outside->steps++ < OUTSIDE_STEPS) {
        size_t left;
        struct instruction_effects effects;
        const uint8_t *bytes = outside->code(outside->context, vaddr, &left);
        if (bytes == NULL ||
            instruction_read_effects(bytes, left, vaddr, &effects) != CH_OK)
            return false;
        *written |= effects.pops ? 0 : writes(&effects);
        if (is_jump(&effects) && !is_inside(scan, effects.target))
            add_outside(outside, effects.target);
        if (is_jump(&effects) && is_inside(scan, effects.target) &&
            effects.target != scan->entry)
            outside->came_back = true;
        if (effects.flow == INSTRUCTION_JUMPS || effects.flow == INSTRUCTION_ENDS ||
            effects.flow == INSTRUCTION_ANYWHERE)
            return true;
        vaddr += effects.length;
    }
    return false;
}

// follow_outside looks at the code at target, outside of the function. Where it comes
// back it is a part of the function that the compiler has moved away, and what it
// writes counts. False: it comes back, and not all of it was seen.
static bool follow_outside(struct argument_scan *scan, struct outside *outside,
                           uint64_t target)
{
    uint16_t written = 0;
    bool whole = true;
    outside->count = outside->steps = 0;
    outside->came_back = false;
    add_outside(outside, target);
    for (size_t i = 0; i < outside->count; i++)
        whole = follow_run(scan, outside, outside->waiting[i], &written) && whole;
    if (!outside->came_back)
        return true;
    scan->written_outside |= written;
    return whole;
}

// follow_all_outside does so for each place that the function jumps to.
static bool follow_all_outside(struct argument_scan *scan, argument_code_fn *code,
                               void *context)
{
    struct outside *outside = calloc(1, sizeof(*outside));
    bool whole = outside != NULL;
    for (size_t i = 0; whole && i < scan->count; i++) {
        const struct instruction_effects *effects = &scan->steps[i].effects;
        outside->code = code;
        outside->context = context;
        if (is_jump(effects) && !is_inside(scan, effects->target))
            whole = follow_outside(scan, outside, effects->target);
    }
    free(outside);
    return whole;
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
    scan->usable =
        decoded && targets_fit(scan) && follow_all_outside(scan, code, context);
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
    bool *reaching; // the instruction in question
};

static bool falls_through(const struct instruction_effects *effects)
{
    return effects->flow == INSTRUCTION_NEXT || effects->flow == INSTRUCTION_MAY_JUMP ||
           effects->flow == INSTRUCTION_CALLS;
}

// mark_reached marks what the entry leads to, without going through instruction without
// (SIZE_MAX: through all).
static void mark_reached(struct walk *walk, size_t without)
{
    const struct argument_scan *scan = walk->scan;
    bool anywhere = false;
    memset(walk->reached, 0, scan->count * sizeof(walk->reached[0]));
    walk->reached[0] = without != 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < scan->count; i++) {
            const struct instruction_effects *effects = &scan->steps[i].effects;
            bool comes = i > 0 && walk->reached[i - 1] &&
                         falls_through(&scan->steps[i - 1].effects);
            if (!walk->reached[i] && i != without && (comes || anywhere))
                changed = walk->reached[i] = true;
            size_t jump = walk->reached[i] ? walk->jump[i] : SIZE_MAX;
            if (jump != SIZE_MAX && jump != without && !walk->reached[jump])
                changed = walk->reached[jump] = true;
            if (walk->reached[i] && effects->flow == INSTRUCTION_ANYWHERE && !anywhere)
                changed = anywhere = true;
        }
    }
}

// mark_reaching marks what comes before instruction at on some path to it.
static void mark_reaching(struct walk *walk, size_t at)
{
    const struct argument_scan *scan = walk->scan;
    memset(walk->reaching, 0, scan->count * sizeof(walk->reaching[0]));
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = scan->count; i > 0; i--) {
            const struct instruction_effects *effects = &scan->steps[i - 1].effects;
            size_t next = falls_through(effects) && i < scan->count ? i : SIZE_MAX;
            size_t jump = walk->jump[i - 1];
            bool reaches = effects->flow == INSTRUCTION_ANYWHERE ||
                           (next != SIZE_MAX && (next == at || walk->reaching[next])) ||
                           (jump != SIZE_MAX && (jump == at || walk->reaching[jump]));
            if (reaches && !walk->reaching[i - 1])
                changed = walk->reaching[i - 1] = true;
        }
    }
}

// written_before is what some path from the entry to instruction at writes. All of
// walk's marks are then of it.
static uint16_t written_before(struct walk *walk, size_t at)
{
    uint16_t written = walk->scan->written_outside;
    mark_reached(walk, SIZE_MAX);
    mark_reaching(walk, at);
    for (size_t i = 0; i < walk->scan->count; i++)
        if (walk->reached[i] && walk->reaching[i])
            written |= writes(&walk->scan->steps[i].effects);
    return written;
}

// is_only_write is whether nothing but instruction copy, and what takes it off the
// stack at the end, writes register reg; and no such end lies before instruction pc.
static bool is_only_write(struct walk *walk, size_t copy, size_t pc, unsigned reg)
{
    if (walk->scan->written_outside >> reg & 1)
        return false;
    mark_reached(walk, SIZE_MAX);
    mark_reaching(walk, pc);
    for (size_t i = 0; i < walk->scan->count; i++) {
        const struct instruction_effects *effects = &walk->scan->steps[i].effects;
        bool before = walk->reached[i] && walk->reaching[i];
        if (i != copy && effects->written >> reg & 1 && (!effects->pops || before))
            return false;
    }
    return true;
}

// is_on_every_path is whether every path from the entry to pc goes through copy.
static bool is_on_every_path(struct walk *walk, size_t copy, size_t pc)
{
    if (copy == pc)
        return false; // it has not been done yet
    mark_reached(walk, copy);
    return !walk->reached[pc];
}

// straight_end is the first instruction that does not simply follow from the entry:
// what is before it was done once, whatever an indirect jump does.
static size_t straight_end(const struct walk *walk)
{
    size_t end = 0;
    while (end < walk->scan->count &&
           walk->scan->steps[end].effects.flow == INSTRUCTION_NEXT)
        end++;
    for (size_t i = 0; i < walk->scan->count; i++)
        if (walk->jump[i] < end)
            end = walk->jump[i];
    return end;
}

// is_made is whether instruction copy has copied, on every path to pc, what register
// from was at the entry.
static bool is_made(struct walk *walk, size_t copy, size_t pc, unsigned from)
{
    uint16_t written = 0;
    if (copy >= straight_end(walk))
        return is_on_every_path(walk, copy, pc) &&
               !(written_before(walk, copy) >> from & 1);
    for (size_t i = 0; i < copy; i++)
        written |= walk->scan->steps[i].effects.written;
    return copy < pc && !(written >> from & 1);
}

// prove_copies looks for copies of argument registers to registers that calls keep: one
// that was made while the register was untouched, that every path to pc has made, and
// that nothing has written over.
static void prove_copies(struct walk *walk, size_t pc, struct argument_proof *out)
{
    const struct argument_scan *scan = walk->scan;
    for (size_t i = 0; i < scan->count; i++) {
        uint8_t from = scan->steps[i].effects.copies_from;
        uint8_t to = scan->steps[i].effects.copies_to;
        if (from >= 16 || to >= 16 || !(ARGUMENTS >> from & 1) ||
            !(CALL_KEEPS >> to & 1) || out->copied_to[from] != INSTRUCTION_NO_REGISTER)
            continue;
        if (!is_only_write(walk, i, pc, to) || !is_made(walk, i, pc, from))
            continue;
        out->copied_to[from] = to;
        out->copied_bytes[from] = scan->steps[i].effects.copied_bytes;
    }
}

static void prove(struct walk *walk, size_t pc, struct argument_proof *out)
{
    const struct argument_scan *scan = walk->scan;
    for (size_t i = 0; i < scan->count; i++) {
        const struct instruction_effects *effects = &scan->steps[i].effects;
        walk->jump[i] = is_jump(effects) && is_inside(scan, effects->target)
                            ? find_step(scan, effects->target)
                            : SIZE_MAX;
    }
    *out = (struct argument_proof){ .untouched = (uint16_t)~written_before(walk, pc) };
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
