// SPDX-License-Identifier: Apache-2.0
#include "unwind/shadow_stack.h"

#include "unwind/unwind_types.h"

enum { ENTRY_BYTES = 8 };

enum ch_status shadow_stack_read(const struct shadow_stack *shadow,
                                 const struct unwind_arch *arch,
                                 const struct memory_reader *memory, uint64_t *out)
{
    uint64_t word;
    if (shadow->next >= shadow->end || shadow->end - shadow->next < ENTRY_BYTES)
        return CH_END;
    enum ch_status status = memory_read_word(memory, shadow->next, &word);
    if (status != CH_OK)
        return CH_ERR_FAULT;
    if (arch->id == UNWIND_ARCH_AARCH64 && word == 0)
        return CH_END;
    *out = word;
    return CH_OK;
}

// is_signal_token returns true if word, at address, is what Linux puts there for a
// signal: on x86-64 the address after it with bit 63 set, on AArch64 (GCS_SIGNAL_CAP)
// the address of its page.
static bool is_signal_token(const struct unwind_arch *arch, uint64_t address,
                            uint64_t word)
{
    enum { PAGE_MASK = 0xfff };
    if (arch->id == UNWIND_ARCH_AARCH64)
        return word == (address & ~(uint64_t)PAGE_MASK);
    return word == ((address + ENTRY_BYTES) | UINT64_C(1) << 63);
}

bool shadow_stack_leave_signal(struct shadow_stack *shadow,
                               const struct unwind_arch *arch,
                               const struct memory_reader *memory)
{
    uint64_t word;
    if (shadow_stack_read(shadow, arch, memory, &word) != CH_OK ||
        !is_signal_token(arch, shadow->next, word))
        return false;
    shadow->next += ENTRY_BYTES;
    return true;
}

bool shadow_stack_leave_handler(struct shadow_stack *shadow,
                                const struct unwind_arch *arch,
                                const struct memory_reader *memory)
{
    enum { CALLS_MAX = 64 };
    for (unsigned i = 0; i < CALLS_MAX; i++) {
        uint64_t word;
        if (shadow_stack_leave_signal(shadow, arch, memory))
            return true;
        if (shadow_stack_read(shadow, arch, memory, &word) != CH_OK)
            return false;
        shadow->next += ENTRY_BYTES;
    }
    return false;
}
