// SPDX-License-Identifier: Apache-2.0
#include "agent/follow/code_step_aarch64.h"

#include "agent/follow/arm_compute.h"
#include "agent/follow/arm_insn.h"
#include "base/cursor.h"

// step_goto goes to what is count bits of words away, if the jump is taken.
static enum ch_status step_goto(struct arm_insn *insn, unsigned from, unsigned count,
                                bool taken)
{
    int64_t words = taken ? arm_insn_signed(insn, from, count) : 1;
    insn->machine->pc += (uint64_t)(words * ARM_INSN_BYTES);
    return CH_OK;
}

static void link_return(struct arm_insn *insn)
{
    arm_insn_put(insn, CODE_MACHINE_X30, ARM_WIDE,
                 arm_insn_known(insn->machine->pc + ARM_INSN_BYTES));
}

static enum ch_status arm_jump(struct arm_insn *insn)
{
    if (arm_insn_bits(insn, 31, 1))
        link_return(insn);
    return step_goto(insn, 0, 26, true);
}

// step_jump_register is a jump, a call or a return; those that check a signed address
// are taken for plain ones, as nothing here signs one.
static enum ch_status step_jump_register(struct arm_insn *insn)
{
    enum { JUMP = 0, CALL = 1, RETURN = 2 };
    unsigned kind = arm_insn_bits(insn, 21, 3);
    bool checks = arm_insn_bits(insn, 11, 1);
    unsigned number =
        checks && kind == RETURN ? CODE_MACHINE_X30 : arm_insn_bits(insn, 5, 5);
    struct code_value target = arm_insn_get(insn, number, ARM_WIDE);
    if (kind > RETURN || !target.known)
        return CH_ERR_UNSUPPORTED;
    if (kind == CALL)
        link_return(insn);
    insn->machine->pc = target.number;
    return CH_OK;
}

static enum ch_status arm_jump_if(struct arm_insn *insn)
{
    bool taken = false;
    enum ch_status status = arm_insn_condition(insn, arm_insn_bits(insn, 0, 4), &taken);
    return status == CH_OK ? step_goto(insn, 5, 19, taken) : status;
}

// step_jump_if_zero is `cbz` and `cbnz`.
static enum ch_status step_jump_if_zero(struct arm_insn *insn)
{
    struct code_value value =
        arm_insn_get(insn, arm_insn_bits(insn, 0, 5), arm_insn_size(insn));
    if (!value.known)
        return CH_ERR_UNSUPPORTED;
    return step_goto(insn, 5, 19, (value.number != 0) == arm_insn_bits(insn, 24, 1));
}

// step_jump_if_bit is `tbz` and `tbnz`.
static enum ch_status step_jump_if_bit(struct arm_insn *insn)
{
    unsigned bit = arm_insn_bits(insn, 31, 1) << 5 | arm_insn_bits(insn, 19, 5);
    struct code_value value = arm_insn_get(insn, arm_insn_bits(insn, 0, 5), ARM_WIDE);
    if (!value.known)
        return CH_ERR_UNSUPPORTED;
    return step_goto(insn, 5, 14,
                     (value.number >> bit & 1) == arm_insn_bits(insn, 24, 1));
}

// A place is memory that an instruction names by a register, which it may move.
struct place {
    unsigned base;
    uint64_t address;
    bool moves;
    uint64_t moved; // the base register's value afterwards
};

static enum ch_status find_place(const struct arm_insn *insn, struct place *out)
{
    struct code_value value =
        arm_insn_get_or_sp(insn, arm_insn_bits(insn, 5, 5), ARM_WIDE);
    *out = (struct place){ .base = arm_insn_bits(insn, 5, 5), .address = value.number };
    return value.known ? CH_OK : CH_ERR_UNSUPPORTED;
}

