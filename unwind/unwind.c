// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind.h"

#include <stdlib.h>

#include "unwind/fp_step.h"
#include "unwind/image_search.h"
#include "unwind/libunwind_step.h"

struct unwind_space {
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    unwind_code_fn *code;
    void *code_context;
    struct libunwind_images *tables;
    struct libunwind_walk *walk;
};

// A walk under way: where it stands, and what the frame there rests on.
struct walk {
    struct unwind_space *space;
    enum setting_unwind how;
    struct unwind_registers at; // PC, SP and FP of the current frame
    struct unwind_frame frame;
    bool by_rules; // libunwind's walk stands at the current frame
    bool first;
};

enum ch_status unwind_space_create(const struct unwind_arch *arch,
                                   const struct memory_reader *memory,
                                   const struct unwind_image *images, size_t count,
                                   struct unwind_space **out)
{
    if (arch != unwind_arch_native())
        return CH_ERR_UNSUPPORTED;
    struct unwind_space *space = calloc(1, sizeof(*space));
    if (space == NULL)
        return CH_ERR_NO_MEMORY;

    *space =
        (struct unwind_space){ .memory = memory, .images = images, .count = count };
    enum ch_status status =
        libunwind_images_create(memory, images, count, &space->tables);
    if (status == CH_OK)
        status = libunwind_walk_create(space->tables, &space->walk);
    if (status != CH_OK) {
        unwind_space_destroy(space);
        return status;
    }
    *out = space;
    return CH_OK;
}

void unwind_space_destroy(struct unwind_space *space)
{
    if (space == NULL)
        return;
    libunwind_walk_destroy(space->walk);
    libunwind_images_destroy(space->tables);
    free(space);
}

void unwind_space_set_code(struct unwind_space *space, unwind_code_fn *code,
                           void *context)
{
    space->code = code;
    space->code_context = context;
}

static bool is_code(const struct unwind_space *space, uint64_t address)
{
    if (space->code != NULL)
        return space->code(space->code_context, address);
    return image_search(space->images, space->count, address) != NULL;
}

// step_by_rules moves to the caller by DWARF rules. CH_ERR_NOT_FOUND leaves the walk
// where it stands.
static enum ch_status step_by_rules(struct walk *w)
{
    struct libunwind_walk *rules = w->space->walk;
    bool exact = w->frame.kind == UNWIND_KIND_PC;
    enum ch_status status = CH_OK;

    if (!w->by_rules)
        status = libunwind_walk_begin(rules, &w->at, exact);
    if (status != CH_OK)
        return status;
    bool in_signal = libunwind_walk_in_signal(rules);
    w->by_rules = false;
    status = libunwind_walk_step(rules);
    if (status == CH_OK)
        status = libunwind_walk_registers(rules, &w->at);
    if (status != CH_OK)
        return status;
    w->by_rules = true;
    w->frame =
        (struct unwind_frame){ .kind = in_signal ? UNWIND_KIND_PC : UNWIND_KIND_RA,
                               .trust = UNWIND_TRUST_CFI };
    return CH_OK;
}

// step_by_call undoes a call into nowhere: the PC of the crashed frame is no code, so
// nothing ran there but the call, which pushed the return address.
static enum ch_status step_by_call(struct walk *w)
{
#if defined(__x86_64__)
    uint64_t sp = w->at.value[UNWIND_SP];
    uint64_t caller;
    enum ch_status status = memory_read_word(w->space->memory, sp, &caller);
    if (status != CH_OK)
        return status;
    if (!is_code(w->space, caller))
        return CH_ERR_NOT_FOUND;
    // The other registers are those of the caller still: nothing has run since.
    w->at.value[UNWIND_PC] = caller;
    w->at.value[UNWIND_SP] = sp + 8;
#else
    enum { LINK_REGISTER = 30 };
    uint64_t caller = w->at.value[LINK_REGISTER];
    if (!is_code(w->space, caller))
        return CH_ERR_NOT_FOUND;
    w->at.value[UNWIND_PC] = caller;
#endif
    w->frame =
        (struct unwind_frame){ .kind = UNWIND_KIND_RA, .trust = UNWIND_TRUST_SCAN };
    return CH_OK;
}

static enum ch_status step_by_frame_pointer(struct walk *w)
{
    enum ch_status status = fp_step(w->space->memory, &w->at);
    if (status != CH_OK)
        return status;
    if (!is_code(w->space, w->at.value[UNWIND_PC]))
        return CH_ERR_NOT_FOUND;
    w->by_rules = false;
    w->frame =
        (struct unwind_frame){ .kind = UNWIND_KIND_RA, .trust = UNWIND_TRUST_FP };
    return CH_OK;
}

// step moves to the caller by the first means that applies.
static enum ch_status step(struct walk *w)
{
    bool rules = w->how != SETTING_UNWIND_FP && w->how != SETTING_UNWIND_FAST;
    bool frame_pointers =
        w->how != SETTING_UNWIND_DWARF && w->how != SETTING_UNWIND_LIBUNWIND;

    if (w->first && !is_code(w->space, w->at.value[UNWIND_PC]))
        return step_by_call(w);
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (rules)
        status = step_by_rules(w);
    if (status == CH_ERR_NOT_FOUND && frame_pointers)
        status = step_by_frame_pointer(w);
    return status;
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

enum unwind_end unwind_walk(struct unwind_space *space,
                            const struct unwind_registers *registers,
                            enum setting_unwind how, unwind_frame_fn *visit,
                            void *context)
{
    struct walk w = {
        .space = space,
        .how = how,
        .at = *registers,
        .frame = { .kind = UNWIND_KIND_PC, .trust = UNWIND_TRUST_CONTEXT },
        .first = true,
    };

    for (size_t count = 0; count < UNWIND_MAX_FRAMES; count++) {
        uint64_t sp = w.at.value[UNWIND_SP];
        uint64_t pc = w.at.value[UNWIND_PC];
        w.frame.address = pc;
        if (!visit(context, &w.frame))
            return UNWIND_END_LIMIT;

        enum ch_status status = step(&w);
        if (status != CH_OK)
            return end_reason(status);
        w.first = false;
        // A PC of 0 is how C libraries mark the outermost frame of a thread.
        if (w.at.value[UNWIND_PC] == 0)
            return UNWIND_END_OF_STACK;
        // Only a signal handler on a stack of its own may step to lower addresses.
        bool advanced = w.at.value[UNWIND_SP] > sp || w.frame.kind == UNWIND_KIND_PC;
        if (!advanced && (w.at.value[UNWIND_PC] == pc || w.at.value[UNWIND_SP] < sp))
            return UNWIND_END_NO_PROGRESS;
    }
    return UNWIND_END_LIMIT;
}

const char *unwind_trust_name(enum unwind_trust trust)
{
    static const char *const names[] = { "context", "sframe", "cfi", "fp", "scan" };
    return names[trust];
}

const char *unwind_end_name(enum unwind_end end)
{
    static const char *const names[] = { "end-of-stack", "no-rule", "fault",
                                         "no-progress", "limit" };
    return names[end];
}
