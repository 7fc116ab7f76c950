// SPDX-License-Identifier: Apache-2.0
//
// How it works: code_walk_call makes a machine with the argument in the first register
// and a return address that no code has, and executes instructions one by one
// (code_step here, code_step_aarch64 for AArch64) until the pc is that return address.
//
// An x86-64 instruction is decoded in two steps: read_prefixes reads up to the opcode,
// find_form finds its row in the table of forms, and the row's function reads the rest
// (read_modrm, immediates) and executes it.
//
// Values are known or not (struct code_value): the registers of the caller are unknown.
// An unknown value may be moved, stored and loaded; a jump, an address or a condition
// that depends on one ends the walk with CH_ERR_UNSUPPORTED, as does an unknown
// instruction and a write outside of the machine's own stack.
//
// Invariants: the target is only read. Each instruction is in code of the target
// (is_code). CODE_WALK_STEPS_MAX bounds the number of instructions, also in loops and
// in functions that are called.
#include "agent/follow/code_walk.h"

#include "agent/follow/code_machine.h"
#include "agent/follow/code_step_aarch64.h"
#include "base/cursor.h"

// One instruction of a function that is followed (code_walk.h): x86-64, the general
// registers, the forms that compilers make of accessors.

enum { INSTRUCTION_BYTES = 15, TWO_BYTE = 0x100 };

// An operand is a register, or memory whose address is known.
struct operand {
    bool memory;
    uint8_t reg;
    uint64_t address;
};

// A decoding is an instruction as far as it has been read.
struct decoding {
    struct code_machine *machine;
    struct cursor code;
    uint8_t bytes[INSTRUCTION_BYTES];
    uint8_t rex;
    bool thread; // an fs segment prefix: the thread's own variables
    bool narrow; // a 16-bit operand size
    unsigned opcode;
    size_t size; // of the operands
    uint8_t reg; // the register field of ModRM
    struct operand rm;
};

enum { REX_W = 8, REX_R = 4, REX_X = 2, REX_B = 1 };

static uint64_t step_address(const struct decoding *d)
{
    return d->machine->pc + (sizeof(d->bytes) - cursor_left(&d->code));
}

static int64_t step_immediate(struct decoding *d, size_t size)
{
    switch (size) {
    case 1:
        return (int8_t)cursor_u8(&d->code);
    case 2:
        return (int16_t)cursor_u16(&d->code);
    default:
        return (int32_t)cursor_u32(&d->code);
    }
}

// step_relative reads a distance and gives the address that far after the instruction.
static uint64_t step_relative(struct decoding *d, size_t size)
{
    int64_t distance = step_immediate(d, size);
    return step_address(d) + (uint64_t)distance;
}

static enum ch_status add_register(const struct decoding *d, unsigned number,
                                   unsigned shift, uint64_t *sum)
{
    const struct code_value *value = &d->machine->registers[number];
    if (!value->known)
        return CH_ERR_UNSUPPORTED;
    *sum += value->number << shift;
    return CH_OK;
}

// read_scaled reads the SIB byte of an address and adds what it says to *sum.
static enum ch_status read_scaled(struct decoding *d, unsigned mode, uint64_t *sum)
{
    uint8_t sib = cursor_u8(&d->code);
    unsigned index = (sib >> 3 & 7u) | (d->rex & REX_X ? 8u : 0);
    unsigned base = (sib & 7u) | (d->rex & REX_B ? 8u : 0);
    enum ch_status base_status = CH_OK;
    enum ch_status status = CH_OK;
    if (mode == 0 && (base & 7u) == CODE_MACHINE_RBP)
        *sum += (uint64_t)step_immediate(d, 4);
    else
        base_status = add_register(d, base, 0, sum);
    if (index != CODE_MACHINE_RSP)
        status = add_register(d, index, sib >> 6, sum);
    return status == CH_OK ? base_status : status;
}

