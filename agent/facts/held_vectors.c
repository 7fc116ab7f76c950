// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/held_vectors.h"

#include "agent/live/stop_registers.h"
#include "report/file/held_file.h"

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

void held_vectors_add(const struct capture *capture,
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
