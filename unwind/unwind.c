// SPDX-License-Identifier: Apache-2.0
//
// How it works: walk_out passes the current frame to the visitor and moves to the
// caller, until a step fails, the visitor returns false, or UNWIND_MAX_FRAMES is
// reached.
//
// A step to the caller (walk_to_caller) tries, in this order:
// 1. known steps: what was done before at this return address (repeat_steps).
// 2. for the innermost frame, if its pc is no code: undo the call (step_by_call).
// 3. for code in no image: the runtime that compiled it (step_by_runtime).
// 4. the methods of the setting (means): by default SFrame, call frame information, a
//    return address at the top of the stack, the frame pointer, a stack scan.
//
// Where the thread has a shadow stack, a step counts only if it leads to the address
// that is there (walk_by_shadow).
//
// State: struct walk has the registers of the current frame as far as they are known
// (unwind_state), and `lost`, which is set once a method recovered only pc, sp and fp.
// If a DWARF rule then needs another register, find_lost walks again by DWARF alone,
// from the last frame with all registers known, and the walk prefers DWARF from there
// on.
//
// Invariants: unwind_try_step restores the state where a method fails, so each method
// begins at the same frame. A step counts only if it leads outward, to an aligned stack
// and to code (unwind_check_step), so every walk ends. CH_END from a method ends the
// walk as the end of the stack; by a frame pointer of 0 only where is_outermost
// confirms it.
#include "unwind/unwind.h"

#include <stdlib.h>

#include "unwind/guess_step.h"
#include "unwind/row_step.h"
#include "unwind/space_parts.h"
#include "unwind/unwind_state.h"

enum ch_status unwind_space_create(const struct unwind_arch *arch,
                                   const struct memory_reader *memory,
                                   const struct unwind_image *images, size_t count,
                                   struct unwind_space **out)
{
    struct unwind_space *space = calloc(1, sizeof(*space));
    if (space == NULL)
        return CH_ERR_NO_MEMORY;

    *space = (struct unwind_space){
        .arch = arch, .memory = memory, .images = images, .count = count
    };
    enum ch_status status =
        rule_cache_create(arch, memory, images, count, &space->rules);
    if (status != CH_OK) {
        unwind_space_destroy(space);
        return status;
    }
    space->known_steps = known_steps_create(arch, memory);
    *out = space;
    return CH_OK;
}

void unwind_space_destroy(struct unwind_space *space)
{
    if (space == NULL)
        return;
    libunwind_walk_destroy(space->libunwind);
    libunwind_images_destroy(space->libunwind_images);
    rule_cache_destroy(space->rules);
    free(space->known_steps);
    free(space);
}

void unwind_space_set_code(struct unwind_space *space, unwind_code_fn *code,
                           void *context)
{
    space->code = code;
    space->code_context = context;
}

void unwind_space_set_leave(struct unwind_space *space, unwind_leave_fn *leave,
                            void *context)
{
    space->leave = leave;
    space->leave_context = context;
}

void unwind_space_set_shadow(struct unwind_space *space, struct shadow_stack *shadow)
{
    space->shadow = shadow;
}

void unwind_space_set_debug_frames(struct unwind_space *space,
                                   unwind_debug_frame_fn *find, void *context)
{
    rule_cache_set_debug_frames(space->rules, find, context);
}

void unwind_space_set_sections(struct unwind_space *space, unwind_sections_fn *find,
                               void *context)
{
    rule_cache_set_sections(space->rules, find, context);
}

// unwind_space_is_code is an unwind_code_fn over a space.
static bool unwind_space_is_code(void *context, uint64_t address)
{
    struct unwind_space *space = context;
    // Multiplicative hashing: the top 9 bits index UNWIND_CODE_PLACES places, and 0
    // marks an empty one. Only addresses of code are cached.
    uint64_t *known =
        &space->known_code[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 55];
    if (*known == address && address != 0)
        return true;
    bool code = space->code != NULL
                    ? space->code(space->code_context, address)
                    : image_search(space->images, space->count, address) != NULL;
    if (code)
        *known = address;
    return code;
}

enum {
    FRAMES_AT_ONCE = 256,     // passed to an unwind_frames_fn
    SIGNALS_MAX = 1024,       // frames of one walk that a signal interrupted
    FULL_REGISTERS_BITS = -1, // every register is known
};

