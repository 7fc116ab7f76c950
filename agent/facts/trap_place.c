// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/trap_place.h"

#include <signal.h>
#include <string.h>

// length_before gives the length of the breakpoint instruction that ends at pc; 0: none
// does. These are int3, icebp, and int3 as a software interrupt (Intel SDM volume 2).
static uint64_t length_before(const struct memory_reader *reader, uint64_t pc)
{
    static const struct {
        uint8_t bytes[2];
        uint8_t size;
    } breakpoints[] = { { { 0xcd, 0x03 }, 2 }, { { 0xcc }, 1 }, { { 0xf1 }, 1 } };
    for (size_t i = 0; i < sizeof(breakpoints) / sizeof(breakpoints[0]); i++) {
        uint8_t before[2];
        size_t size = breakpoints[i].size;
        if (memory_read(reader, pc - size, before, size) == CH_OK &&
            memcmp(before, breakpoints[i].bytes, size) == 0)
            return size;
    }
    return 0;
}

void trap_place_correct(struct capture *capture)
{
    const struct target_crash *crash = capture->crash;
    // SI_KERNEL is int3's code; single steps and hardware breakpoints have their own.
    if (crash == NULL || crash->signal_only || crash->info.si_signo != SIGTRAP ||
        (crash->info.si_code != SI_KERNEL && crash->info.si_code != TRAP_BRKPT) ||
        capture->arch->id != UNWIND_ARCH_AMD64)
        return;
    struct target_crash corrected = *crash;
    uint64_t *pc = &corrected.registers.value[capture->arch->pc];
    uint64_t length = length_before(&capture->reader, *pc);
    if (length == 0)
        return;
    *pc -= length;
    capture->first = corrected;
    capture->crash = &capture->first;
}
