// SPDX-License-Identifier: Apache-2.0
//
// A made-up amd64 target for tests of whole walks: one image with .eh_frame and its
// header, code, a stack.
//
// Functions are 0x100 bytes of code each, from CODE on. The stack is an array of words
// at STACK; images, code and stack lie far apart, so that a wild address hits nothing.
#pragma once
#include "formats/debug/unwind_row.h"
#include "support/cfi_builder.h"
#include "support/fake_memory.h"
#include "unwind/unwind.h"

enum {
    CODE = 0x401000,
    CODE_BYTES = 0x2000,
    EH_FRAME = 0x500000,
    EH_FRAME_HDR = 0x600000,
    SFRAME = 0x700000,
    STACK = 0x10000000,
    STACK_WORDS = 4096,
    FUNCTION_BYTES = 0x100,
};

struct target {
    uint8_t code[CODE_BYTES];
    struct cfi_builder eh_frame;
    uint8_t hdr[1024];
    size_t functions;
    uint64_t stack[STACK_WORDS];
    struct fake_region regions[5];
    struct fake_memory memory;
    struct memory_reader reader;
    struct unwind_image image;
    struct unwind_registers registers;
    struct shadow_stack *shadow; // NULL: the thread has none
    uint64_t frames[256];
    enum unwind_trust trust[256];
    enum unwind_kind kinds[256];
    size_t frame_count;
};

// target_function is an address in function index, after its first call.
static inline uint64_t target_function(size_t index)
{
    return CODE + index * FUNCTION_BYTES + 0x10;
}

static inline void target_init(struct target *t)
{
    memset(t, 0, sizeof(*t));
    cfi_cie(&t->eh_frame, "", NULL, 0);
    // Each call is e8 with any distance, so that scans believe the returns.
    memset(t->code, 0x90, sizeof(t->code));
    for (size_t at = 0; at < sizeof(t->code); at += FUNCTION_BYTES)
        t->code[at + 0x10 - 5] = 0xe8;
    t->registers.value[UNWIND_AMD64_SP] = STACK;
}

// target_rule gives the next function its instructions; functions beyond those have
// none.
static inline void target_rule(struct target *t, const void *code, size_t size)
{
    uint64_t start = CODE + t->functions * FUNCTION_BYTES;
    uint64_t fde = EH_FRAME + t->eh_frame.size;
    cfi_fde(&t->eh_frame, 0, start, FUNCTION_BYTES, code, size);
    uint8_t *entry = t->hdr + 12 + t->functions * 8;
    int32_t distances[2] = { (int32_t)(start - EH_FRAME_HDR),
                             (int32_t)(fde - EH_FRAME_HDR) };
    memcpy(entry, distances, sizeof(distances));
    t->functions++;
}

static inline void target_finish(struct target *t)
{
    static const uint8_t head[] = { 1, 0x1b, 0x03, 0x3b };
    int32_t eh_frame = EH_FRAME - (EH_FRAME_HDR + 4);
    uint32_t count = (uint32_t)t->functions;
    memcpy(t->hdr, head, sizeof(head));
    memcpy(t->hdr + 4, &eh_frame, 4);
    memcpy(t->hdr + 8, &count, 4);
    t->regions[0] = (struct fake_region){ CODE, t->code, sizeof(t->code) };
    t->regions[1] =
        (struct fake_region){ EH_FRAME, t->eh_frame.bytes, t->eh_frame.size };
    t->regions[2] = (struct fake_region){ EH_FRAME_HDR, t->hdr, 12 + count * 8 };
    t->regions[3] = (struct fake_region){ STACK, t->stack, sizeof(t->stack) };
    t->memory = (struct fake_memory){ t->regions, t->regions[4].size != 0 ? 5 : 4, 0 };
    t->reader = fake_memory_reader(&t->memory);
    t->image.start = CODE;
    t->image.end = SFRAME + 0x10000;
    t->image.eh_frame_hdr = count != 0 ? EH_FRAME_HDR : 0;
    t->image.eh_frame_hdr_size = count != 0 ? 12 + count * 8 : 0;
}

static inline bool target_is_code(void *context, uint64_t address)
{
    (void)context;
    return address >= CODE && address < CODE + CODE_BYTES;
}

static inline bool target_visit(void *context, const struct unwind_frame *frame,
                                const struct unwind_state *state)
{
    (void)state;
    struct target *t = context;
    size_t index = t->frame_count++;
    if (index < 256) {
        t->frames[index] = frame->address;
        t->trust[index] = frame->trust;
        t->kinds[index] = frame->kind;
    }
    return true;
}

// target_walk_image_of walks by the image as it is, from wherever the registers say.
static inline enum unwind_end target_walk_image_of(struct target *t,
                                                   const struct unwind_arch *arch,
                                                   enum setting_unwind how)
{
    struct unwind_space *space;
    t->frame_count = 0;
    if (unwind_space_create(arch, &t->reader, &t->image, 1, &space) != CH_OK)
        return UNWIND_END_LIMIT;
    unwind_space_set_code(space, target_is_code, NULL);
    unwind_space_set_shadow(space, t->shadow);
    enum unwind_end end = unwind_walk(space, &t->registers, how, target_visit, t);
    unwind_space_destroy(space);
    return end;
}

// target_walk_image does so on amd64, from function 0 if the registers say nothing.
static inline enum unwind_end target_walk_image(struct target *t,
                                                enum setting_unwind how)
{
    if (t->registers.value[16] == 0)
        t->registers.value[16] = target_function(0);
    return target_walk_image_of(t, &unwind_arch_amd64, how);
}

// target_walk finishes the image first.
static inline enum unwind_end target_walk(struct target *t, enum setting_unwind how)
{
    target_finish(t);
    return target_walk_image(t, how);
}