// walk is a walk under way: the current frame and how it was found.
struct walk {
    struct unwind_space *space;
    enum setting_unwind how;
    struct unwind_state state;
    struct unwind_registers full; // of the last frame with all registers known
    struct shadow_stack *shadow;  // NULL: there is none, or it was refuted
    struct unwind_frame frame;
    bool first;
    bool lost;         // some registers were lost since full
    bool guessed;      // the stack was searched for a frame of it
    bool in_libunwind; // libunwind's own walk is at this frame
    bool had_rule;     // a method had rules for this frame, and they failed
    unsigned signals;
    uint32_t scan_words;
    uint64_t called; // the last address that was_called looked at: a call precedes it
    const struct unwind_row *row; // of the step being made; NULL: it is by no row
};

// A step_fn moves w->state outward and sets the kind and trust of the new frame.
// unwind_try_step undoes the changes of one that fails.
typedef enum ch_status step_fn(struct walk *w, struct unwind_frame *frame);

static uint64_t pc_of(const struct walk *w)
{
    return w->state.registers.value[w->space->arch->pc];
}

static uint64_t sp_of(const struct walk *w)
{
    return w->state.registers.value[w->space->arch->sp];
}

static struct unwind_frame frame_of(enum unwind_kind kind, enum unwind_trust trust)
{
    return (struct unwind_frame){ .kind = kind, .trust = trust };
}

// code_begins returns true if the target's code at address begins with these bytes.
static bool code_begins(const struct memory_reader *memory, uint64_t address,
                        const uint8_t *bytes, size_t size)
{
    uint8_t code[16];
    return size <= sizeof(code) && memory_read(memory, address, code, size) == CH_OK &&
           memcmp(code, bytes, size) == 0;
}

// outermost_code is true where nothing calls the code at pc, in image or in none
// (NULL): the kernel started the program there, or what is called there cannot return.
// It is recognized by its bytes: where the program starts, a halt, and how musl ends a
// thread. That none of them is there proves nothing.
static bool outermost_code(const struct memory_reader *memory,
                           const struct unwind_image *image, uint64_t pc)
{
    enum { ENTRY_BYTES = 64 };
    static const uint8_t halt[] = { 0xf4 };
    // How musl's clone ends a thread: mov edi, eax; xor eax, eax; mov al, 60; syscall.
    static const uint8_t exit_thread[] = { 0x89, 0xc7, 0x31, 0xc0,
                                           0xb0, 0x3c, 0x0f, 0x05 };
    return (image != NULL && image->entry != 0 && pc - image->entry < ENTRY_BYTES) ||
           code_begins(memory, pc, halt, sizeof(halt)) ||
           code_begins(memory, pc, exit_thread, sizeof(exit_thread));
}

// step_by_signal leaves the code that returns from a signal: the kernel saved all
// registers of the interrupted frame on the stack.
static enum ch_status step_by_signal(struct walk *w, enum unwind_trust trust,
                                     struct unwind_frame *frame)
{
    const struct unwind_arch *arch = w->space->arch;
    struct unwind_registers saved;
    uint64_t sp;
    if (!unwind_arch_signal_sp(arch, &w->state, &sp) ||
        !arch->read_signal(w->space->memory, pc_of(w), sp, &saved))
        return CH_ERR_NOT_FOUND;
    for (unsigned i = 0; i < arch->register_count; i++)
        unwind_state_set(&w->state, i, saved.value[i]);
    *frame = frame_of(UNWIND_KIND_PC, trust);
    return CH_OK;
}

// step_by_row steps by source's rules for the frame's code: at its PC, or at the call
// before its return address.
static enum ch_status step_by_row(struct walk *w, enum rule_source source,
                                  struct unwind_frame *frame)
{
    bool exact = w->frame.kind == UNWIND_KIND_PC;
    uint64_t pc = pc_of(w);
    enum unwind_trust trust =
        source == RULE_SFRAME ? UNWIND_TRUST_SFRAME : UNWIND_TRUST_CFI;
    const struct unwind_row *row = NULL;

    enum ch_status status =
        rule_cache_find(w->space->rules, source, exact ? pc : pc - 1, &row);
    // Where the image has no SFrame and DWARF is tried as well, step_by_cfi checks for
    // signals.
    bool dwarf_too = w->how == SETTING_UNWIND_AUTO || w->how == SETTING_UNWIND_PRECISE;
    if (status == CH_ERR_UNSUPPORTED && source == RULE_SFRAME && dwarf_too)
        return CH_ERR_NOT_FOUND;
    // glibc's signal return code may have no rules. The rules found by the address
    // before it are then those of another function.
    bool may_be_signal = status != CH_OK || row->flags & UNWIND_SIGNAL_FRAME ||
                         (!exact && row->end == pc);
    if (may_be_signal && step_by_signal(w, trust, frame) == CH_OK)
        return CH_OK;
    if (status != CH_OK)
        return CH_ERR_NOT_FOUND;