// move_place adds a distance to a place: before the access, after it, or for the access
// alone.
static void move_place(struct place *place, bool moves, bool before, int64_t distance)
{
    place->moves = moves;
    place->moved = place->address + (uint64_t)distance;
    if (before || !moves)
        place->address = place->moved;
}

static void leave_place(const struct arm_insn *insn, const struct place *place)
{
    if (place->moves)
        arm_insn_put_or_sp(insn, place->base, ARM_WIDE, arm_insn_known(place->moved));
}

static enum ch_status arm_load(struct arm_insn *insn, unsigned number, uint64_t address,
                               size_t size)
{
    struct code_value value;
    enum ch_status status = code_machine_load(insn->machine, address, size, &value);
    if (status == CH_OK)
        arm_insn_put(insn, number, ARM_WIDE, value);
    return status;
}

static enum ch_status arm_store(struct arm_insn *insn, unsigned number,
                                uint64_t address, size_t size)
{
    return code_machine_store(insn->machine, address, size,
                              arm_insn_get(insn, number, size));
}

// transfer is a load or a store of one register: bits 30 and 31 are its size, bits 22
// and 23 what it does.
static enum ch_status transfer(struct arm_insn *insn, const struct place *place)
{
    enum { STORE = 0, LOAD = 1, LOAD_SIGNED = 2 };
    unsigned number = arm_insn_bits(insn, 0, 5);
    unsigned kind = arm_insn_bits(insn, 22, 2);
    size_t size = (size_t)1 << arm_insn_bits(insn, 30, 2);
    size_t widened = kind == LOAD_SIGNED ? ARM_WIDE : ARM_NARROW;
    enum ch_status status;
    if (kind == STORE)
        status = arm_store(insn, number, place->address, size);
    else if (kind != LOAD && size >= widened)
        return CH_ERR_UNSUPPORTED; // a prefetch, or nothing
    else
        status = arm_load(insn, number, place->address, size);
    if (status != CH_OK)
        return status;
    if (kind != STORE && kind != LOAD) {
        struct code_value value = arm_insn_get(insn, number, size);
        value.number = arm_insn_extend(value.number, 8 * (unsigned)size);
        arm_insn_put(insn, number, widened, value);
    }
    leave_place(insn, place);
    return CH_OK;
}

static enum ch_status step_transfer_far(struct arm_insn *insn)
{
    struct place place;
    enum ch_status status = find_place(insn, &place);
    if (status != CH_OK)
        return status;
    int64_t distance = (int64_t)arm_insn_bits(insn, 10, 12)
                       << arm_insn_bits(insn, 30, 2);
    move_place(&place, false, true, distance);
    return transfer(insn, &place);
}

static enum ch_status step_transfer_near(struct arm_insn *insn)
{
    struct place place;
    bool moves = arm_insn_bits(insn, 10, 1);
    bool before = arm_insn_bits(insn, 11, 1);
    enum ch_status status = find_place(insn, &place);
    if (status != CH_OK)
        return status;
    move_place(&place, moves, before, arm_insn_signed(insn, 12, 9));
    return transfer(insn, &place);
}

static enum ch_status step_transfer_indexed(struct arm_insn *insn)
{
    struct place place;
    unsigned shift = arm_insn_bits(insn, 12, 1) ? arm_insn_bits(insn, 30, 2) : 0;
    struct code_value index = arm_insn_widened(insn, shift);
    enum ch_status status = find_place(insn, &place);
    if (status != CH_OK || !index.known)
        return CH_ERR_UNSUPPORTED;
    move_place(&place, false, true, (int64_t)index.number);
    return transfer(insn, &place);
}

// step_load_ordered is a load that other threads' stores come before.
static enum ch_status step_load_ordered(struct arm_insn *insn)
{
    struct place place;
    enum ch_status status = find_place(insn, &place);
    return status == CH_OK ? arm_load(insn, arm_insn_bits(insn, 0, 5), place.address,
                                      (size_t)1 << arm_insn_bits(insn, 30, 2))
                           : status;
}

