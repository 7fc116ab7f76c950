// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/code/instruction_values.h"

#include <string.h>

#include "base/register_name.h"
#include "report/value/report.h"

bool instruction_register(const json_t *registers, const char *name, uint64_t *out)
{
    size_t number;
    size_t size;
    uint64_t value;
    if (!register_find_amd64(name, &number, &size) ||
        !report_address(registers, register_name_amd64(number, sizeof(value)), &value))
        return false;
    *out = value & UINT64_MAX >> (8 * (sizeof(value) - size));
    return true;
}

bool instruction_address(const struct instruction_operand *operand,
                         const json_t *registers, uint64_t next, uint64_t *out)
{
    uint64_t base = 0;
    uint64_t index = 0;
    if (operand->segmented)
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