    bool signal = row->flags & UNWIND_SIGNAL_FRAME;
    const struct row_step step = { .arch = w->space->arch,
                                   .memory = w->space->memory,
                                   .row = row,
                                   .exact = exact,
                                   .only_tracks = source == RULE_SFRAME };
    *frame = frame_of(signal ? UNWIND_KIND_PC : UNWIND_KIND_RA, trust);
    w->row = row;
    return row_step(&step, &w->state);
}

static enum ch_status step_by_sframe(struct walk *w, struct unwind_frame *frame)
{
    return step_by_row(w, RULE_SFRAME, frame);
}

static enum ch_status step_by_cfi(struct walk *w, struct unwind_frame *frame)
{
    return step_by_row(w, RULE_CFI, frame);
}

static enum ch_status step_by_frame_pointer(struct walk *w, struct unwind_frame *frame)
{
    if (step_by_signal(w, UNWIND_TRUST_FP, frame) == CH_OK)
        return CH_OK;
    *frame = frame_of(UNWIND_KIND_RA, UNWIND_TRUST_FP);
    return fp_step(w->space->arch, w->space->memory, &w->state);
}

static enum ch_status step_by_scan(struct walk *w, struct unwind_frame *frame)
{
    const struct scan_step scan = { .arch = w->space->arch,
                                    .memory = w->space->memory,
                                    .is_code = unwind_space_is_code,
                                    .context = w->space };
    *frame = frame_of(UNWIND_KIND_RA, UNWIND_TRUST_SCAN);
    return scan_step(&scan, &w->scan_words, &w->state);
}

// step_by_runtime asks the runtime whose code this is. What it says of its own code is
// trusted as call frame information is.
static enum ch_status step_by_runtime(struct walk *w, struct unwind_frame *frame)
{
    const struct unwind_space *space = w->space;
    *frame = frame_of(UNWIND_KIND_RA, UNWIND_TRUST_CFI);
    return space->leave(space->leave_context, &w->frame, &w->state);
}

// step_by_call undoes a call to an invalid address: the PC of the crashed frame is no
// code, so only the call itself was executed. All other registers are still the
// caller's.
static enum ch_status step_by_call(struct walk *w, struct unwind_frame *frame)
{
    const struct unwind_arch *arch = w->space->arch;
    uint64_t sp = sp_of(w);
    uint64_t caller = 0;
    if (arch->link != UNWIND_NO_LINK) {
        caller = unwind_arch_address(arch, w->state.registers.value[arch->link]);
        unwind_state_forget(&w->state, arch->link);
    } else {
        enum ch_status status = memory_read_word(w->space->memory, sp, &caller);
        if (status != CH_OK)
            return status;
        unwind_state_set(&w->state, arch->sp, sp + arch->word);
    }
    unwind_state_set(&w->state, arch->pc, caller);
    *frame = frame_of(UNWIND_KIND_RA, UNWIND_TRUST_SCAN);
    return CH_OK;
}

// step_by_frameless leaves code without rules that has made no frame: the top of the
// stack is its return address, and the frame pointer is still its caller's, past whom
// it leads. The caller is known by its own one, which called it directly.
static enum ch_status step_by_frameless(struct walk *w, struct unwind_frame *frame)
{
    enum { CALL = 0xe8, CALL_BYTES = 5, FUNCTION_BYTES_MAX = 1 << 16 };
    const struct memory_reader *memory = w->space->memory;
    const uint64_t record = w->state.registers.value[UNWIND_AMD64_FP];
    const struct unwind_row *row;
    uint64_t caller;
    uint64_t outer;
    uint8_t code[CALL_BYTES];
    int32_t distance;
    if (w->frame.kind != UNWIND_KIND_PC || w->space->arch->id != UNWIND_ARCH_AMD64 ||
        memory_read_word(memory, sp_of(w), &caller) != CH_OK ||
        memory_read_word(memory, record + w->space->arch->word, &outer) != CH_OK ||
        memory_read(memory, outer - CALL_BYTES, code, CALL_BYTES) != CH_OK ||
        code[0] != CALL)
        return CH_ERR_NOT_FOUND;
    memcpy(&distance, code + 1, sizeof(distance));
    uint64_t entry = outer + (uint64_t)(int64_t)distance;
    if (caller <= entry || caller - entry > FUNCTION_BYTES_MAX ||
        rule_cache_find(w->space->rules, RULE_CFI, entry, &row) != CH_OK ||
        rule_cache_find(w->space->rules, RULE_CFI, caller - 1, &row) != CH_OK ||
        row->cfa.kind != UNWIND_REGISTER_PLUS || row->cfa.reg != UNWIND_AMD64_FP)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = step_by_call(w, frame);
    frame->trust = UNWIND_TRUST_FP;
    return status;
}

