// SPDX-License-Identifier: Apache-2.0
//
// How it works: local_walk_next tries the cheapest way first: remembered steps or frame
// records (walk_repeat_*), then the rules of the image (step_out), then all of the
// stack again with all registers (recover_registers). enter_stack sets what may be
// read.
// Invariants: a step leads outward and to code, so each walk ends; memory is read only
// within the stack and images, or where the kernel says that it can be; one walk at a
// time uses the thread's table (take_table).
#include "backtrace/local_walk.h"

#include "backtrace/code_return.h"
#include "unwind/guess_step.h"
#include "unwind/row_step.h"
#include "unwind/unwind.h"

// Sanitizers would report reads of another frame's memory as errors.
#define UNCHECKED __attribute__((no_sanitize("address", "thread")))

enum {
    WORD = sizeof(uint64_t),
    PAGE_BYTES = 4096,
    OTHER_STACK_BYTES = 16 << 20, // of a stack that is not the thread's
    RED_ZONE_BYTES = 128,         // below the stack pointer, used by leaf functions
    SIGNALS_MAX = 64,
    LEAST_CODE = 1 << 16, // nothing is mapped below (vm.mmap_min_addr)
    USER_BITS = 48,
    FRAMES_MAX = 1 << 20,
};

static inline UNCHECKED uint64_t load_word(uint64_t address)
{
    return *(const volatile uint64_t *)(uintptr_t)address;
}

// plain_address is a return address without its authentication code.
static inline uint64_t plain_address(uint64_t address)
{
#if defined(__x86_64__)
    return address;
#else
    return unwind_arch_address(unwind_arch_native(), address);
#endif
}

// enter_stack sets what may be read: from sp to the end of the thread's stack, or, on
// another stack, to the end of the page that sp is in, and more when it is needed.
static void enter_stack(struct local_walk *w, uint64_t sp)
{
    const struct local_thread *thread = w->thread;
    w->stack_limit = 0;
    w->stack_low = sp - RED_ZONE_BYTES;
    if (thread != NULL && sp >= thread->stack_low && sp < thread->stack_high) {
        if (w->stack_low < thread->stack_low)
            w->stack_low = thread->stack_low;
        w->stack_high = thread->stack_high;
        return;
    }
    w->stack_low = w->stack_high = sp & -(uint64_t)PAGE_BYTES;
    w->stack_limit =
        sp <= UINT64_MAX - 2 * OTHER_STACK_BYTES ? sp + OTHER_STACK_BYTES : 0;
}

// extend_stack asks the kernel for more of another stack, up to its first gap.
static bool extend_stack(struct local_walk *w, uint64_t end)
{
    while (w->stack_high < end && w->stack_high < w->stack_limit) {
        if (!local_code_is_readable(w->stack_high))
            w->stack_limit = 0;
        else
            w->stack_high += PAGE_BYTES;
    }
    return end <= w->stack_high;
}

// on_stack returns true if size bytes at address can be read as part of the stack.
static inline bool on_stack(struct local_walk *w, uint64_t address, uint64_t size)
{
    if (address < w->stack_low || address > UINT64_MAX - size)
        return false;
    return address + size <= w->stack_high || extend_stack(w, address + size);
}

// in_segment does the same of loaded segments of images.
static bool in_segment(uint64_t address, uint64_t size)
{
    struct local_image image;
    uint64_t low;
    uint64_t high;
    return local_code_image(address, &image) &&
           local_code_segment(&image, address, false, &low, &high) &&
           size <= high - address;
}

static UNCHECKED void copy_bytes(uint64_t address, void *to, size_t size)
{
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[i] = ((const volatile unsigned char *)(uintptr_t)address)[i];
}

// is_readable does the same of what is in no image: the kernel is asked.
static bool is_readable(uint64_t address, uint64_t size)
{
    const uint64_t last = address + size - 1;
    return local_code_is_readable(address) &&
           (address / PAGE_BYTES == last / PAGE_BYTES || local_code_is_readable(last));
}

// at_code does the same of what is at the walk's PC, which may be in no image.
static bool at_code(const struct local_walk *w, uint64_t address, uint64_t size)
{
    const uint64_t reach = 16;
    return address - w->pc + reach < 2 * reach && is_readable(address, size);
}