// read_modrm reads the ModRM byte and what belongs to it (Intel SDM volume 2, section
// 2.1.5). after is the size of the immediate that follows, which a distance from the
// next instruction has to skip.
static enum ch_status read_modrm(struct decoding *d, size_t after)
{
    uint8_t modrm = cursor_u8(&d->code);
    unsigned mode = modrm >> 6;
    unsigned rm = modrm & 7u;
    uint64_t sum = 0;
    enum ch_status status = CH_OK;
    d->reg = (uint8_t)((modrm >> 3 & 7u) | (d->rex & REX_R ? 8u : 0));
    d->rm = (struct operand){ .memory = mode != 3,
                              .reg = (uint8_t)(rm | (d->rex & REX_B ? 8u : 0)) };
    if (!d->rm.memory)
        return CH_OK;
    bool by_pc = mode == 0 && rm == CODE_MACHINE_RBP;
    if (by_pc)
        sum = (uint64_t)step_immediate(d, 4);
    else if (rm == CODE_MACHINE_RSP)
        status = read_scaled(d, mode, &sum);
    else
        status = add_register(d, d->rm.reg, 0, &sum);
    if (mode == 1 || mode == 2)
        sum += (uint64_t)step_immediate(d, mode == 1 ? 1 : 4);
    if (by_pc)
        sum += step_address(d) + after;
    d->rm.address = sum;
    return status;
}

// is_high_byte returns true if a byte register is ah, ch, dh or bh, which no REX prefix
// means.
static bool is_high_byte(const struct decoding *d, uint8_t reg, size_t size)
{
    return size == 1 && d->rex == 0 && reg >= 4 && reg < 8;
}

static enum ch_status read_operand(struct decoding *d, const struct operand *from,
                                   size_t size, struct code_value *out)
{
    if (!from->memory) {
        const struct code_value *value = &d->machine->registers[from->reg];
        *out =
            (struct code_value){ code_machine_keep(value->number, size), value->known };
        return is_high_byte(d, from->reg, size) ? CH_ERR_UNSUPPORTED : CH_OK;
    }
    // The stack protector's guard is the one thing that such code has from there, and
    // all that matters of it is that it stays the same.
    if (d->thread) {
        *out = (struct code_value){ 0, true };
        return CH_OK;
    }
    return code_machine_load(d->machine, from->address, size, out);
}

static enum ch_status write_operand(struct decoding *d, const struct operand *to,
                                    size_t size, struct code_value value)
{
    if (to->memory)
        return code_machine_store(d->machine, to->address, size, value);
    if (is_high_byte(d, to->reg, size))
        return CH_ERR_UNSUPPORTED;
    struct code_value *reg = &d->machine->registers[to->reg];
    uint64_t number = code_machine_keep(value.number, size);
    // A write of four bytes clears the rest of the register; a shorter one keeps it.
    if (size < 4)
        number |= reg->number & ~code_machine_keep(UINT64_MAX, size);
    *reg = (struct code_value){ number, value.known && (size >= 4 || reg->known) };
    return CH_OK;
}

static struct operand step_register(uint8_t number)
{
    return (struct operand){ .reg = number };
}

enum operation {
    OPERATION_ADD = 0,
    OPERATION_OR = 1,
    OPERATION_AND = 4,
    OPERATION_SUB = 5,
    OPERATION_XOR = 6,
    OPERATION_CMP = 7,
};

static bool is_negative(uint64_t value, size_t size)
{
    return value >> (8 * size - 1) & 1;
}

// set_flags sets the flags of a subtraction, or of an operation that neither carries
// nor overflows. A sum's are not needed.
static void set_flags(struct code_machine *machine, enum operation operation,
                      uint64_t left, uint64_t right, size_t size)
{
    bool subtracts = operation == OPERATION_SUB || operation == OPERATION_CMP;
    uint64_t result = operation == OPERATION_AND   ? left & right
                      : operation == OPERATION_OR  ? left | right
                      : operation == OPERATION_XOR ? left ^ right
                                                   : left - right;
    result = code_machine_keep(result, size);
    machine->flags = (struct code_flags){
        .known = operation != OPERATION_ADD,
        .zero = result == 0,
        .sign = is_negative(result, size),
        .carry = subtracts && left < right,
        .overflow = subtracts && is_negative(left, size) != is_negative(right, size) &&
                    is_negative(result, size) != is_negative(left, size),
    };
}