static enum ch_status begin_libunwind(struct walk *w)
{
    struct unwind_space *space = w->space;
    enum ch_status status = CH_OK;
    if (space->arch != unwind_arch_native())
        return CH_ERR_UNSUPPORTED;
    if (space->libunwind_images == NULL)
        status = libunwind_images_create(space->memory, space->images, space->count,
                                         &space->libunwind_images);
    if (status == CH_OK && space->libunwind == NULL)
        status = libunwind_walk_create(space->libunwind_images, &space->libunwind);
    if (status == CH_OK)
        status = libunwind_walk_begin(space->libunwind, &w->state.registers,
                                      w->frame.kind == UNWIND_KIND_PC);
    return status;
}

static enum ch_status step_by_libunwind(struct walk *w, struct unwind_frame *frame)
{
    enum ch_status status = CH_OK;
    if (!w->in_libunwind)
        status = begin_libunwind(w);
    if (status != CH_OK)
        return status;
    bool in_signal = libunwind_walk_in_signal(w->space->libunwind);
    w->in_libunwind = false;
    struct unwind_registers found;
    status = libunwind_walk_step(w->space->libunwind);
    if (status == CH_OK)
        status = libunwind_walk_registers(w->space->libunwind, &found);
    if (status != CH_OK)
        return status;
    w->state.known = 0;
    unwind_state_set(&w->state, UNWIND_PC, found.value[UNWIND_PC]);
    unwind_state_set(&w->state, UNWIND_SP, found.value[UNWIND_SP]);
    unwind_state_set(&w->state, UNWIND_FP, found.value[UNWIND_FP]);
    w->in_libunwind = true;
    *frame = frame_of(in_signal ? UNWIND_KIND_PC : UNWIND_KIND_RA, UNWIND_TRUST_CFI);
    return CH_OK;
}

// The methods of each setting, in the order in which they are tried.
enum { MEANS_MAX = 5 };
static step_fn *const means[][MEANS_MAX] = {
    [SETTING_UNWIND_AUTO] = { step_by_sframe, step_by_cfi, step_by_frameless,
                              step_by_frame_pointer, step_by_scan },
    [SETTING_UNWIND_FAST] = { step_by_sframe, step_by_frame_pointer },
    [SETTING_UNWIND_PRECISE] = { step_by_cfi, step_by_sframe, step_by_frameless,
                                 step_by_frame_pointer, step_by_scan },
    [SETTING_UNWIND_SFRAME] = { step_by_sframe },
    [SETTING_UNWIND_DWARF] = { step_by_cfi },
    [SETTING_UNWIND_FP] = { step_by_frame_pointer },
    [SETTING_UNWIND_LIBUNWIND] = { step_by_libunwind },
};

// unwind_check_step returns true if a step from pc and sp led somewhere: outward, on an
// aligned stack, to code.
static enum ch_status unwind_check_step(struct walk *w, uint64_t pc, uint64_t sp,
                                        const struct unwind_frame *frame)
{
    uint64_t next_sp = sp_of(w);
    uint64_t next_pc = pc_of(w);
    bool signal = frame->kind == UNWIND_KIND_PC;

    // C libraries mark the outermost frame of a thread with a PC of 0.
    if (next_pc == 0)
        return CH_END;
    // Only an interrupted frame may be on another stack, or have a misaligned one.
    // Where the return address is in the link register, only the innermost frame may
    // use no stack.
    bool in_other = w->row != NULL && w->row->ra.kind == UNWIND_REGISTER_PLUS;
    bool empty =
        (w->frame.kind == UNWIND_KIND_PC || in_other) && next_sp == sp && next_pc != pc;
    if (!signal && (next_sp % w->space->arch->word != 0 || (next_sp <= sp && !empty)))
        return CH_ERR_MALFORMED;
    if (signal && (++w->signals > SIGNALS_MAX || next_sp == sp))
        return CH_ERR_MALFORMED;
    return unwind_space_is_code(w->space, next_pc) ? CH_OK : CH_ERR_NOT_FOUND;
}

static enum ch_status unwind_try_step(struct walk *w, step_fn *step)
{
    const uint64_t pc = pc_of(w);
    const uint64_t sp = sp_of(w);
    struct unwind_frame frame;
    unwind_state_keep(&w->state);
    w->row = NULL;
    enum ch_status status = step(w, &frame);
    w->had_rule = w->had_rule || status != CH_ERR_NOT_FOUND;
    if (status == CH_OK)
        status = unwind_check_step(w, pc, sp, &frame);
    if (status != CH_OK) {
        unwind_state_undo(&w->state);
        w->in_libunwind = false;
        return status;
    }
    w->frame.kind = frame.kind;
    w->frame.trust = frame.trust;
    w->lost = w->lost || frame.trust != UNWIND_TRUST_CFI;
    w->guessed = w->guessed || step == step_by_scan;
    if (frame.kind == UNWIND_KIND_PC) {
        w->full = w->state.registers;
        w->lost = false;
    }
    return CH_OK;
}

