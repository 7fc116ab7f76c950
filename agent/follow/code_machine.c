// SPDX-License-Identifier: Apache-2.0
#include "agent/follow/code_machine.h"

enum { TOP_WORD = CODE_MACHINE_STACK_WORDS - 8 };

static const struct code_value stack_top = {
    CODE_MACHINE_STACK + 8 * (uint64_t)TOP_WORD, true
};

static void machine_begin(struct code_machine *machine,
                          const struct memory_reader *memory, uint64_t address)
{
    *machine = (struct code_machine){ .memory = memory, .pc = address };
    // No function depends on what its stack held before, so it may as well be known.
    for (size_t i = 0; i < CODE_MACHINE_STACK_WORDS; i++)
        machine->stack[i].known = true;
}

void code_machine_init(struct code_machine *machine, const struct memory_reader *memory,
                       uint64_t address, uint64_t argument)
{
    machine_begin(machine, memory, address);
    machine->registers[CODE_MACHINE_RDI] = (struct code_value){ argument, true };
    machine->registers[CODE_MACHINE_RSP] = stack_top;
    machine->stack[TOP_WORD] = (struct code_value){ CODE_MACHINE_RETURNED, true };
}

void code_machine_init_aarch64(struct code_machine *machine,
                               const struct memory_reader *memory, uint64_t address,
                               uint64_t argument)
{
    machine_begin(machine, memory, address);
    machine->registers[CODE_MACHINE_X0] = (struct code_value){ argument, true };
    machine->registers[CODE_MACHINE_SP] = stack_top;
    machine->registers[CODE_MACHINE_X30] =
        (struct code_value){ CODE_MACHINE_RETURNED, true };
}

uint64_t code_machine_keep(uint64_t value, size_t size)
{
    return size >= sizeof(value) ? value
                                 : value & ((UINT64_C(1) << (8 * (unsigned)size)) - 1);
}

// stack_word is the word of the stack that has all size bytes at address, or NULL.
static struct code_value *stack_word(struct code_machine *machine, uint64_t address,
                                     size_t size, unsigned *out_shift)
{
    uint64_t offset = address - CODE_MACHINE_STACK;
    if (offset >= 8 * (uint64_t)CODE_MACHINE_STACK_WORDS || offset % 8 + size > 8)
        return NULL;
    *out_shift = 8 * (unsigned)(offset % 8);
    return &machine->stack[offset / 8];
}

enum ch_status code_machine_load(struct code_machine *machine, uint64_t address,
                                 size_t size, struct code_value *out)
{
    unsigned shift;
    const struct code_value *word = stack_word(machine, address, size, &shift);
    uint64_t number = 0;
    if (word != NULL) {
        *out = (struct code_value){ code_machine_keep(word->number >> shift, size),
                                    word->known };
        return CH_OK;
    }
    enum ch_status status = memory_read(machine->memory, address, &number, size);
    if (status == CH_OK)
        *out = (struct code_value){ number, true };
    return status;
}

enum ch_status code_machine_store(struct code_machine *machine, uint64_t address,
                                  size_t size, struct code_value value)
{
    unsigned shift;
    struct code_value *word = stack_word(machine, address, size, &shift);
    if (word == NULL)
        return CH_ERR_UNSUPPORTED;
    uint64_t mask = code_machine_keep(UINT64_MAX, size) << shift;
    word->number = (word->number & ~mask) | code_machine_keep(value.number, size)
                                                << shift;
    word->known = value.known && (size == 8 || word->known);
    return CH_OK;
}

enum ch_status code_machine_push(struct code_machine *machine, struct code_value value)
{
    struct code_value *sp = &machine->registers[CODE_MACHINE_RSP];
    sp->number -= 8;
    return sp->known ? code_machine_store(machine, sp->number, 8, value)
                     : CH_ERR_UNSUPPORTED;
}

enum ch_status code_machine_pop(struct code_machine *machine, struct code_value *out)
{
    struct code_value *sp = &machine->registers[CODE_MACHINE_RSP];
    struct code_value popped;
    if (!sp->known)
        return CH_ERR_UNSUPPORTED;
    enum ch_status status = code_machine_load(machine, sp->number, 8, &popped);
    if (status != CH_OK)
        return status;
    sp->number += 8;
    *out = popped;
    return CH_OK;
}
