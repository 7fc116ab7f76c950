// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/narrow_registers.h"

#include "base/register_name.h"

struct unwind_registers
narrow_registers_numbered(const struct unwind_registers *registers)
{
    // eax, ecx, edx, ebx, esp, ebp, esi, edi and eip, by the numbers of rax and so on.
    static const uint8_t places[] = { 0, 2, 1, 3, 7, 6, 4, 5, 16 };
    struct unwind_registers out = { { 0 } };
    for (size_t i = 0; i < sizeof(places); i++)
        out.value[i] = registers->value[places[i]];
    return out;
}

const char *narrow_register_name(size_t number)
{
    // In a 32-bit program there is no r8.
    enum { GENERAL = 8, INSTRUCTION_POINTER = 16 };
    bool there = number < GENERAL || number == INSTRUCTION_POINTER;
    return there ? register_name_amd64(number, sizeof(uint32_t)) : NULL;
}