// operate computes left = left OPERATION right.
static enum ch_status operate(struct decoding *d, unsigned operation,
                              const struct operand *to, struct code_value right)
{
    struct code_value left;
    enum ch_status status = read_operand(d, to, d->size, &left);
    if (status != CH_OK)
        return status;
    bool known = left.known && right.known;
    uint64_t number = left.number + right.number;
    if (operation == OPERATION_OR)
        number = left.number | right.number;
    else if (operation == OPERATION_AND)
        number = left.number & right.number;
    else if (operation == OPERATION_XOR)
        number = left.number ^ right.number;
    else if (operation == OPERATION_SUB || operation == OPERATION_CMP)
        number = left.number - right.number;
    else if (operation != OPERATION_ADD)
        return CH_ERR_UNSUPPORTED; // with carry
    right.number = code_machine_keep(right.number, d->size);
    set_flags(d->machine, (enum operation)operation, left.number, right.number,
              d->size);
    d->machine->flags.known = d->machine->flags.known && known;
    if (operation == OPERATION_CMP)
        return CH_OK;
    return write_operand(d, to, d->size, (struct code_value){ number, known });
}

// step_operation is `add`, `or`, `and`, `sub`, `xor` or `cmp` of two operands.
static enum ch_status step_operation(struct decoding *d)
{
    unsigned operation = d->opcode >> 3 & 7u;
    bool to_register = d->opcode & 2;
    struct code_value right;
    enum ch_status status = read_modrm(d, 0);
    struct operand reg = step_register(d->reg);
    if (status != CH_OK)
        return status;
    // This clears a register, whatever it held.
    if ((operation == OPERATION_XOR || operation == OPERATION_SUB) && d->size >= 4 &&
        !d->rm.memory && d->rm.reg == d->reg)
        d->machine->registers[d->reg] = (struct code_value){ 0, true };
    status = read_operand(d, to_register ? &d->rm : &reg, d->size, &right);
    return status == CH_OK ? operate(d, operation, to_register ? &reg : &d->rm, right)
                           : status;
}

// step_operation_constant is the same with a constant.
static enum ch_status step_operation_constant(struct decoding *d)
{
    size_t bytes = d->opcode == 0x83 || d->size == 1 ? 1 : d->size == 2 ? 2 : 4;
    enum ch_status status = read_modrm(d, bytes);
    struct code_value right = { (uint64_t)step_immediate(d, bytes), true };
    return status == CH_OK ? operate(d, d->reg & 7u, &d->rm, right) : status;
}

// step_test compares with zero what two operands have in common.
static enum ch_status step_test(struct decoding *d)
{
    bool constant = d->opcode >= 0xf0;
    size_t bytes = !constant ? 0 : d->size < 4 ? d->size : 4;
    struct code_value left;
    enum ch_status status = read_modrm(d, bytes);
    struct operand reg = step_register(d->reg);
    struct code_value right = { 0, true };
    if (status == CH_OK && constant && (d->reg & 7u) != 0)
        return CH_ERR_UNSUPPORTED; // not, neg, mul, div
    if (constant)
        right.number = (uint64_t)step_immediate(d, bytes);
    else if (status == CH_OK)
        status = read_operand(d, &reg, d->size, &right);
    if (status == CH_OK)
        status = read_operand(d, &d->rm, d->size, &left);
    if (status != CH_OK)
        return status;
    set_flags(d->machine, OPERATION_AND, left.number, right.number, d->size);
    d->machine->flags.known = left.known && right.known;
    return CH_OK;
}

