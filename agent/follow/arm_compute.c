// SPDX-License-Identifier: Apache-2.0
#include "agent/follow/arm_compute.h"

static bool top_bit(uint64_t value, size_t size)
{
    return value >> (8 * size - 1) & 1;
}

// add_values computes left + right + carry, and sets the flags if it is asked to. A
// subtraction adds the complement of what is subtracted, and 1.
static struct code_value add_values(const struct arm_insn *insn, struct code_value left,
                                    struct code_value right, bool carry, bool flags)
{
    size_t size = arm_insn_size(insn);
    uint64_t a = code_machine_keep(left.number, size);
    uint64_t b = code_machine_keep(right.number, size);
    uint64_t sum = code_machine_keep(a + b + carry, size);
    bool known = left.known && right.known;
    if (flags)
        insn->machine->flags = (struct code_flags){
            .known = known,
            .zero = sum == 0,
            .sign = top_bit(sum, size),
            .carry = carry ? sum <= a : sum < a,
            .overflow = top_bit(a, size) == top_bit(b, size) &&
                        top_bit(sum, size) != top_bit(a, size),
        };
    return (struct code_value){ sum, known };
}

// step_sum finishes an addition or a subtraction: bit 30 subtracts, bit 29 sets flags.
static struct code_value step_sum(const struct arm_insn *insn, struct code_value left,
                                  struct code_value right)
{
    bool subtracts = arm_insn_bits(insn, 30, 1);
    if (subtracts)
        right.number = ~right.number;
    return add_values(insn, left, right, subtracts, arm_insn_bits(insn, 29, 1));
}

static enum ch_status step_add_constant(struct arm_insn *insn)
{
    size_t size = arm_insn_size(insn);
    uint64_t constant = arm_insn_bits(insn, 10, 12);
    if (arm_insn_bits(insn, 22, 1))
        constant <<= 12;
    struct code_value sum =
        step_sum(insn, arm_insn_get_or_sp(insn, arm_insn_bits(insn, 5, 5), size),
                 arm_insn_known(constant));
    if (arm_insn_bits(insn, 29, 1))
        arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size, sum);
    else
        arm_insn_put_or_sp(insn, arm_insn_bits(insn, 0, 5), size, sum);
    return CH_OK;
}

// shifted gives a register's value, shifted as bits 22 and 23 say.
static struct code_value shifted(const struct arm_insn *insn)
{
    enum { LEFT = 0, RIGHT = 1, SIGNED_RIGHT = 2 };
    size_t size = arm_insn_size(insn);
    unsigned bits = 8 * (unsigned)size;
    unsigned by = arm_insn_bits(insn, 10, 6);
    struct code_value value = arm_insn_get(insn, arm_insn_bits(insn, 16, 5), size);
    if (by >= bits)
        return (struct code_value){ 0 };
    switch (arm_insn_bits(insn, 22, 2)) {
    case LEFT:
        value.number <<= by;
        break;
    case RIGHT:
        value.number >>= by;
        break;
    case SIGNED_RIGHT:
        value.number = (uint64_t)((int64_t)arm_insn_extend(value.number, bits) >> by);
        break;
    default: // a rotation
        value.number =
            by == 0 ? value.number : value.number >> by | value.number << (bits - by);
        break;
    }
    return value;
}

static enum ch_status step_add_shifted(struct arm_insn *insn)
{
    size_t size = arm_insn_size(insn);
    struct code_value left = arm_insn_get(insn, arm_insn_bits(insn, 5, 5), size);
    arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size,
                 step_sum(insn, left, shifted(insn)));
    return CH_OK;
}

static enum ch_status step_add_extended(struct arm_insn *insn)
{
    size_t size = arm_insn_size(insn);
    struct code_value left = arm_insn_get_or_sp(insn, arm_insn_bits(insn, 5, 5), size);
    struct code_value sum =
        step_sum(insn, left, arm_insn_widened(insn, arm_insn_bits(insn, 10, 3)));
    if (arm_insn_bits(insn, 29, 1))
        arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size, sum);
    else
        arm_insn_put_or_sp(insn, arm_insn_bits(insn, 0, 5), size, sum);
    return CH_OK;
}

