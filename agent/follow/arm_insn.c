// SPDX-License-Identifier: Apache-2.0
#include "agent/follow/arm_insn.h"

// Register number 31 is the stack pointer in some operands, and zero in others.
enum { ZERO_REGISTER = 31 };

// arm_insn_bits gives count bits of the instruction from bit `from` on.
unsigned arm_insn_bits(const struct arm_insn *insn, unsigned from, unsigned count)
{
    return insn->word >> from & ((1u << count) - 1);
}

// arm_insn_signed gives these bits as a signed number.
int64_t arm_insn_signed(const struct arm_insn *insn, unsigned from, unsigned count)
{
    int64_t sign = INT64_C(1) << (count - 1);
    return ((int64_t)arm_insn_bits(insn, from, count) ^ sign) - sign;
}

// arm_insn_size is the bytes of the operands of an instruction on registers.
size_t arm_insn_size(const struct arm_insn *insn)
{
    return arm_insn_bits(insn, 31, 1) ? ARM_WIDE : ARM_NARROW;
}

struct code_value arm_insn_known(uint64_t number)
{
    return (struct code_value){ number, true };
}

struct code_value arm_insn_get(const struct arm_insn *insn, unsigned number,
                               size_t size)
{
    if (number == ZERO_REGISTER)
        return arm_insn_known(0);
    struct code_value value = insn->machine->registers[number];
    value.number = code_machine_keep(value.number, size);
    return value;
}

struct code_value arm_insn_get_or_sp(const struct arm_insn *insn, unsigned number,
                                     size_t size)
{
    struct code_value value = insn->machine->registers[number];
    value.number = code_machine_keep(value.number, size);
    return value;
}

// arm_insn_put writes size bytes and clears the rest of the register.
void arm_insn_put(const struct arm_insn *insn, unsigned number, size_t size,
                  struct code_value value)
{
    value.number = code_machine_keep(value.number, size);
    if (number != ZERO_REGISTER)
        insn->machine->registers[number] = value;
}

void arm_insn_put_or_sp(const struct arm_insn *insn, unsigned number, size_t size,
                        struct code_value value)
{
    value.number = code_machine_keep(value.number, size);
    insn->machine->registers[number] = value;
}

// arm_insn_extend widens a value of bits bits.
uint64_t arm_insn_extend(uint64_t value, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    uint64_t kept = bits == 64 ? value : value & ((sign << 1) - 1);
    return (kept ^ sign) - sign;
}

// arm_insn_widened gives a register's value, widened and shifted: option says from how
// many bytes, and whether it is signed.
struct code_value arm_insn_widened(const struct arm_insn *insn, unsigned shift)
{
    unsigned option = arm_insn_bits(insn, 13, 3);
    size_t from = (size_t)1 << (option & 3);
    struct code_value value = arm_insn_get(insn, arm_insn_bits(insn, 16, 5), from);
    if (option & 4)
        value.number = arm_insn_extend(value.number, 8 * (unsigned)from);
    value.number <<= shift;
    return value;
}

// arm_insn_condition evaluates a condition code (section C1.2.4).
enum ch_status arm_insn_condition(const struct arm_insn *insn, unsigned code, bool *out)
{
    const struct code_flags *flags = &insn->machine->flags;
    bool same = flags->sign == flags->overflow;
    const bool is[8] = { flags->zero,
                         flags->carry,
                         flags->sign,
                         flags->overflow,
                         flags->carry && !flags->zero,
                         same,
                         same && !flags->zero,
                         true };
    enum { ALWAYS = 7 };
    if (!flags->known && code >> 1 != ALWAYS)
        return CH_ERR_UNSUPPORTED;
    *out = is[code >> 1] != ((code & 1) != 0 && code >> 1 != ALWAYS);
    return CH_OK;
}
