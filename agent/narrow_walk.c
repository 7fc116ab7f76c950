// SPDX-License-Identifier: Apache-2.0
#include "agent/narrow_walk.h"
#include "base/register_name.h"

enum unwind_end narrow_walk(struct capture *capture,
                            const struct unwind_registers *registers,
                            struct backtrace_limit *out)
{
    const struct unwind_arch *arch = capture->arch;
    struct unwind_frame frame = { registers->value[arch->pc], UNWIND_KIND_PC,
                                  UNWIND_TRUST_CONTEXT };
    uint64_t fp = registers->value[arch->fp];
    uint64_t inner = registers->value[arch->sp];
    for (int i = 0; i < UNWIND_MAX_FRAMES; i++) {
        uint32_t record[2]; // the caller's frame pointer, and the return address
        if (!backtrace_limit_add(out, &frame))
            return UNWIND_END_LIMIT;
        if (fp == 0)
            return UNWIND_END_OF_STACK;
        if (fp < inner || fp % sizeof(record[0]) != 0 ||
            memory_read(&capture->reader, fp, record, sizeof(record)) != CH_OK ||
            !images_is_code(&capture->images, record[1]))
            return UNWIND_END_NO_RULE;
        frame = (struct unwind_frame){ record[1], UNWIND_KIND_RA, UNWIND_TRUST_FP };
        inner = fp + sizeof(record);
        fp = record[0];
    }
    return UNWIND_END_LIMIT;
}

const char *narrow_register_name(size_t number)
{
    // In a program of 32 bits eax stands where rax would, and there is no r8.
    enum { GENERAL = 8, INSTRUCTION_POINTER = 16 };
    bool there = number < GENERAL || number == INSTRUCTION_POINTER;
    return there ? register_name_amd64(number, sizeof(uint32_t)) : NULL;
}
