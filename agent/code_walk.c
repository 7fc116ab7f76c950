// SPDX-License-Identifier: Apache-2.0
#include "agent/code_walk.h"

#include <string.h>

#include "agent/code_step.h"

enum ch_status code_walk_call(const struct code_walk *walk, uint64_t address,
                              uint64_t argument, uint64_t *out)
{
    struct code_machine machine;
    code_machine_init(&machine, walk->memory, address, argument);
    for (int i = 0; i < CODE_WALK_STEPS_MAX; i++) {
        if (machine.pc == CODE_MACHINE_RETURNED) {
            *out = machine.registers[CODE_MACHINE_RAX].number;
            return machine.registers[CODE_MACHINE_RAX].known ? CH_OK
                                                             : CH_ERR_UNSUPPORTED;
        }
        if (!walk->is_code(walk->context, machine.pc))
            return CH_ERR_FAULT;
        enum ch_status status = code_step(&machine);
        if (status != CH_OK)
            return status;
    }
    return CH_ERR_LIMIT;
}
