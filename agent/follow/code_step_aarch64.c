// SPDX-License-Identifier: Apache-2.0
//
// How it works: code_step_aarch64 reads one instruction of four bytes and looks for it
// in two tables, each row a mask, the bits under it and a function: arm_forms has
// jumps, loads and stores; compute_forms has instructions that compute one register
// from others.
//
// Rows that jump set the pc; after all others it moves to the next instruction. Nothing
// of floating point or vectors is known.
//
// Register number 31 is the stack pointer in some operands and zero in others, so
// reading and writing a register has two functions each (arm_insn_get,
// arm_insn_get_or_sp). Encodings are from the Arm Architecture Reference Manual for
// A-profile, chapter C4.
#include "agent/follow/code_step_aarch64.h"

#include "base/cursor.h"

// Register number 31 is the stack pointer in some operands, and zero in others.
enum { ZERO_REGISTER = 31 };

// arm_insn_bits gives count bits of the instruction from bit `from` on.
static unsigned arm_insn_bits(const struct arm_insn *insn, unsigned from,
                              unsigned count)
{
    return insn->word >> from & ((1u << count) - 1);
}

// arm_insn_signed gives these bits as a signed number.
static int64_t arm_insn_signed(const struct arm_insn *insn, unsigned from,
                               unsigned count)
{
    int64_t sign = INT64_C(1) << (count - 1);
    return ((int64_t)arm_insn_bits(insn, from, count) ^ sign) - sign;
}

// arm_insn_size is the bytes of the operands of an instruction on registers.
static size_t arm_insn_size(const struct arm_insn *insn)
{
    return arm_insn_bits(insn, 31, 1) ? ARM_WIDE : ARM_NARROW;
}

// arm_insn_known is a value that is known.
static struct code_value arm_insn_known(uint64_t number)
{
    return (struct code_value){ number, true };
}

// arm_insn_get gives the low size bytes of a register; number 31 is zero.
static struct code_value arm_insn_get(const struct arm_insn *insn, unsigned number,
                                      size_t size)
{
    if (number == ZERO_REGISTER)
        return arm_insn_known(0);
    struct code_value value = insn->machine->registers[number];
    value.number = code_machine_keep(value.number, size);
    return value;
}

// arm_insn_get_or_sp does so where number 31 is the stack pointer.
static struct code_value arm_insn_get_or_sp(const struct arm_insn *insn,
                                            unsigned number, size_t size)
{
    struct code_value value = insn->machine->registers[number];
    value.number = code_machine_keep(value.number, size);
    return value;
}

// arm_insn_put writes size bytes to a register and clears the rest; number 31 is none.
static void arm_insn_put(const struct arm_insn *insn, unsigned number, size_t size,
                         struct code_value value)
{
    value.number = code_machine_keep(value.number, size);
    if (number != ZERO_REGISTER)
        insn->machine->registers[number] = value;
}

// arm_insn_put_or_sp does so where number 31 is the stack pointer.
static void arm_insn_put_or_sp(const struct arm_insn *insn, unsigned number,
                               size_t size, struct code_value value)
{
    value.number = code_machine_keep(value.number, size);
    insn->machine->registers[number] = value;
}

// arm_insn_extend widens a signed value of bits bits.
static uint64_t arm_insn_extend(uint64_t value, unsigned bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    uint64_t kept = bits == 64 ? value : value & ((sign << 1) - 1);
    return (kept ^ sign) - sign;
}

// arm_insn_widened gives a register's value, widened and shifted: option says from how
// many bytes, and whether it is signed.
static struct code_value arm_insn_widened(const struct arm_insn *insn, unsigned shift)
{
    unsigned option = arm_insn_bits(insn, 13, 3);
    size_t from = (size_t)1 << (option & 3);
    struct code_value value = arm_insn_get(insn, arm_insn_bits(insn, 16, 5), from);
    if (option & 4)
        value.number = arm_insn_extend(value.number, 8 * (unsigned)from);
    value.number <<= shift;
    return value;
}

// arm_insn_condition evaluates a condition code (section C1.2.4). CH_ERR_UNSUPPORTED:
// it depends on what is not known.
CH_CHECKED static enum ch_status arm_insn_condition(const struct arm_insn *insn,
                                                    unsigned code, bool *out)
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

// The AArch64 instructions that compute one register from others, of a function that is
// followed (code_walk.h): sums, logic, constants, shifts, selections. Nothing of
// floating point or vectors is known.

static bool top_bit(uint64_t value, size_t size)
{
    return value >> (8 * size - 1) & 1;
}

// add_values computes left + right + carry, and sets the flags on request. A
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

// arm_compute_step executes one of them. CH_ERR_NOT_FOUND: it is not one of them.
// CH_ERR_UNSUPPORTED: it depends on what is not known.
CH_CHECKED static enum ch_status arm_compute_step(struct arm_insn *insn)
{
    for (size_t i = 0; i < sizeof(compute_forms) / sizeof(compute_forms[0]); i++)
        if ((insn->word & compute_forms[i].mask) == compute_forms[i].bits)
            return compute_forms[i].step(insn);
    return CH_ERR_NOT_FOUND;
}

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