// local_read is a memory_read_fn over a walk: of the stack, of images, and of the code
// that the walk is at.
static UNCHECKED size_t local_read(void *walk, uint64_t address, void *to, size_t size)
{
    bool aligned = size == WORD && address % WORD == 0;
    if (!on_stack(walk, address, size) && !in_segment(address, size) &&
        !at_code(walk, address, size))
        return 0;
    if (aligned)
        *(uint64_t *)to = load_word(address);
    else
        copy_bytes(address, to, size);
    return size;
}

// local_read_code is a memory_read_fn for code, also of code that was compiled while
// the program ran.
static size_t local_read_code(void *unused, uint64_t address, void *to, size_t size)
{
    (void)unused;
    if (!in_segment(address, size) && !is_readable(address, size))
        return 0;
    copy_bytes(address, to, size);
    return size;
}

// number_image gives the number in the table, plus 1, of an image that can be unloaded.
// False: there is no room for more, and no step of it is remembered.
static bool number_image(struct local_walk *w, const struct local_image *image,
                         uint8_t *out)
{
    struct local_thread *table = w->table;
    *out = 0;
    if (local_code_is_lasting(image))
        return true;
    const struct local_seen now = { image->start, local_code_stamp(image) };
    for (size_t i = 0; i < table->seen_count; i++) {
        if (table->seen[i].start == now.start && table->seen[i].stamp == now.stamp) {
            *out = (uint8_t)(i + 1);
            return true;
        }
    }
    if (table->seen_count == LOCAL_IMAGES_SEEN)
        return false;
    table->seen[table->seen_count] = now;
    *out = (uint8_t)++table->seen_count;
    return true;
}

// is_same_image returns true if an image, by its number in the table, is what it was.
// It is compared once in each walk.
static bool is_same_image(struct local_walk *w, uint8_t number)
{
    struct local_image image;
    const struct local_seen *seen = &w->table->seen[number - 1];
    uint64_t bit = UINT64_C(1) << (number - 1);
    if (w->seen_same & bit)
        return true;
    if (!local_code_image(seen->start, &image) || image.start != seen->start ||
        local_code_stamp(&image) != seen->stamp)
        return false;
    w->seen_same |= bit;
    return true;
}

// may_leave_signal returns whether the code at pc, which can be read, may be the one
// that returns from a signal.
static UNCHECKED bool may_leave_signal(uint64_t pc)
{
    const unsigned char *code = (const unsigned char *)(uintptr_t)pc;
#if defined(__x86_64__)
    return (code[0] == 0x48 && code[1] == 0xc7) || (code[0] == 0x0f && code[1] == 0x05);
#else
    return code[0] == 0x68 && code[1] == 0x11;
#endif
}

// is_code_outside returns true if pc, which is in no image, is in code: after a call,
// as in what was compiled while the program ran, or where a signal handler returns to,
// as under qemu, which has no vDSO. The stack has no code.
static bool is_code_outside(const struct local_walk *w, uint64_t pc)
{
    const struct memory_reader memory = { .read = local_read_code };
    return pc >= LEAST_CODE && pc >> USER_BITS == 0 &&
           (pc < w->stack_low || pc >= w->stack_high) && is_readable(pc, 2) &&
           (unwind_arch_native()->after_call(&memory, pc) || may_leave_signal(pc));
}

// is_code returns true if pc is in code of an image, or in other code.
static bool is_code(struct local_walk *w, uint64_t pc)
{
    struct local_image image;
    uint8_t number;
    if (pc >= w->code_low && pc < w->code_high)
        return true;
    if (!local_code_image(pc, &image))
        return is_code_outside(w, pc);
    if (!local_code_segment(&image, pc, true, &w->code_low, &w->code_high))
        return false;
    struct local_thread *table = w->table;
    if (table == NULL || !number_image(w, &image, &number))
        return true;
    struct local_code_range *to = &table->code[table->code_next++ % LOCAL_CODE];
    to->high = 0; // a handler may end this walk by longjmp
    atomic_signal_fence(memory_order_seq_cst);
    to->low = w->code_low;
    to->image = number;
    atomic_signal_fence(memory_order_seq_cst);
    to->high = w->code_high;
    return true;
}