enum logic {
    LOGIC_AND = 0,
    LOGIC_OR = 1,
    LOGIC_XOR = 2,
    LOGIC_AND_FLAGS = 3,
};

// step_logic computes what bits 29 and 30 say of two values.
static struct code_value step_logic(const struct arm_insn *insn, struct code_value left,
                                    struct code_value right)
{
    size_t size = arm_insn_size(insn);
    enum logic logic = (enum logic)arm_insn_bits(insn, 29, 2);
    uint64_t number = logic == LOGIC_OR    ? left.number | right.number
                      : logic == LOGIC_XOR ? left.number ^ right.number
                                           : left.number & right.number;
    struct code_value result = { code_machine_keep(number, size),
                                 left.known && right.known };
    if (logic == LOGIC_AND_FLAGS)
        insn->machine->flags =
            (struct code_flags){ .known = result.known,
                                 .zero = result.number == 0,
                                 .sign = top_bit(result.number, size) };
    return result;
}

static enum ch_status step_logic_shifted(struct arm_insn *insn)
{
    size_t size = arm_insn_size(insn);
    struct code_value right = shifted(insn);
    if (arm_insn_bits(insn, 21, 1))
        right.number = ~right.number;
    struct code_value left = arm_insn_get(insn, arm_insn_bits(insn, 5, 5), size);
    arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size, step_logic(insn, left, right));
    return CH_OK;
}

// logic_constant decodes the constant of a logical instruction: a run of ones, rotated,
// in an element that is repeated. False: there is no such constant.
static bool logic_constant(const struct arm_insn *insn, uint64_t *out)
{
    unsigned sizes =
        arm_insn_bits(insn, 22, 1) << 6 | (~arm_insn_bits(insn, 10, 6) & 0x3f);
    if (sizes < 2)
        return false;
    unsigned element = 1u << (31 - (unsigned)__builtin_clz(sizes));
    unsigned ones = (arm_insn_bits(insn, 10, 6) & (element - 1)) + 1;
    unsigned rotation = arm_insn_bits(insn, 16, 6) & (element - 1);
    if (ones == element || element > 8 * arm_insn_size(insn))
        return false;
    uint64_t all = element == 64 ? UINT64_MAX : (UINT64_C(1) << element) - 1;
    uint64_t run = (UINT64_C(1) << ones) - 1;
    if (rotation != 0)
        run = (run >> rotation | run << (element - rotation)) & all;
    for (unsigned at = element; at < 64; at *= 2)
        run |= run << at;
    *out = run;
    return true;
}

static enum ch_status step_logic_constant(struct arm_insn *insn)
{
    size_t size = arm_insn_size(insn);
    uint64_t constant = 0;
    if (!logic_constant(insn, &constant))
        return CH_ERR_UNSUPPORTED;
    struct code_value left = arm_insn_get(insn, arm_insn_bits(insn, 5, 5), size);
    struct code_value result = step_logic(insn, left, arm_insn_known(constant));
    if (arm_insn_bits(insn, 29, 2) == LOGIC_AND_FLAGS)
        arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size, result);
    else
        arm_insn_put_or_sp(insn, arm_insn_bits(insn, 0, 5), size, result);
    return CH_OK;
}

static enum ch_status arm_move_constant(struct arm_insn *insn)
{
    enum { NEGATED = 0, PLAIN = 2, KEEPING = 3 };
    size_t size = arm_insn_size(insn);
    unsigned to = arm_insn_bits(insn, 0, 5);
    unsigned shift = 16 * arm_insn_bits(insn, 21, 2);
    uint64_t part = (uint64_t)arm_insn_bits(insn, 5, 16) << shift;
    struct code_value value = arm_insn_known(part);
    if (shift >= 8 * size)
        return CH_ERR_UNSUPPORTED;
    switch (arm_insn_bits(insn, 29, 2)) {
    case NEGATED:
        value.number = ~part;
        break;
    case PLAIN:
        break;
    case KEEPING:
        value = arm_insn_get(insn, to, size);
        value.number = (value.number & ~(UINT64_C(0xffff) << shift)) | part;
        break;
    default:
        return CH_ERR_UNSUPPORTED;
    }
    arm_insn_put(insn, to, size, value);
    return CH_OK;
}