// step_accumulator is `and` or `test` of al, eax or rax with a constant.
static enum ch_status step_accumulator(struct decoding *d)
{
    size_t bytes = d->size < 4 ? d->size : 4;
    struct operand rax = step_register(CODE_MACHINE_RAX);
    struct code_value right = { (uint64_t)step_immediate(d, bytes), true };
    struct code_value before = d->machine->registers[CODE_MACHINE_RAX];
    enum ch_status status = operate(d, OPERATION_AND, &rax, right);
    if (d->opcode >= 0xa8)
        d->machine->registers[CODE_MACHINE_RAX] = before;
    return status;
}

static enum ch_status step_move(struct decoding *d)
{
    struct code_value value;
    enum ch_status status = read_modrm(d, 0);
    struct operand reg = step_register(d->reg);
    bool to_register = d->opcode & 2;
    if (status == CH_OK)
        status = read_operand(d, to_register ? &d->rm : &reg, d->size, &value);
    return status == CH_OK
               ? write_operand(d, to_register ? &reg : &d->rm, d->size, value)
               : status;
}

static enum ch_status step_address_of(struct decoding *d)
{
    enum ch_status status = read_modrm(d, 0);
    struct operand reg = step_register(d->reg);
    if (status != CH_OK || !d->rm.memory)
        return CH_ERR_UNSUPPORTED;
    return write_operand(d, &reg, d->size, (struct code_value){ d->rm.address, true });
}

static enum ch_status step_move_constant(struct decoding *d)
{
    size_t bytes = d->size < 4 ? d->size : 4;
    if (d->opcode >= 0xc6) {
        enum ch_status status = read_modrm(d, bytes);
        struct code_value value = { (uint64_t)step_immediate(d, bytes), true };
        return status == CH_OK ? write_operand(d, &d->rm, d->size, value) : status;
    }
    struct operand reg =
        step_register((uint8_t)((d->opcode & 7u) | (d->rex & REX_B ? 8u : 0)));
    uint64_t number =
        d->size == 8 ? cursor_u64(&d->code) : (uint64_t)step_immediate(d, bytes);
    return write_operand(d, &reg, d->size, (struct code_value){ number, true });
}

// step_widen is `movzx`, `movsx` and `movsxd`.
static enum ch_status step_widen(struct decoding *d)
{
    size_t from = d->opcode == 0x63 ? 4 : d->opcode & 1 ? 2 : 1;
    bool is_signed = d->opcode == 0x63 || d->opcode & 8;
    struct code_value value;
    enum ch_status status = read_modrm(d, 0);
    struct operand reg = step_register(d->reg);
    if (status == CH_OK)
        status = read_operand(d, &d->rm, from, &value);
    if (status != CH_OK)
        return status;
    if (is_signed && is_negative(value.number, from))
        value.number |= ~code_machine_keep(UINT64_MAX, from);
    return write_operand(d, &reg, d->size, value);
}

static enum ch_status step_push(struct decoding *d)
{
    unsigned reg = (d->opcode & 7u) | (d->rex & REX_B ? 8u : 0);
    return code_machine_push(d->machine, d->machine->registers[reg]);
}

static enum ch_status step_pop(struct decoding *d)
{
    unsigned reg = (d->opcode & 7u) | (d->rex & REX_B ? 8u : 0);
    return code_machine_pop(d->machine, &d->machine->registers[reg]);
}

static enum ch_status step_leave(struct decoding *d)
{
    d->machine->registers[CODE_MACHINE_RSP] = d->machine->registers[CODE_MACHINE_RBP];
    return code_machine_pop(d->machine, &d->machine->registers[CODE_MACHINE_RBP]);
}

// step_jump goes to target, or reports that it is not known.
static enum ch_status step_jump(struct decoding *d, struct code_value target)
{
    d->machine->pc = target.number;
    return target.known ? CH_OK : CH_ERR_UNSUPPORTED;
}

static enum ch_status step_return(struct decoding *d)
{
    struct code_value to;
    enum ch_status status = code_machine_pop(d->machine, &to);
    return status == CH_OK ? step_jump(d, to) : status;
}