// unwind_begin_at starts a walk at a frame with all registers known.
static void unwind_begin_at(struct walk *w, const struct unwind_registers *registers)
{
    w->state.registers = *registers;
    w->state.known = (uint64_t)FULL_REGISTERS_BITS;
    w->state.kept = (uint64_t)FULL_REGISTERS_BITS;
    w->full = *registers;
}

// find_lost unwinds again by DWARF, from the last frame with all registers known to the
// current frame, because a rule needs a register that the methods used since did not
// recover. False: the second walk does not pass the current frame.
static bool find_lost(struct walk *w)
{
    struct walk again = { .space = w->space,
                          .how = SETTING_UNWIND_DWARF,
                          .frame = frame_of(UNWIND_KIND_PC, UNWIND_TRUST_CFI) };
    unwind_begin_at(&again, &w->full);
    uint64_t sp = sp_of(w);
    for (size_t count = 0; count < UNWIND_MAX_FRAMES; count++) {
        if (unwind_try_step(&again, step_by_cfi) != CH_OK ||
            again.frame.kind == UNWIND_KIND_PC || sp_of(&again) > sp)
            return false;
        if (sp_of(&again) < sp)
            continue;
        if (pc_of(&again) != pc_of(w))
            return false;
        w->state = again.state;
        return true;
    }
    return false;
}

// was_called returns true if a call precedes pc, or if that cannot be known.
static bool was_called(struct walk *w, uint64_t pc)
{
    const struct memory_reader *memory = w->space->memory;
    uint8_t last;
    if (pc == w->called)
        return true;
    if (memory_read(memory, pc - 1, &last, 1) == CH_OK &&
        !w->space->arch->after_call(memory, pc))
        return false;
    w->called = pc;
    return true;
}

// is_outermost returns true if the current frame certainly has no caller: it is in code
// that nothing calls, or the return address was planted when the stack was set up, as
// Go does with runtime.goexit. On x86 a frame pointer of 0 alone does not prove that:
// code that keeps no frame pointer has its caller's, and the program's start set that
// to 0. Nor does an address that was not called after a guess, which may have led to
// another one that is left on the stack, as that of main is.
static bool is_outermost(struct walk *w)
{
    uint64_t pc = pc_of(w);
    const struct unwind_space *space = w->space;
    const struct unwind_image *image = image_search(space->images, space->count, pc);
    // Elsewhere frame records are part of the ABI, though not in the innermost frame.
    if (space->arch->id != UNWIND_ARCH_AMD64 && space->arch->id != UNWIND_ARCH_I386)
        return !w->first;
    return outermost_code(space->memory, image, pc) ||
           (w->frame.kind == UNWIND_KIND_RA && !w->guessed && !was_called(w, pc));
}

// skips_sframe returns true if SFrame need not be tried, because no image has any:
// DWARF is tried as well, and would do the rest of what a step by SFrame does.
static bool skips_sframe(const struct walk *w)
{
    bool dwarf_too = w->how == SETTING_UNWIND_AUTO || w->how == SETTING_UNWIND_PRECISE;
    return dwarf_too && !rule_cache_has_sframe(w->space->rules);
}

// repeat_steps moves outward by cached steps, and gives the number of frames.
static size_t repeat_steps(struct walk *w, struct unwind_frame *frames, size_t room)
{
    if (w->space->known_steps == NULL || w->frame.kind != UNWIND_KIND_RA ||
        w->shadow != NULL)
        return 0;
    bool tries_sframe = w->how == SETTING_UNWIND_AUTO && !skips_sframe(w);
    size_t count =
        known_steps_repeat(w->space->known_steps, w->how, &w->state, frames, room);
    // Only where SFrame is tried first is it of interest what steps by it have lost.
    for (size_t i = 0; i < count && !w->lost && tries_sframe; i++)
        w->lost = frames[i].trust != UNWIND_TRUST_CFI;
    if (count != 0)
        w->frame = frames[count - 1];
    return count;
}

// try_first_ways tries what goes before the methods of the setting.
static enum ch_status try_first_ways(struct walk *w, bool asks_runtime)
{
    if (w->first && !unwind_space_is_code(w->space, pc_of(w)) &&
        unwind_try_step(w, step_by_call) == CH_OK)
        return CH_OK;
    if (!asks_runtime || unwind_try_step(w, step_by_runtime) != CH_OK)
        return CH_ERR_NOT_FOUND;
    w->lost = true; // the registers other than three
    return CH_OK;
}

