// SPDX-License-Identifier: Apache-2.0
//
// Backtraces of the calling thread.
#include <string.h>

#include "backtrace/capture_options.h"
#include "backtrace/local_space.h"
#include "backtrace/stored.h"

// read_registers stores PC, SP, FP and the callee-saved registers as they are here; a
// capture_walk needs no others. It is inlined, so they belong to the enclosing
// function, which must not end in a tail call.
static inline __attribute__((always_inline)) void
read_registers(struct unwind_registers *out)
{
    uint64_t *value = out->value;
#if defined(__x86_64__)
    __asm__ volatile("movq %%rbx, 3*8(%0)\n\t"
                     "movq %%rbp, 6*8(%0)\n\t"
                     "movq %%rsp, 7*8(%0)\n\t"
                     "movq %%r12, 12*8(%0)\n\t"
                     "movq %%r13, 13*8(%0)\n\t"
                     "movq %%r14, 14*8(%0)\n\t"
                     "movq %%r15, 15*8(%0)\n\t"
                     "leaq 0f(%%rip), %%rax\n"
                     "0:\n\t"
                     "movq %%rax, 16*8(%0)"
                     :
                     : "r"(value)
                     : "rax", "memory");
#elif defined(__aarch64__)
    __asm__ volatile("stp x19, x20, [%0, #19*8]\n\t"
                     "stp x21, x22, [%0, #21*8]\n\t"
                     "stp x23, x24, [%0, #23*8]\n\t"
                     "stp x25, x26, [%0, #25*8]\n\t"
                     "stp x27, x28, [%0, #27*8]\n\t"
                     "stp x29, x30, [%0, #29*8]\n\t"
                     "mov x9, sp\n\t"
                     "adr x10, 0f\n"
                     "0:\n\t"
                     "stp x9, x10, [%0, #31*8]"
                     :
                     : "r"(value)
                     : "x9", "x10", "memory");
#endif
}

// without_sframe gives the setting that finds the same frames where no image has
// SFrame, so that no step looks for it.
static enum setting_unwind without_sframe(enum setting_unwind how)
{
    switch (how) {
    case SETTING_UNWIND_AUTO:
        return SETTING_UNWIND_PRECISE;
    case SETTING_UNWIND_FAST:
        return SETTING_UNWIND_FP;
    default:
        return how;
    }
}

static enum ch_status capture_walk(const struct unwind_registers *registers,
                                   const struct crashhook_capture_options *options,
                                   struct crashhook_backtrace **out)
{
    struct capture_options wanted;
    struct local_space *space;
    enum ch_status status = capture_options_read(options, &wanted);
    if (status == CH_OK)
        status = local_space_take(&space);
    if (status != CH_OK)
        return status;

    if (!space->any_sframe)
        wanted.how = without_sframe(wanted.how);
    // The walk begins in crashhook_backtrace_capture, which is not shown.
    struct capture_frames frames = {
        .kept = &space->frames,
        .skip = wanted.offset < SIZE_MAX ? wanted.offset + 1 : SIZE_MAX,
    };
    capture_frames_begin(&frames, &wanted);
    local_memory_use_stack(&space->memory, registers->value[UNWIND_SP]);
    (void)unwind_walk(space->unwind, registers, wanted.how, capture_frames_keep,
                      &frames);
    local_memory_forget_stack(&space->memory);
    status = stored_from_walk(&space->frames, space->images, out);
    local_space_give_back(space);
    return status;
}

__attribute__((noinline)) int
crashhook_backtrace_capture(const struct crashhook_capture_options *options,
                            struct crashhook_backtrace **out)
{
    struct unwind_registers registers;
    memset(&registers, 0, sizeof(registers));
    read_registers(&registers);
    return stored_errno(capture_walk(&registers, options, out));
}

int crashhook_images_capture(struct crashhook_images **out)
{
    struct local_space *space;
    enum ch_status status = local_space_take(&space);
    if (status != CH_OK)
        return stored_errno(status);
    *out = crashhook_images_retain(space->images);
    local_space_give_back(space);
    return 0;
}