// step_bits moves a field of bits to or from a register's low end, which is how shifts
// by a constant and widenings are written.
static enum ch_status step_bits(struct arm_insn *insn)
{
    enum { SIGNED = 0, UNSIGNED = 2 };
    size_t size = arm_insn_size(insn);
    unsigned bits = 8 * (unsigned)size;
    unsigned rotation = arm_insn_bits(insn, 16, 6);
    unsigned last = arm_insn_bits(insn, 10, 6);
    unsigned kind = arm_insn_bits(insn, 29, 2);
    struct code_value value = arm_insn_get(insn, arm_insn_bits(insn, 5, 5), size);
    if (rotation >= bits || last >= bits || (kind != SIGNED && kind != UNSIGNED))
        return CH_ERR_UNSUPPORTED;
    bool down = last >= rotation;
    unsigned width = down ? last - rotation + 1 : last + 1;
    uint64_t field = down ? value.number >> rotation : value.number;
    if (width < 64)
        field &= (UINT64_C(1) << width) - 1;
    if (kind == SIGNED)
        field = arm_insn_extend(field, width);
    value.number = down ? field : field << (bits - rotation);
    arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size, value);
    return CH_OK;
}

// arm_address_of is `adr` and `adrp`: an address by its distance, in bytes or pages.
static enum ch_status arm_address_of(struct arm_insn *insn)
{
    enum { PAGE_BITS = 12 };
    int64_t distance =
        arm_insn_signed(insn, 5, 19) * 4 + (int64_t)arm_insn_bits(insn, 29, 2);
    uint64_t from = insn->machine->pc;
    if (arm_insn_bits(insn, 31, 1)) {
        distance *= 1 << PAGE_BITS;
        from = from >> PAGE_BITS << PAGE_BITS;
    }
    arm_insn_put(insn, arm_insn_bits(insn, 0, 5), ARM_WIDE,
                 arm_insn_known(from + (uint64_t)distance));
    return CH_OK;
}

// step_select is `csel` and its kin: the second value may be increased, inverted or
// negated.
static enum ch_status step_select(struct arm_insn *insn)
{
    size_t size = arm_insn_size(insn);
    bool holds = false;
    enum ch_status status =
        arm_insn_condition(insn, arm_insn_bits(insn, 12, 4), &holds);
    struct code_value value =
        arm_insn_get(insn, arm_insn_bits(insn, holds ? 5 : 16, 5), size);
    if (!holds && arm_insn_bits(insn, 30, 1))
        value.number = ~value.number;
    if (!holds && arm_insn_bits(insn, 10, 1))
        value.number++;
    if (status == CH_OK)
        arm_insn_put(insn, arm_insn_bits(insn, 0, 5), size, value);
    return status;
}

// step_thread_pointer is `mrs` of the register that thread-local variables are found
// by.
static enum ch_status step_thread_pointer(struct arm_insn *insn)
{
    arm_insn_put(insn, arm_insn_bits(insn, 0, 5), ARM_WIDE, insn->machine->thread);
    return CH_OK;
}

// A compute_form is what is done for the instructions whose bits under mask have these
// values.
static const struct compute_form {
    uint32_t mask;
    uint32_t bits;
    enum ch_status (*step)(struct arm_insn *);
} compute_forms[] = {
    { 0x1f000000, 0x10000000, arm_address_of },
    { 0x1f800000, 0x11000000, step_add_constant },
    { 0x1f800000, 0x12000000, step_logic_constant },
    { 0x1f800000, 0x12800000, arm_move_constant },
    { 0x1f800000, 0x13000000, step_bits },
    { 0x1f000000, 0x0a000000, step_logic_shifted },
    { 0x1f200000, 0x0b000000, step_add_shifted },
    { 0x1fe00000, 0x0b200000, step_add_extended },
    { 0x3fe00800, 0x1a800000, step_select },
    { 0xffffffe0, 0xd53bd040, step_thread_pointer },
};

enum ch_status arm_compute_step(struct arm_insn *insn)
{
    for (size_t i = 0; i < sizeof(compute_forms) / sizeof(compute_forms[0]); i++)
        if ((insn->word & compute_forms[i].mask) == compute_forms[i].bits)
            return compute_forms[i].step(insn);
    return CH_ERR_NOT_FOUND;
}