// try_way makes a step by one method. Where a DWARF rule needs a register that is lost,
// the walk is repeated by DWARF. Once is enough: from there on DWARF is preferred,
// which recovers what it will need.
static enum ch_status try_way(struct walk *w, step_fn *way)
{
    enum ch_status status = unwind_try_step(w, way);
    if (status != CH_ERR_UNSUPPORTED || !w->lost || w->how != SETTING_UNWIND_AUTO ||
        way != step_by_cfi)
        return status;
    w->how = SETTING_UNWIND_PRECISE;
    w->lost = !find_lost(w);
    return unwind_try_step(w, step_by_cfi);
}

// walk_to_caller moves to the caller by the first method that leads there. Otherwise it
// gives the error of the first method that had rules.
static enum ch_status walk_to_caller(struct walk *w)
{
    const uint64_t pc = pc_of(w);
    const struct unwind_space *space = w->space;
    const bool asks_runtime =
        space->leave != NULL && image_search(space->images, space->count, pc) == NULL;
    const bool keeps = w->frame.kind == UNWIND_KIND_RA && !asks_runtime;
    enum ch_status reason = CH_ERR_NOT_FOUND;
    w->had_rule = false;
    if (try_first_ways(w, asks_runtime) == CH_OK)
        return CH_OK;

    for (size_t i = 0; i < MEANS_MAX && means[w->how][i] != NULL; i++) {
        step_fn *way = means[w->how][i];
        if (way == step_by_sframe && skips_sframe(w))
            continue;
        bool had_rule = w->had_rule;
        enum ch_status status = try_way(w, way);
        // A frame pointer of 0 ends a chain of frame records where the code proves that
        // nothing called it. It does not end the walk where rules say that the stack
        // goes on.
        if (status == CH_END &&
            (way != step_by_frame_pointer || (!had_rule && is_outermost(w))))
            return CH_END;
        // The next frame with this return address repeats the step just made, if no
        // other method had rules for it.
        if (status == CH_OK && keeps && space->known_steps != NULL && w->row != NULL &&
            !had_rule)
            known_steps_add(space->known_steps, w->how, pc, w->row, w->frame.trust);
        if (status == CH_OK)
            return CH_OK;
        if (reason == CH_ERR_NOT_FOUND && status != CH_END)
            reason = status;
    }
    return reason;
}

// Walks of a thread with a shadow stack. It has what calls wrote, so a step by a method
// counts only if it leads there. Where none does, the stack was overwritten: the return
// address is the shadow stack's, and of the registers at most the stack pointer is
// known. From where the shadow stack ends, only rules can lead further.

// read_stack_return gives the return address of the current frame as the stack has it,
// by the rules for its code.
static bool read_stack_return(struct walk *w, uint64_t *out)
{
    static const enum rule_source sources[] = { RULE_CFI, RULE_SFRAME };
    uint64_t pc = w->frame.address - (w->frame.kind == UNWIND_KIND_RA);
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        struct unwind_state state = w->state;
        const struct unwind_row *row;
        if (rule_cache_find(w->space->rules, sources[i], pc, &row) != CH_OK)
            continue;
        const struct row_step step = { .arch = w->space->arch,
                                       .memory = w->space->memory,
                                       .row = row,
                                       .exact = w->frame.kind == UNWIND_KIND_PC };
        if (row_step(&step, &state) != CH_OK)
            continue;
        *out = state.registers.value[w->space->arch->pc];
        return true;
    }
    return false;
}

// note_difference notes the first return address that was overwritten. One that is
// another call's may be a mistake of the rules.
static void note_difference(struct walk *w, uint64_t expected)
{
    struct shadow_difference *difference = &w->shadow->difference;
    uint64_t found;
    if (difference->address != 0 || !read_stack_return(w, &found) ||
        found == expected ||
        (unwind_space_is_code(w->space, found) && was_called(w, found)))
        return;
    *difference = (struct shadow_difference){ .address = w->frame.address,
                                              .expected = expected,
                                              .found = found };
}

// find_signal_frame finds the stack pointer at the code at caller, if that returns from
// a signal: the kernel has put its address before what it saved. No call precedes such
// code.
static bool find_signal_frame(const struct walk *w, uint64_t caller, uint64_t *out)
{
    const struct unwind_arch *arch = w->space->arch;
    const struct memory_reader *memory = w->space->memory;
    struct unwind_registers saved;
    uint64_t word;
    uint64_t at = sp_of(w) & ~(uint64_t)(arch->word - 1);
    for (unsigned i = 0; i < SCAN_WALK_WORDS && arch->link == UNWIND_NO_LINK; i++) {
        if (memory_read_word(memory, at, &word) != CH_OK)
            return false;
        at += arch->word;
        if (word != caller || !arch->read_signal(memory, caller, at, &saved) ||
            !unwind_space_is_code(w->space, saved.value[arch->pc]))
            continue;
        *out = at;
        return true;
    }
    return false;
}