// enter_known_code makes the remembered segment with pc the current one. False: there
// is none.
static bool enter_known_code(struct local_walk *w, uint64_t pc)
{
    for (size_t i = 0; w->table != NULL && i < LOCAL_CODE; i++) {
        const struct local_code_range *range = &w->table->code[i];
        if (pc < range->low || pc >= range->high ||
            (range->image != 0 && !is_same_image(w, range->image)))
            continue;
        w->code_low = range->low;
        w->code_high = range->high;
        return true;
    }
    return false;
}

static size_t step_place(uint64_t pc)
{
    return (size_t)((pc * UINT64_C(0x9e3779b97f4a7c15)) >> 54) % LOCAL_STEPS;
}

// find_step gives the remembered step from the return address pc, or NULL.
static inline struct local_step *find_step(struct local_thread *table, uint64_t pc)
{
    size_t place = step_place(pc);
    for (size_t i = 0; i < LOCAL_STEPS_NEAR; i++) {
        struct local_step *step = &table->steps[(place + i) % LOCAL_STEPS];
        if (step->pc == pc)
            return step;
    }
    return NULL;
}

// words_below gives the distance from the CFA to a word saved below it.
static bool words_below(const struct unwind_rule *rule, int16_t *out)
{
    if (rule->kind != UNWIND_AT_CFA || rule->offset >= 0 || rule->offset % WORD != 0 ||
        rule->offset < -WORD * UINT8_MAX)
        return false;
    *out = (int16_t)(rule->offset / WORD);
    return true;
}

// saved_bytes is how far below its CFA a step reads.
static int32_t saved_bytes(const struct local_step *step)
{
    return -WORD * (step->fp_words < step->ra_words ? step->fp_words : step->ra_words);
}

// read_step makes a step of row. False: it is no plain one.
static bool read_step(const struct unwind_row *row, struct local_step *out)
{
    bool by_sp = row->cfa.reg == UNWIND_SP;
    if (out->is_last)
        return true;
    if (row->cfa.kind != UNWIND_REGISTER_PLUS ||
        (!by_sp && row->cfa.reg != UNWIND_FP) || row->cfa.offset > INT32_MAX ||
        row->cfa.offset < INT32_MIN || !words_below(&row->ra, &out->ra_words) ||
        (row->fp.kind != UNWIND_SAME && !words_below(&row->fp, &out->fp_words)))
        return false;
    out->cfa_is_fp = !by_sp;
    out->cfa_offset = (int32_t)row->cfa.offset;
    return !by_sp ||
           (out->cfa_offset % WORD == 0 && out->cfa_offset >= saved_bytes(out));
}

// remember_step adds the step from the return address pc by row, if it is a plain one.
static void remember_step(struct local_walk *w, const struct local_image *image,
                          uint64_t pc, const struct unwind_row *row)
{
    struct local_step step = { .is_last = row->flags & UNWIND_OUTERMOST };
    // Where a row ends at the return address, a signal may have been taken there.
    if (w->table == NULL || w->is_interrupted || row->end == pc ||
        row->flags & UNWIND_SIGNAL_FRAME || !number_image(w, image, &step.image) ||
        !read_step(row, &step))
        return;
    step.is_unusual = step.is_last || step.image != 0;

    struct local_step *to = &w->table->steps[step_place(pc)];
    for (size_t i = 0; i < LOCAL_STEPS_NEAR && to->pc != 0 && to->pc != pc; i++)
        to = &w->table->steps[(step_place(pc) + i) % LOCAL_STEPS];
    if (to->pc != 0 && to->pc != pc)
        to = &w->table->steps[step_place(pc)];
    // The address is written last: a handler may end this walk by longjmp.
    to->pc = 0;
    atomic_signal_fence(memory_order_seq_cst);
    *to = step;
    atomic_signal_fence(memory_order_seq_cst);
    to->pc = pc;
}

static size_t walk_end(struct local_walk *w, enum crashhook_raw_end end)
{
    w->end = end;
    w->has_ended = true;
    return 0;
}

