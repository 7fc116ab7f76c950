// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/held_stack.h"

#include <string.h>

#include "agent/facts/held_globals.h"
#include "agent/live/capture.h"
#include "agent/live/stop_registers.h"
#include "report/file/held_file.h"

// The vector registers of a thread, copied for the free phase: floating-point variables
// are in them. Only x86-64's xmm0 to xmm15; no call preserves them, so a thread that
// sleeps in a system call has none that matter.

// Where the kernel's ucontext of x86-64 has the address of the saved floating-point
// state, and that has xmm0 (struct sigcontext).
enum { CONTEXT_FPSTATE = 224, FPSTATE_XMM0 = 160 };

// vectors_of_crash reads the crashed thread's vector registers.
static bool vectors_of_crash(const struct capture *capture,
                             uint8_t out[HELD_VECTORS_BYTES])
{
    const struct target_crash *crash = capture->crash;
    uint64_t saved;
    return crash->context != 0 &&
           memory_read_word(&capture->reader, crash->context + CONTEXT_FPSTATE,
                            &saved) == CH_OK &&
           saved != 0 &&
           memory_read(&capture->reader, saved + FPSTATE_XMM0, out,
                       HELD_VECTORS_BYTES) == CH_OK;
}

// held_vectors_add appends the thread's vector registers to the capture's held file, as
// far as they can be read: where the kernel has saved them for the handler, from a
// core, or from the thread itself.
static void held_vectors_add(const struct capture *capture,
                             const struct stopped_thread *thread)
{
    const struct target_crash *crash = capture->crash;
    bool crashed = crash != NULL && crash->tid == thread->tid;
    const uint8_t *known = crashed ? crash->vectors_of : thread->vectors;
    uint8_t bytes[HELD_VECTORS_BYTES];
    if (capture->arch->id != UNWIND_ARCH_AMD64)
        return;
    if (known == NULL && crashed && crash->has_vectors)
        known = crash->vectors;
    if (known == NULL && crashed && vectors_of_crash(capture, bytes))
        known = bytes;
    if (known == NULL && !crashed && capture_is_process(capture) &&
        thread->run_state == 'R' && stop_registers_vectors(thread->tid, bytes))
        known = bytes;
    if (known != NULL)
        held_file_add_vectors(capture->held, known);
}

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
                    const struct unwind_registers *registers,
                    const struct backtrace_limit *frames)
{
    uint64_t at = registers->value[capture->arch->sp];
    const struct target_mapping *stack = images_mapping(&capture->images, at);
    if (capture->held == NULL || capture->settings->arguments == SETTING_NO ||
        stack == NULL || capture->narrow)
        return;
    bool crashed = capture->crash != NULL && from->tid == capture->crash->tid;
    const struct held_thread thread = { .tid = (uint64_t)from->tid,
                                        .arch = capture->arch,
                                        .registers = *registers,
                                        .thread_pointer =
                                            crashed ? capture->crash->thread_pointer
                                                    : from->thread_pointer };
    held_file_add_thread(capture->held, &thread);
    held_vectors_add(capture, from);
    uint64_t below = at - stack->start;
    at -= below < TARGET_BELOW_STACK ? below : TARGET_BELOW_STACK;
    uint64_t end = stack->end;
    if (end - at > HELD_STACK_MAX)
        end = at + HELD_STACK_MAX;
    held_pointers_set_stack(pointers, stack, at);
    if (crashed)
        held_globals_add(capture, pointers, frames, thread.thread_pointer);
    if (crashed || capture->crash == NULL)
        hold_pointed(capture, pointers, registers, at, end);
    else
        hold_stack(capture, at, end, NULL);
}