// leave_by_shadow moves to the caller that the shadow stack has. False: it can be none.
static bool leave_by_shadow(struct walk *w, uint64_t caller)
{
    const struct unwind_arch *arch = w->space->arch;
    uint64_t sp = sp_of(w);
    uint64_t cfa;
    bool known = unwind_find_cfa(w->space, &w->frame, &w->state, &cfa) == CH_OK &&
                 cfa >= sp && cfa - sp <= GUESS_FRAME_BYTES && cfa % arch->word == 0;
    sp = known ? cfa - arch->stack_below : sp;
    if (!unwind_space_is_code(w->space, caller))
        return false;
    if (!was_called(w, caller)) {
        known = find_signal_frame(w, caller, &sp);
        if (!known)
            return false;
    }
    w->state.known = 0;
    unwind_state_set(&w->state, arch->pc, caller);
    unwind_state_set(&w->state, arch->sp, sp);
    if (!known)
        unwind_state_forget(&w->state, arch->sp);
    w->frame.kind = UNWIND_KIND_RA;
    w->frame.trust = UNWIND_TRUST_SHADOW;
    w->lost = true;
    if (w->how == SETTING_UNWIND_AUTO)
        w->how = SETTING_UNWIND_PRECISE; // find_lost would follow the damaged stack
    return true;
}

// try_towards makes the first method's step that leads to caller. CH_END: rules say
// that the frame has none. CH_ERR_NOT_FOUND: no method leads there.
static enum ch_status try_towards(struct walk *w, uint64_t caller)
{
    const struct walk before = *w;
    bool in_image = image_search(w->space->images, w->space->count, pc_of(w)) != NULL;
    if (try_first_ways(w, w->space->leave != NULL && !in_image) == CH_OK &&
        pc_of(w) == caller)
        return CH_OK;
    for (size_t i = 0; i < MEANS_MAX && means[w->how][i] != NULL; i++) {
        *w = before;
        step_fn *way = means[before.how][i];
        if (way == step_by_scan || (way == step_by_sframe && skips_sframe(w)))
            continue;
        enum ch_status status = try_way(w, way);
        if (status == CH_OK && pc_of(w) == caller)
            return CH_OK;
        if (status == CH_END && way != step_by_frame_pointer)
            return CH_END;
    }
    *w = before;
    return CH_ERR_NOT_FOUND;
}

// walk_past_shadow moves to the caller where the shadow stack has none.
static enum ch_status walk_past_shadow(struct walk *w)
{
    enum ch_status status = walk_to_caller(w);
    bool by_rules =
        w->frame.trust == UNWIND_TRUST_CFI || w->frame.trust == UNWIND_TRUST_SFRAME;
    return status == CH_OK && by_rules ? CH_OK : CH_END;
}

static enum ch_status walk_by_shadow(struct walk *w)
{
    struct unwind_space *space = w->space;
    uint64_t caller = 0;
    if (shadow_stack_leave_signal(w->shadow, space->arch, space->memory)) {
        enum ch_status status = walk_to_caller(w);
        if (status == CH_OK && w->frame.kind != UNWIND_KIND_PC)
            w->shadow = NULL;
        return status;
    }
    enum ch_status status =
        shadow_stack_read(w->shadow, space->arch, space->memory, &caller);
    if (status == CH_END)
        return walk_past_shadow(w);
    status = status == CH_OK ? try_towards(w, caller) : status;
    if (status == CH_ERR_NOT_FOUND) {
        const struct shadow_difference before = w->shadow->difference;
        note_difference(w, caller);
        if (leave_by_shadow(w, caller))
            status = CH_OK;
        else
            w->shadow->difference = before;
    }
    if (status == CH_OK) {
        w->shadow->next += sizeof(caller);
        return CH_OK;
    }
    if (status == CH_END)
        return CH_END;
    w->shadow = NULL; // it is no shadow stack, or cannot be read
    return walk_to_caller(w);
}

static enum unwind_end end_reason(enum ch_status status)
{
    switch (status) {
    case CH_END:
        return UNWIND_END_OF_STACK;
    case CH_ERR_FAULT:
        return UNWIND_END_FAULT;
    case CH_ERR_MALFORMED:
        return UNWIND_END_NO_PROGRESS;
    default:
        return UNWIND_END_NO_RULE;
    }
}

