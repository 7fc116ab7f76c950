// SPDX-License-Identifier: Apache-2.0
#include "agent/follow/code_walk.h"

#include "agent/follow/code_step.h"
#include "agent/follow/code_step_aarch64.h"

enum ch_status code_walk_call(const struct code_walk *walk, uint64_t address,
                              uint64_t argument, uint64_t *out)
{
    bool arm = walk->arch == UNWIND_ARCH_AARCH64;
    struct code_machine machine;
    if (arm)
        code_machine_init_aarch64(&machine, walk->memory, address, argument);
    else
        code_machine_init(&machine, walk->memory, address, argument);
    machine.thread = (struct code_value){ walk->thread, walk->thread != 0 };
    const struct code_value *result =
        &machine.registers[arm ? CODE_MACHINE_X0 : CODE_MACHINE_RAX];
    for (int i = 0; i < CODE_WALK_STEPS_MAX; i++) {
        if (machine.pc == CODE_MACHINE_RETURNED) {
            *out = result->number;
            return result->known ? CH_OK : CH_ERR_UNSUPPORTED;
        }
        if (!walk->is_code(walk->context, machine.pc))
            return CH_ERR_FAULT;
        enum ch_status status = arm ? code_step_aarch64(&machine) : code_step(&machine);
        if (status != CH_OK)
            return status;
    }
    return CH_ERR_LIMIT;
}
