// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/held_stack.h"

#include <string.h>

#include "agent/facts/held_globals.h"
#include "agent/live/capture.h"
#include "agent/live/stop_registers.h"
#include "report/file/held_file.h"

// The vector registers of a thread, copied for the free phase: floating-point variables
// are in them. No call preserves all of them, so a thread that sleeps in a system call
// has none that matter.

// saved_vectors_x86 gives the address of xmm0 in what the kernel's ucontext of x86-64
// points to (struct sigcontext); 0: there is none.
static uint64_t saved_vectors_x86(const struct memory_reader *memory, uint64_t context)
{
    enum { CONTEXT_FPSTATE = 224, FPSTATE_XMM0 = 160 };
    uint64_t saved;
    return memory_read_word(memory, context + CONTEXT_FPSTATE, &saved) == CH_OK &&
                   saved != 0
               ? saved + FPSTATE_XMM0
               : 0;
}

// saved_vectors_arm gives the address of v0 in the kernel's ucontext of AArch64, which
// ends in records of a magic number and a size, 4 bytes each; 0: there is none.
static uint64_t saved_vectors_arm(const struct memory_reader *memory, uint64_t context)
{
    enum { RECORDS = 464, RECORDS_BYTES = 4096, FPSIMD_V0 = 16, RECORD_MIN = 8 };
    const uint32_t fpsimd_magic = 0x46508001;
    uint32_t head[2] = { 0 };
    for (uint64_t at = 0; at <= RECORDS_BYTES - RECORD_MIN; at += head[1]) {
        uint64_t record = context + RECORDS + at;
        if (memory_read(memory, record, head, sizeof(head)) != CH_OK ||
            head[1] < RECORD_MIN)
            return 0;
        if (head[0] == fpsimd_magic)
            return record + FPSIMD_V0;
    }
    return 0;
}

uint64_t held_vectors_saved(const struct memory_reader *memory,
                            enum unwind_arch_id arch, uint64_t context)
{
    return arch == UNWIND_ARCH_AARCH64 ? saved_vectors_arm(memory, context)
                                       : saved_vectors_x86(memory, context);
}

// vectors_of_crash reads the crashed thread's vector registers.
static bool vectors_of_crash(const struct capture *capture,
                             uint8_t out[HELD_VECTORS_BYTES])
{
    uint64_t context = capture->crash->context;
    uint64_t at =
        context == 0 ? 0
                     : held_vectors_saved(&capture->reader, capture->arch->id, context);
    return at != 0 &&
           memory_read(&capture->reader, at, out, HELD_VECTORS_BYTES) == CH_OK;
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
                    const struct backtrace_limit *frames, uint64_t stack_end)
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
    uint64_t end = stack_end > at && stack_end < stack->end ? stack_end : stack->end;
    if (end - at > HELD_STACK_MAX)
        end = at + HELD_STACK_MAX;
    held_pointers_set_stack(pointers, at, end);
    if (crashed)
        held_globals_add(capture, pointers, frames, thread.thread_pointer);
    if (crashed || capture->crash == NULL)
        hold_pointed(capture, pointers, registers, at, end);
    else
        hold_stack(capture, at, end, NULL);
}