// may_repeat returns true if a step can be taken that is the last one, or of an image
// that can be unloaded.
static bool may_repeat(struct local_walk *w, const struct local_step *step)
{
    if (step->image != 0 && !is_same_image(w, step->image))
        return false;
    if (step->is_last)
        (void)walk_end(w, CRASHHOOK_RAW_COMPLETE);
    return !step->is_last;
}

// find_caller_step gives the step from pc, to which step led, and remembers that.
static __attribute__((noinline)) const struct local_step *
find_caller_step(struct local_thread *table, const struct local_step *step, uint64_t pc)
{
    const struct local_step *caller = find_step(table, pc);
    if (caller != NULL)
        table->steps[step - table->steps].caller = (uint16_t)(caller - table->steps);
    return caller;
}

// walk_repeat_steps moves outward by remembered steps. The one that followed the last
// time is tried first: a processor goes on with it before it has loaded the PC. The
// loop is what a capture costs, so checks that a step passed once are not repeated.
static UNCHECKED size_t walk_repeat_steps(struct local_walk *w, uint64_t *addresses,
                                          size_t room)
{
    struct local_thread *table = w->table;
    const uint64_t high = w->stack_high;
    uint64_t pc = w->pc;
    uint64_t sp = w->sp;
    uint64_t fp = w->fp;
    size_t count = 0;
    const struct local_step *step =
        pc != 0 && sp % WORD == 0 ? find_step(table, pc) : NULL;
    while (step != NULL && count < room) {
        if (step->is_unusual && !may_repeat(w, step))
            break;
        uint64_t cfa = sp + (uint64_t)(int64_t)step->cfa_offset;
        if (step->cfa_is_fp) {
            cfa += fp - sp;
            if (cfa <= sp || cfa % WORD != 0 || !w->has_fp ||
                cfa - w->stack_low < (uint64_t)saved_bytes(step))
                break;
        }
        if (cfa > high)
            break;
        uint64_t caller_pc =
            plain_address(load_word(cfa + (uint64_t)(step->ra_words * WORD)));
        if (caller_pc == 0) // that of an empty place
            break;
        const struct local_step *caller = &table->steps[step->caller];
        if (caller->pc != caller_pc) {
            caller = find_caller_step(table, step, caller_pc);
            if (caller == NULL && !is_code(w, caller_pc))
                break;
        }
        if (step->fp_words != 0)
            fp = load_word(cfa + (uint64_t)(step->fp_words * WORD));
        sp = cfa;
        pc = caller_pc;
        addresses[count++] = pc;
        step = caller;
    }
    w->pc = pc;
    w->sp = sp;
    w->fp = fp;
    w->has_state = w->has_state && count == 0;
    return count;
}

// walk_repeat_records moves outward by frame records, as long as they lead to code that
// is known. What else there is (other code, a signal, more of another stack) is left to
// walk_by_record; only a broken chain ends the walk here.
static UNCHECKED size_t walk_repeat_records(struct local_walk *w, uint64_t *addresses,
                                            size_t room)
{
    const uint64_t record = 2 * (uint64_t)WORD;
    const uint64_t last = w->stack_high - record; // where a record can be
    uint64_t fp = w->fp;
    uint64_t sp = w->sp;
    uint64_t pc = w->pc;
    size_t count = 0;
    if (sp < w->stack_low || sp > last ||
        (pc - w->code_low >= w->code_high - w->code_low && !enter_known_code(w, pc)) ||
        may_leave_signal(pc))
        return 0;
    uint64_t code_low = w->code_low;
    uint64_t code_size = w->code_high - code_low;
    for (; count < room; addresses[count++] = pc) {
        // One comparison: a record below sp is beyond all others too.
        if (fp - sp > last - sp || fp % WORD != 0) {
            if (fp < sp || fp <= last || w->stack_limit == 0)
                (void)walk_end(w, fp == 0 ? CRASHHOOK_RAW_COMPLETE
                                          : CRASHHOOK_RAW_NO_PROGRESS);
            break;
        }
        uint64_t caller = plain_address(load_word(fp + WORD));
        bool is_known = caller - code_low < code_size;
        if (!is_known && !enter_known_code(w, caller))
            break;
        pc = caller;
        sp = fp + record;
        fp = load_word(fp);
        if (is_known)
            continue;
        code_low = w->code_low;
        code_size = w->code_high - code_low;
        if (may_leave_signal(pc)) {
            addresses[count++] = pc;
            break;
        }
    }
    w->pc = pc;
    w->sp = sp;
    w->fp = fp;
    w->has_state = w->has_state && count == 0;
    return count;
}