static enum ch_status step_load_constant(struct arm_insn *insn)
{
    uint64_t distance = (uint64_t)arm_insn_signed(insn, 5, 19) * ARM_INSN_BYTES;
    return arm_load(insn, arm_insn_bits(insn, 0, 5), insn->machine->pc + distance,
                    arm_insn_bits(insn, 30, 1) ? ARM_WIDE : ARM_NARROW);
}

// step_transfer_pair is `ldp` and `stp`: bits 23 and 24 are the mode, bit 22 loads.
static enum ch_status step_transfer_pair(struct arm_insn *insn)
{
    struct place place;
    size_t size = arm_insn_size(insn);
    bool loads = arm_insn_bits(insn, 22, 1);
    const unsigned numbers[] = { arm_insn_bits(insn, 0, 5),
                                 arm_insn_bits(insn, 10, 5) };
    enum ch_status status = find_place(insn, &place);
    if (arm_insn_bits(insn, 30, 1))
        return CH_ERR_UNSUPPORTED; // tags, or widening
    if (status != CH_OK)
        return status;
    move_place(&place, arm_insn_bits(insn, 23, 1), arm_insn_bits(insn, 24, 1),
               arm_insn_signed(insn, 15, 7) * (int64_t)size);
    for (unsigned i = 0; i < 2 && status == CH_OK; i++)
        status = loads ? arm_load(insn, numbers[i], place.address + i * size, size)
                       : arm_store(insn, numbers[i], place.address + i * size, size);
    if (status == CH_OK)
        leave_place(insn, &place);
    return status;
}

// step_hint is `nop`, a landing pad, or the signing of a return address.
static enum ch_status step_hint(struct arm_insn *insn)
{
    (void)insn;
    return CH_OK;
}

// An arm_form is what is done for the instructions whose bits under mask have these
// values.
static const struct arm_form {
    uint32_t mask;
    uint32_t bits;
    enum ch_status (*step)(struct arm_insn *);
    bool jumps; // it sets the pc itself
} arm_forms[] = {
    { 0x7c000000, 0x14000000, arm_jump, true },
    { 0xff000010, 0x54000000, arm_jump_if, true },
    { 0x7e000000, 0x34000000, step_jump_if_zero, true },
    { 0x7e000000, 0x36000000, step_jump_if_bit, true },
    { 0xfe1ff000, 0xd61f0000, step_jump_register, true },
    { 0xfffff01f, 0xd503201f, step_hint, false },
    { 0x3f000000, 0x39000000, step_transfer_far, false },
    { 0x3f200000, 0x38000000, step_transfer_near, false },
    { 0x3f200c00, 0x38200800, step_transfer_indexed, false },
    { 0x3ffffc00, 0x08dffc00, step_load_ordered, false },
    { 0xbf000000, 0x18000000, step_load_constant, false },
    { 0x3e000000, 0x28000000, step_transfer_pair, false },
};

enum ch_status code_step_aarch64(struct code_machine *machine)
{
    uint8_t bytes[ARM_INSN_BYTES];
    enum ch_status status =
        memory_read(machine->memory, machine->pc, bytes, sizeof(bytes));
    if (status != CH_OK)
        return status;
    struct cursor code = cursor_over(bytes, sizeof(bytes));
    struct arm_insn insn = { .machine = machine, .word = cursor_u32(&code) };
    for (size_t i = 0; i < sizeof(arm_forms) / sizeof(arm_forms[0]); i++) {
        const struct arm_form *form = &arm_forms[i];
        if ((insn.word & form->mask) != form->bits)
            continue;
        status = form->step(&insn);
        if (!form->jumps)
            machine->pc += ARM_INSN_BYTES;
        return status;
    }
    status = arm_compute_step(&insn);
    machine->pc += ARM_INSN_BYTES;
    return status == CH_ERR_NOT_FOUND ? CH_ERR_UNSUPPORTED : status;
}