static enum ch_status step_call(struct decoding *d)
{
    uint64_t target = step_relative(d, 4);
    enum ch_status status =
        code_machine_push(d->machine, (struct code_value){ step_address(d), true });
    return status == CH_OK ? step_jump(d, (struct code_value){ target, true }) : status;
}

static enum ch_status step_jump_direct(struct decoding *d)
{
    uint64_t target = step_relative(d, d->opcode == 0xeb ? 1 : 4);
    return step_jump(d, (struct code_value){ target, true });
}

// step_jump_indirect is a call or jump through a register or memory, such as the entry
// of a procedure linkage table.
static enum ch_status step_jump_indirect(struct decoding *d)
{
    enum { CALL = 2, JUMP = 4 };
    struct code_value target;
    enum ch_status status = read_modrm(d, 0);
    unsigned kind = d->reg & 7u;
    if (status == CH_OK)
        status = kind == CALL || kind == JUMP ? read_operand(d, &d->rm, 8, &target)
                                              : CH_ERR_UNSUPPORTED;
    if (status == CH_OK && kind == CALL)
        status =
            code_machine_push(d->machine, (struct code_value){ step_address(d), true });
    return status == CH_OK ? step_jump(d, target) : status;
}

// is_condition evaluates a condition code (Intel SDM volume 1, appendix B).
static enum ch_status is_condition(const struct decoding *d, bool *out)
{
    const struct code_flags *flags = &d->machine->flags;
    const bool is[8] = { flags->overflow,
                         flags->carry,
                         flags->zero,
                         flags->carry || flags->zero,
                         flags->sign,
                         false,
                         flags->sign != flags->overflow,
                         flags->zero || flags->sign != flags->overflow };
    enum { PARITY = 5 };
    unsigned code = d->opcode >> 1 & 7u;
    if (!flags->known || code == PARITY)
        return CH_ERR_UNSUPPORTED;
    *out = is[code] != (d->opcode & 1);
    return CH_OK;
}

static enum ch_status step_jump_if(struct decoding *d)
{
    bool taken = false;
    enum ch_status status = is_condition(d, &taken);
    uint64_t target = step_relative(d, d->opcode & TWO_BYTE ? 4 : 1);
    d->machine->pc = taken ? target : step_address(d);
    return status;
}

static enum ch_status step_move_if(struct decoding *d)
{
    struct code_value value;
    bool taken = false;
    enum ch_status status = read_modrm(d, 0);
    struct operand reg = step_register(d->reg);
    if (status == CH_OK)
        status = is_condition(d, &taken);
    if (status == CH_OK)
        status = read_operand(d, taken ? &d->rm : &reg, d->size, &value);
    return status == CH_OK ? write_operand(d, &reg, d->size, value) : status;
}

static enum ch_status step_set_if(struct decoding *d)
{
    bool holds = false;
    enum ch_status status = read_modrm(d, 0);
    if (status == CH_OK)
        status = is_condition(d, &holds);
    return status == CH_OK
               ? write_operand(d, &d->rm, 1, (struct code_value){ holds, true })
               : status;
}

// step_nothing is a `nop` of several bytes, or `endbr64`. The address in it may be
// computed from anything.
static enum ch_status step_nothing(struct decoding *d)
{
    (void)!read_modrm(d, 0);
    return CH_OK;
}

static enum ch_status step_pause(struct decoding *d)
{
    (void)d;
    return CH_OK;
}