// load_state makes w->state that of the current frame, as far as it is known.
static void load_state(struct local_walk *w)
{
    if (w->has_state)
        return;
    w->has_state = true;
    w->state.changed = 0;
    if (w->is_first) {
        w->state.registers = *w->first;
        w->state.known = w->state.kept = UINT64_MAX;
        return;
    }
    w->state.known = w->state.kept = 0;
    unwind_state_set(&w->state, UNWIND_PC, w->pc);
    unwind_state_set(&w->state, UNWIND_SP, w->sp);
    if (w->has_fp)
        unwind_state_set(&w->state, UNWIND_FP, w->fp);
}

static void store_state(struct local_walk *w, bool is_interrupted)
{
    w->pc = w->state.registers.value[UNWIND_PC];
    w->sp = w->state.registers.value[UNWIND_SP];
    w->fp = w->state.registers.value[UNWIND_FP];
    w->has_fp = unwind_state_knows(&w->state, UNWIND_FP);
    w->is_interrupted = is_interrupted;
    w->is_first = false;
}

// walk_by_signal leaves the code that returns from a signal: the kernel saved all
// registers of the interrupted frame on the stack.
static enum ch_status walk_by_signal(struct local_walk *w,
                                     const struct memory_reader *memory)
{
    const struct unwind_arch *arch = unwind_arch_native();
    struct unwind_registers saved;
    uint64_t sp;
    if (!unwind_arch_signal_sp(arch, &w->state, &sp) ||
        !arch->read_signal(memory, w->pc, sp, &saved))
        return CH_ERR_NOT_FOUND;
    for (unsigned i = 0; i < arch->register_count; i++)
        unwind_state_set(&w->state, i, saved.value[i]);
    return CH_OK;
}

// check_step finds out whether w->state is further out, and in code.
static enum ch_status check_step(struct local_walk *w, bool signal)
{
    uint64_t pc = w->state.registers.value[UNWIND_PC];
    uint64_t sp = w->state.registers.value[UNWIND_SP];
    if (signal)
        return ++w->signals <= SIGNALS_MAX && sp != w->sp ? CH_OK : CH_ERR_MALFORMED;
    if (pc == 0)
        return CH_END;
    // A function that has called nothing yet may use no stack, where the return address
    // is in a register.
    bool empty = w->is_interrupted && sp == w->sp && pc != w->pc;
    if (sp % WORD != 0 || (sp <= w->sp && !empty))
        return CH_ERR_MALFORMED;
    return is_code(w, pc) ? CH_OK : CH_ERR_NOT_FOUND;
}

// is_plausible returns true if the state's PC, which is in code, is after a call or
// where a signal handler returns to. It is asked where a step rests on no rules.
static bool is_plausible(const struct local_walk *w)
{
    const struct memory_reader memory = { .read = local_read_code };
    uint64_t pc = w->state.registers.value[UNWIND_PC];
    return unwind_arch_native()->after_call(&memory, pc) || may_leave_signal(pc);
}

// find_code_rules makes rules for an image that has none from its code.
static enum ch_status find_code_rules(const struct local_walk *w,
                                      const struct local_image *image,
                                      struct unwind_row *out)
{
    struct code_range code;
    return local_code_segment(image, w->pc, true, &code.low, &code.high) &&
                   code_return_find(w->pc, !w->is_interrupted, &code, out)
               ? CH_OK
               : CH_ERR_NOT_FOUND;
}

