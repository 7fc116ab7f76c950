// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/held_stack.h"

#include "agent/facts/held_vectors.h"
#include "report/file/held_file.h"

// hold_stack copies a stack from at on, and notes the pointers in it if pointers is not
// NULL.
static void hold_stack(struct capture *capture, uint64_t at, uint64_t end,
                       struct held_pointers *pointers)
{
    uint8_t bytes[16384];
    size_t searched = 0;
    while (at < end) {
        size_t wanted = end - at < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
        size_t got = capture->reader.read(capture->reader.source, at, bytes, wanted);
        if (got == 0 || got > wanted)
            return;
        held_file_add_memory(capture->held, at, bytes, got);
        if (pointers != NULL && searched < HELD_POINTERS_STACK)
            held_pointers_search(pointers, bytes, got);
        searched += got;
        at += got;
    }
}

// hold_pointed copies what the registers and the stack of a thread point to.
static void hold_pointed(struct capture *capture, struct held_pointers *pointers,
                         const struct unwind_registers *registers, uint64_t at,
                         uint64_t end)
{
    for (size_t i = 0; i < capture->arch->register_count; i++)
        held_pointers_note(pointers, registers->value[i]);
    hold_stack(capture, at, end, pointers);
    held_pointers_copy(pointers);
}

void held_stack_add(struct capture *capture, struct held_pointers *pointers,
                    const struct stopped_thread *from,
                    const struct unwind_registers *registers)
{
    uint64_t at = registers->value[capture->arch->sp];
    const struct target_mapping *stack = images_mapping(&capture->images, at);
    if (capture->held == NULL || capture->settings->arguments == SETTING_NO ||
        stack == NULL || capture->narrow)
        return;
    bool crashed = capture->crash != NULL && from->tid == capture->crash->tid;
    const struct held_thread thread = { .tid = (uint64_t)from->tid,
                                        .arch = capture->arch,
                                        .registers = *registers };
    held_file_add_thread(capture->held, &thread);
    held_vectors_add(capture, from);
    uint64_t below = at - stack->start;
    at -= below < TARGET_BELOW_STACK ? below : TARGET_BELOW_STACK;
    uint64_t end = stack->end;
    if (end - at > HELD_STACK_MAX)
        end = at + HELD_STACK_MAX;
    held_pointers_set_stack(pointers, stack, at);
    if (crashed || capture->crash == NULL)
        hold_pointed(capture, pointers, registers, at, end);
    else
        hold_stack(capture, at, end, NULL);
}
