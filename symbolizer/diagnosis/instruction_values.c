// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/instruction_values.h"

#include <string.h>

#include "report/report.h"

// The names of x86-64's registers by width.
static const struct {
    const char *by_width[4]; // 8, 4, 2 and 1 bytes
} names[] = {
    { { "rax", "eax", "ax", "al" } },      { { "rdx", "edx", "dx", "dl" } },
    { { "rcx", "ecx", "cx", "cl" } },      { { "rbx", "ebx", "bx", "bl" } },
    { { "rsi", "esi", "si", "sil" } },     { { "rdi", "edi", "di", "dil" } },
    { { "rbp", "ebp", "bp", "bpl" } },     { { "rsp", "esp", "sp", "spl" } },
    { { "r8", "r8d", "r8w", "r8b" } },     { { "r9", "r9d", "r9w", "r9b" } },
    { { "r10", "r10d", "r10w", "r10b" } }, { { "r11", "r11d", "r11w", "r11b" } },
    { { "r12", "r12d", "r12w", "r12b" } }, { { "r13", "r13d", "r13w", "r13b" } },
    { { "r14", "r14d", "r14w", "r14b" } }, { { "r15", "r15d", "r15w", "r15b" } },
};

static const uint64_t masks[] = { UINT64_MAX, UINT32_MAX, UINT16_MAX, UINT8_MAX };

bool instruction_register(const json_t *registers, const char *name, uint64_t *out)
{
    uint64_t value;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t width = 0; width < 4; width++) {
            if (strcmp(names[i].by_width[width], name) != 0)
                continue;
            if (!report_address(registers, names[i].by_width[0], &value))
                return false;
            *out = value & masks[width];
            return true;
        }
    }
    return false;
}

bool instruction_address(const struct instruction_operand *operand,
                         const json_t *registers, uint64_t next, uint64_t *out)
{
    uint64_t base = 0;
    uint64_t index = 0;
    bool by_segment =
        strcmp(operand->segment, "fs") == 0 || strcmp(operand->segment, "gs") == 0;
    if (by_segment)
        return false;
    if (strcmp(operand->base, "rip") == 0)
        base = next;
    else if (operand->base[0] != 0 &&
             !instruction_register(registers, operand->base, &base))
        return false;
    if (operand->index[0] != 0 &&
        !instruction_register(registers, operand->index, &index))
        return false;
    *out = base + index * operand->scale + (uint64_t)operand->displacement;
    return true;
}