// walk_by_rules moves w->state to the caller by the rules of the frame's image.
static enum ch_status walk_by_rules(struct local_walk *w,
                                    const struct memory_reader *memory, bool *signal)
{
    struct unwind_row row;
    struct local_image image;
    uint64_t at = w->is_interrupted ? w->pc : w->pc - 1;
    enum ch_status status = CH_ERR_NOT_FOUND;
    bool has_image = local_code_image(at, &image);
    if (has_image)
        status = local_code_rules(&image, at, w->algorithm, &row);
    // The C library's code that returns from a signal may have no rules. Those found by
    // the address before it are then another function's.
    bool may_be_signal = status != CH_OK || row.flags & UNWIND_SIGNAL_FRAME ||
                         (!w->is_interrupted && row.end == w->pc);
    *signal = may_be_signal && walk_by_signal(w, memory) == CH_OK;
    if (*signal)
        return CH_OK;
    const bool by_code = status == CH_ERR_NOT_FOUND && has_image;
    if (by_code)
        status = find_code_rules(w, &image, &row);
    if (status != CH_OK)
        return status;
    *signal = row.flags & UNWIND_SIGNAL_FRAME;
    const struct row_step step = { .arch = unwind_arch_native(),
                                   .memory = memory,
                                   .row = &row,
                                   .exact = w->is_interrupted };
    const uint64_t pc = w->pc;
    status = row_step(&step, &w->state);
    if (status == CH_OK)
        status = check_step(w, *signal);
    if (status == CH_OK && by_code && !is_plausible(w))
        return CH_ERR_NOT_FOUND;
    if (status == CH_OK || (status == CH_END && row.flags & UNWIND_OUTERMOST))
        remember_step(w, &image, pc, &row);
    return status;
}

static enum crashhook_raw_end end_of(enum ch_status status)
{
    switch (status) {
    case CH_END:
        return CRASHHOOK_RAW_COMPLETE;
    case CH_ERR_FAULT:
        return CRASHHOOK_RAW_UNREADABLE;
    case CH_ERR_MALFORMED:
        return CRASHHOOK_RAW_NO_PROGRESS;
    default:
        return CRASHHOOK_RAW_NO_RULE;
    }
}

// step_out moves to the caller: by rules, or by the frame record.
static enum ch_status step_out(struct local_walk *w)
{
    const struct memory_reader memory = { .read = local_read, .source = w };
    bool signal = false;
    load_state(w);
    unwind_state_keep(&w->state);
    enum ch_status status = walk_by_rules(w, &memory, &signal);
    enum ch_status reason = status;
    if (status == CH_ERR_NOT_FOUND || status == CH_ERR_FAULT ||
        status == CH_ERR_MALFORMED) {
        unwind_state_undo(&w->state);
        status = fp_step(unwind_arch_native(), &memory, &w->state);
        if (status == CH_OK)
            status = check_step(w, false);
        if (status == CH_OK && !is_plausible(w))
            status = CH_ERR_NOT_FOUND;
        // Frame records prove nothing where there were rules.
        if (status != CH_OK && (status != CH_END || reason != CH_ERR_NOT_FOUND))
            status = reason;
    }
    if (status != CH_OK) {
        unwind_state_undo(&w->state);
        return status;
    }
    store_state(w, signal);
    if (signal)
        enter_stack(w, w->sp);
    if (signal)
        w->keeps_all = false;
    return CH_OK;
}

// walk_from_first sets the walk to the frame that it began with.
static void walk_from_first(struct local_walk *w)
{
    w->pc = w->first->value[UNWIND_PC];
    w->sp = w->first->value[UNWIND_SP];
    w->fp = w->first->value[UNWIND_FP];
    w->is_first = true;
    w->is_interrupted = true;
    w->has_fp = true;
    w->has_state = false;
    w->signals = 0;
    enter_stack(w, w->sp);
}

// recover_registers walks again from the start, with all registers, to the current
// frame. False: that walk does not come to it.
static bool recover_registers(struct local_walk *w)
{
    const uint64_t pc = w->pc;
    const uint64_t sp = w->sp;
    enum ch_status status = CH_OK;
    walk_from_first(w);
    for (size_t i = 0; i < FRAMES_MAX && status == CH_OK; i++) {
        if (w->sp == sp && w->pc == pc)
            break;
        status = step_out(w);
    }
    w->keeps_all = true;
    return status == CH_OK && w->sp == sp && w->pc == pc;
}