// is_entry returns true if the current frame, which was found as a caller, is at the
// first instruction of its function and no call precedes that. It did not call, then:
// Go makes a function that faults seem to have called its handler. The rules before
// that address, and the function, are another's.
static bool is_entry(struct walk *w)
{
    enum { ALIGNMENT = 16 }; // of functions; most return addresses need no more looks
    struct unwind_space *space = w->space;
    struct unwind_registers saved;
    const struct unwind_row *row = NULL;
    uint64_t pc = pc_of(w);
    if (w->frame.kind == UNWIND_KIND_PC || pc % ALIGNMENT != 0 || was_called(w, pc))
        return false;
    enum ch_status before = rule_cache_find(space->rules, RULE_CFI, pc - 1, &row);
    if (before == CH_OK ? row->end != pc : before != CH_ERR_NOT_FOUND)
        return false;
    return rule_cache_find(space->rules, RULE_CFI, pc, &row) == CH_OK &&
           (row->flags & UNWIND_SIGNAL_FRAME) == 0 &&
           !space->arch->read_signal(space->memory, pc, sp_of(w), &saved);
}

// walk_out passes the frames of a walk to visit, at most `room` with one call.
static enum unwind_end walk_out(struct walk *w, size_t room, unwind_frames_fn *visit,
                                void *context)
{
    struct unwind_frame frames[FRAMES_AT_ONCE];
    size_t visited = 0;
    size_t count = 1;
    frames[0] = w->frame;
    for (;;) {
        if (!visit(context, frames, count, &w->state))
            return UNWIND_END_LIMIT;
        visited += count;
        size_t left = UNWIND_MAX_FRAMES - visited;
        count = repeat_steps(w, frames, room < left ? room : left);
        if (count != 0)
            continue;
        enum ch_status status =
            w->shadow != NULL ? walk_by_shadow(w) : walk_to_caller(w);
        if (status != CH_OK)
            return end_reason(status);
        if (left == 0)
            return UNWIND_END_LIMIT;
        if (is_entry(w))
            w->frame.kind = UNWIND_KIND_PC;
        w->frame.address = pc_of(w);
        w->first = false;
        frames[0] = w->frame;
        count = 1;
    }
}

static enum unwind_end walk_from(struct unwind_space *space,
                                 const struct unwind_registers *registers,
                                 enum setting_unwind how, size_t room,
                                 unwind_frames_fn *visit, void *context)
{
    struct walk w = {
        .space = space,
        .how = how,
        .frame = frame_of(UNWIND_KIND_PC, UNWIND_TRUST_CONTEXT),
        .first = true,
        .shadow = space->shadow,
        .scan_words = SCAN_WALK_WORDS,
    };
    unwind_begin_at(&w, registers);
    w.frame.address = pc_of(&w);
    return walk_out(&w, room, visit, context);
}

// visit_alone is an unwind_frames_fn that passes each frame on with its registers.
struct visit_alone {
    unwind_frame_fn *visit;
    void *context;
};

static bool visit_alone(void *context, const struct unwind_frame *frames, size_t count,
                        const struct unwind_state *state)
{
    const struct visit_alone *alone = context;
    (void)count;
    return alone->visit(alone->context, frames, state);
}

enum unwind_end unwind_walk(struct unwind_space *space,
                            const struct unwind_registers *registers,
                            enum setting_unwind how, unwind_frame_fn *visit,
                            void *context)
{
    struct visit_alone alone = { visit, context };
    return walk_from(space, registers, how, 1, visit_alone, &alone);
}

enum unwind_end unwind_walk_frames(struct unwind_space *space,
                                   const struct unwind_registers *registers,
                                   enum setting_unwind how, unwind_frames_fn *visit,
                                   void *context)
{
    return walk_from(space, registers, how, FRAMES_AT_ONCE, visit, context);
}

enum ch_status unwind_find_cfa(struct unwind_space *space,
                               const struct unwind_frame *frame,
                               const struct unwind_state *state, uint64_t *out)
{
    const struct unwind_row *row;
    uint64_t pc = frame->address - (frame->kind == UNWIND_KIND_RA);
    enum ch_status status = rule_cache_find(space->rules, RULE_CFI, pc, &row);
    if (status != CH_OK)
        return status;
    const struct row_step step = { .arch = space->arch,
                                   .memory = space->memory,
                                   .row = row };
    return row_step_cfa(&step, state, out);
}

const char *unwind_trust_name(enum unwind_trust trust)
{
    static const char *const names[] = { "context", "sframe", "cfi",
                                         "fp",      "scan",   "shadow-stack" };
    return names[trust];
}

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[] = { "end-of-stack", "no-rule", "fault",
                                         "no-progress", "limit" };
    return names[end];
}