// A form is what is done for a range of opcodes: an instruction's first byte, or its
// second one after 0x0f.
static const struct form {
    unsigned from;
    unsigned to;
    enum ch_status (*step)(struct decoding *);
    bool bytes; // an even opcode has operands of one byte
    bool jumps; // it sets the pc itself
} forms[] = {
    { 0x00, 0x03, step_operation, true, false },
    { 0x08, 0x0b, step_operation, true, false },
    { 0x20, 0x23, step_operation, true, false },
    { 0x24, 0x25, step_accumulator, true, false },
    { 0x28, 0x2b, step_operation, true, false },
    { 0x30, 0x33, step_operation, true, false },
    { 0x38, 0x3b, step_operation, true, false },
    { 0x50, 0x57, step_push, false, false },
    { 0x58, 0x5f, step_pop, false, false },
    { 0x63, 0x63, step_widen, false, false },
    { 0x70, 0x7f, step_jump_if, false, true },
    { 0x80, 0x81, step_operation_constant, true, false },
    { 0x83, 0x83, step_operation_constant, false, false },
    { 0x84, 0x85, step_test, true, false },
    { 0x88, 0x8b, step_move, true, false },
    { 0x8d, 0x8d, step_address_of, false, false },
    { 0x90, 0x90, step_pause, false, false },
    { 0xa8, 0xa9, step_accumulator, true, false },
    { 0xb8, 0xbf, step_move_constant, false, false },
    { 0xc3, 0xc3, step_return, false, true },
    { 0xc6, 0xc7, step_move_constant, true, false },
    { 0xc9, 0xc9, step_leave, false, false },
    { 0xe8, 0xe8, step_call, false, true },
    { 0xe9, 0xe9, step_jump_direct, false, true },
    { 0xeb, 0xeb, step_jump_direct, false, true },
    { 0xf6, 0xf7, step_test, true, false },
    { 0xff, 0xff, step_jump_indirect, false, true },
    { TWO_BYTE | 0x1e, TWO_BYTE | 0x1f, step_nothing, false, false },
    { TWO_BYTE | 0x40, TWO_BYTE | 0x4f, step_move_if, false, false },
    { TWO_BYTE | 0x80, TWO_BYTE | 0x8f, step_jump_if, false, true },
    { TWO_BYTE | 0x90, TWO_BYTE | 0x9f, step_set_if, false, false },
    { TWO_BYTE | 0xb6, TWO_BYTE | 0xb7, step_widen, false, false },
    { TWO_BYTE | 0xbe, TWO_BYTE | 0xbf, step_widen, false, false },
};

static const struct form *find_form(unsigned opcode)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (opcode >= forms[i].from && opcode <= forms[i].to)
            return &forms[i];
    return NULL;
}

// read_prefixes reads up to and with the opcode.
static void read_prefixes(struct decoding *d)
{
    enum { BRANCH = 0xf2, REPEAT = 0xf3, NARROW = 0x66, FS = 0x64, CS = 0x2e };
    uint8_t byte = cursor_u8(&d->code);
    for (; cursor_ok(&d->code); byte = cursor_u8(&d->code)) {
        d->thread = d->thread || byte == FS;
        d->narrow = d->narrow || byte == NARROW;
        if (byte != BRANCH && byte != REPEAT && byte != NARROW && byte != FS &&
            byte != CS)
            break;
    }
    if (byte >> 4 == 4) {
        d->rex = byte;
        byte = cursor_u8(&d->code);
    }
    d->opcode = byte;
    if (byte == 0x0f)
        d->opcode = TWO_BYTE | cursor_u8(&d->code);
}

// code_step executes the instruction at the machine's pc. CH_ERR_UNSUPPORTED: it is not
// one of those that are understood, or depends on what is not known.
CH_CHECKED static enum ch_status code_step(struct code_machine *machine)
{
    struct decoding d = { .machine = machine };
    const struct memory_reader *memory = machine->memory;
    if (memory->read(memory->source, machine->pc, d.bytes, sizeof(d.bytes)) == 0)
        return CH_ERR_FAULT;
    d.code = cursor_over(d.bytes, sizeof(d.bytes));
    read_prefixes(&d);
    const struct form *form = find_form(d.opcode);
    if (form == NULL || !cursor_ok(&d.code))
        return CH_ERR_UNSUPPORTED;
    d.size = form->bytes && !(d.opcode & 1) ? 1 : d.rex & REX_W ? 8 : d.narrow ? 2 : 4;
    enum ch_status status = form->step(&d);
    if (!cursor_ok(&d.code))
        return CH_ERR_UNSUPPORTED;
    if (!form->jumps)
        machine->pc = step_address(&d);
    return status;
}

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