// take_table lets the walk use the thread's table, unless it interrupts another walk
// that does. One that was left by longjmp does no more: it was further in.
static void take_table(struct local_walk *w)
{
    struct local_thread *thread = local_thread_own;
    w->thread = thread;
    w->table = NULL;
    if (thread == NULL)
        return;
    const uint64_t here = (uintptr_t)__builtin_frame_address(0);
    const uint64_t other = thread->busy;
    bool left = here > other && here < thread->stack_high && other >= thread->stack_low;
    if (other != 0 && !left)
        return;
    thread->busy = here;
    atomic_signal_fence(memory_order_seq_cst);
    w->table = thread;
}

void local_walk_begin(struct local_walk *w, const struct unwind_registers *registers,
                      enum crashhook_unwind_algorithm algorithm)
{
    take_table(w);
    w->first = registers;
    w->algorithm = algorithm;
    if (algorithm == CRASHHOOK_UNWIND_FAST && local_code_any_sframe())
        w->algorithm = CRASHHOOK_UNWIND_AUTO;
    w->end = CRASHHOOK_RAW_FULL;
    w->has_ended = false;
    w->keeps_all = false;
    w->code_low = 0;
    w->code_high = 0;
    w->seen_same = 0;
    walk_from_first(w);
}

void local_walk_finish(struct local_walk *w)
{
    if (w->table == NULL)
        return;
    atomic_signal_fence(memory_order_seq_cst);
    w->table->busy = 0;
}

UNCHECKED void local_walk_to_caller(struct local_walk *w, const uint64_t *record,
                                    uint64_t cfa)
{
    w->fp = load_word((uintptr_t)record);
    w->pc = plain_address(load_word((uintptr_t)record + WORD));
    w->sp = cfa;
    w->is_first = false;
    w->is_interrupted = false;
}

// walk_by_record moves to the caller by the frame record alone, or out of a signal.
static enum ch_status walk_by_record(struct local_walk *w)
{
    const struct memory_reader memory = { .read = local_read, .source = w };
    load_state(w);
    bool signal = walk_by_signal(w, &memory) == CH_OK;
    enum ch_status status =
        signal ? CH_OK : fp_step(unwind_arch_native(), &memory, &w->state);
    if (status == CH_OK)
        status = check_step(w, signal);
    if (status != CH_OK)
        return status;
    store_state(w, signal);
    if (signal)
        enter_stack(w, w->sp);
    return CH_OK;
}

// is_record_false returns whether the frame record of a function in an image leads to
// an address in none, as where the function uses the register for something else. Rules
// are then tried before the kernel is asked for that address. Where calls push nothing,
// the stack pointer is not known after a record, and rules could not be followed.
static UNCHECKED bool is_record_false(struct local_walk *w)
{
    struct local_image image;
    const uint64_t return_place = w->fp + WORD;
    return unwind_arch_native()->link == UNWIND_NO_LINK && w->fp % WORD == 0 &&
           w->fp >= w->sp && on_stack(w, return_place, WORD) &&
           !local_code_image(load_word(return_place), &image) &&
           local_code_image(w->pc - 1, &image);
}

size_t local_walk_next(struct local_walk *w, uint64_t *addresses, size_t room)
{
    const bool fast = w->algorithm == CRASHHOOK_UNWIND_FAST;
    const bool repeats = !w->is_interrupted && !w->keeps_all;
    size_t count = 0;
    if (room == 0 || w->has_ended)
        return 0;
    if (repeats && fast)
        count = walk_repeat_records(w, addresses, room);
    if (count != 0 || w->has_ended)
        return count;
    const bool by_rules = !fast || is_record_false(w);
    if (repeats && by_rules && w->table != NULL)
        count = walk_repeat_steps(w, addresses, fast ? 1 : room);
    if (count != 0 || w->has_ended)
        return count;
    enum ch_status status = by_rules ? step_out(w) : walk_by_record(w);
    if (status == CH_ERR_UNSUPPORTED && !fast && !w->keeps_all && recover_registers(w))
        status = step_out(w);
    if (status != CH_OK)
        return walk_end(w, end_of(status));
    addresses[0] = w->pc;
    return 1;
}
