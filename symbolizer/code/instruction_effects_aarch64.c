// SPDX-License-Identifier: Apache-2.0
//
// What instructions of AArch64 do to the general registers and to the flow of control,
// by the encodings of the Arm Architecture Reference Manual (C4.1). Number 31 is the
// stack pointer in some operands, and a zero that nothing is tracked of in others.
// Instructions of SVE and SME are not decoded.
#include "base/cursor.h"
#include "symbolizer/code/instruction.h"
#include "symbolizer/code/word_bits.h"

enum { LENGTH = 4, ZERO = 31, WORD_BYTES = 8, SCALE_BITS_MAX = 7 };

// general gives the register in five bits of word where number 31 is zero.
static uint8_t general(uint32_t word, unsigned low)
{
    unsigned number = word_bits(word, low, 5);
    return number == ZERO ? INSTRUCTION_NO_REGISTER : (uint8_t)number;
}

// general_or_sp gives it where number 31 is the stack pointer.
static uint8_t general_or_sp(uint32_t word, unsigned low)
{
    return (uint8_t)word_bits(word, low, 5);
}

static uint32_t register_bit(uint8_t number)
{
    return number < 32 ? UINT32_C(1) << number : 0;
}

static bool is_long(uint32_t word)
{
    return word_bits(word, 31, 1);
}

// set_address makes the instruction one that computes an address.
static void set_address(struct instruction_effects *out, uint8_t base, uint8_t index,
                        unsigned scale_bits, int64_t displacement)
{
    out->action = INSTRUCTION_ADDRESSES;
    out->memory = (struct instruction_memory){ .used = true,
                                               .base = base,
                                               .index = index,
                                               .scale = (uint8_t)(1u << scale_bits),
                                               .displacement = displacement };
}

static void effects_of_page(uint32_t word, uint64_t address,
                            struct instruction_effects *out)
{
    enum { PAGE_BITS = 12 };
    int64_t distance = word_signed_bits(word, 5, 19) * 4 + word_bits(word, 29, 2);
    uint64_t target =
        is_long(word) // ADRP
            ? (address >> PAGE_BITS << PAGE_BITS) + ((uint64_t)distance << PAGE_BITS)
            : address + (uint64_t)distance;
    set_address(out, INSTRUCTION_PC, INSTRUCTION_NO_REGISTER, 0,
                (int64_t)(target - address - LENGTH));
}

// read_add_constant reads ADD and SUB of a constant. A move to or from the stack
// pointer is an addition of 0.
static void read_add_constant(uint32_t word, struct instruction_effects *out)
{
    bool sets_flags = word_bits(word, 29, 1);
    int64_t constant = (int64_t)word_bits(word, 10, 12)
                       << (word_bits(word, 22, 1) ? 12 : 0);
    out->from = general_or_sp(word, 5);
    out->to = sets_flags ? general(word, 0) : general_or_sp(word, 0);
    if (out->to == INSTRUCTION_NO_REGISTER) // a comparison
        return;
    if (!is_long(word)) {
        out->named = register_bit(out->from);
        return;
    }
    out->constant = word_bits(word, 30, 1) ? -constant : constant;
    out->bytes = WORD_BYTES;
    if (constant == 0)
        out->action = INSTRUCTION_MOVES;
    else if (out->to == out->from)
        out->action = INSTRUCTION_ADDS;
    else
        set_address(out, out->from, INSTRUCTION_NO_REGISTER, 0, out->constant);
}

static void read_wide_constant(uint32_t word, struct instruction_effects *out)
{
    enum { MOVN = 0, MOVK = 3 };
    unsigned opc = word_bits(word, 29, 2);
    uint64_t value = (uint64_t)word_bits(word, 5, 16) << (16 * word_bits(word, 21, 2));
    if (opc == MOVK)
        return;
    if (opc == MOVN)
        value = ~value;
    out->action = INSTRUCTION_SETS;
    out->constant = (int64_t)(is_long(word) ? value : (uint32_t)value);
}

// read_bit_field reads extensions, which copy the low bytes, and shifts to the left,
// which multiply.
static void read_bit_field(uint32_t word, struct instruction_effects *out)
{
    enum { BFM = 1, UBFM = 2, LOW_WORD = 31, BIT_COUNT = 64 };
    unsigned opc = word_bits(word, 29, 2);
    unsigned rotation = word_bits(word, 16, 6);
    unsigned last = word_bits(word, 10, 6);
    unsigned shift = (BIT_COUNT - rotation) % BIT_COUNT;
    out->from = general(word, 5);
    out->named = register_bit(out->from);
    if (opc == BFM || out->from == INSTRUCTION_NO_REGISTER)
        return;
    if (rotation == 0 && (last == 7 || last == 15 || last == LOW_WORD)) {
        out->action = INSTRUCTION_MOVES;
        out->bytes = (uint8_t)((last + 1) / 8);
    } else if (is_long(word) && shift != 0 && shift <= SCALE_BITS_MAX &&
               (last == LOW_WORD || (opc == UBFM && last + shift == BIT_COUNT - 1))) {
        set_address(out, INSTRUCTION_NO_REGISTER, out->from, shift, 0);
    }
}

static bool read_constants(uint32_t word, uint64_t address,
                           struct instruction_effects *out)
{
    enum { ANDS = 3 };
    out->to = general(word, 0);
    switch (word_bits(word, 23, 3)) {
    case 0:
    case 1:
        effects_of_page(word, address, out);
        break;
    case 2:
        read_add_constant(word, out);
        break;
    case 3: // ADDG and SUBG
        out->to = general_or_sp(word, 0);
        out->named = register_bit(general_or_sp(word, 5));
        break;
    case 4: // AND, ORR, EOR
        if (word_bits(word, 29, 2) != ANDS)
            out->to = general_or_sp(word, 0);
        out->named = register_bit(general(word, 5));
        break;
    case 5:
        read_wide_constant(word, out);
        break;
    case 6:
        read_bit_field(word, out);
        break;
    default: // EXTR
        out->named = register_bit(general(word, 5)) | register_bit(general(word, 16));
    }
    out->written = register_bit(out->to);
    return true;
}

static void jump_to(struct instruction_effects *out, enum instruction_flow flow,
                    uint64_t address, int64_t words)
{
    out->flow = flow;
    out->target = address + (uint64_t)(words * LENGTH);
}

static void read_indirect(uint32_t word, struct instruction_effects *out)
{
    enum { JUMP = 0, CALL = 1 };
    unsigned opc = word_bits(word, 21, 3);
    out->to = general(word, 5);
    out->flow = opc == JUMP   ? INSTRUCTION_ANYWHERE
                : opc == CALL ? INSTRUCTION_CALLS
                              : INSTRUCTION_ENDS;
}

// read_system_register reads MRS: of all registers that it may read, only the thread
// pointer (TPIDR_EL0) leads to variables.
static void read_system_register(uint32_t word, struct instruction_effects *out)
{
    out->written = register_bit(general(word, 0));
    if ((word & 0xffffffe0) != 0xd53bd040)
        return;
    out->to = general(word, 0);
    out->takes_thread = out->to != INSTRUCTION_NO_REGISTER;
}

static bool read_branches(uint32_t word, uint64_t address,
                          struct instruction_effects *out)
{
    enum { SVC = 1 };
    if ((word & 0x7c000000) == 0x14000000)
        jump_to(out, is_long(word) ? INSTRUCTION_CALLS : INSTRUCTION_JUMPS, address,
                word_signed_bits(word, 0, 26));
    else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
        jump_to(out, INSTRUCTION_MAY_JUMP, address, word_signed_bits(word, 5, 19));
    else if ((word & 0x7e000000) == 0x36000000)
        jump_to(out, INSTRUCTION_MAY_JUMP, address, word_signed_bits(word, 5, 14));
    else if ((word & 0xff000000) == 0xd4000000)
        out->flow = (word & 0x00e0001f) == SVC ? INSTRUCTION_CALLS : INSTRUCTION_ENDS;
    else if ((word & 0xfe000000) == 0xd6000000)
        read_indirect(word, out);
    else if ((word & 0xff200000) == 0xd5200000) // MRS
        read_system_register(word, out);
    else
        return (word & 0xff000000) == 0xd5000000;
    return true;
}

// read_add_registers reads ADD and SUB of registers, of which the second may be shifted
// or extended.
static void read_add_registers(uint32_t word, struct instruction_effects *out)
{
    enum { UXTW = 2, LSL = 0 };
    bool is_extended = word_bits(word, 21, 1);
    bool sets_flags = word_bits(word, 29, 1);
    bool is_sum = is_long(word) && !word_bits(word, 30, 1);
    unsigned shift = is_extended ? word_bits(word, 10, 3) : word_bits(word, 10, 6);
    uint8_t base = is_extended ? general_or_sp(word, 5) : general(word, 5);
    uint8_t index = general(word, 16);
    if (is_extended && !sets_flags)
        out->to = general_or_sp(word, 0);
    if (out->to == INSTRUCTION_NO_REGISTER) // a comparison
        return;
    out->named = register_bit(base) | register_bit(index);
    bool is_plain = is_extended ? (word_bits(word, 13, 3) & UXTW) != 0
                                : word_bits(word, 22, 2) == LSL;
    if (!is_sum || !is_plain || shift > SCALE_BITS_MAX ||
        base == INSTRUCTION_NO_REGISTER || index == INSTRUCTION_NO_REGISTER)
        return;
    if (!is_extended && shift == 0 && (out->to == base || out->to == index)) {
        out->action = INSTRUCTION_SUMS;
        out->from = out->to == base ? index : base;
        return;
    }
    set_address(out, base, index, shift, 0);
    out->memory.index_word = is_extended && !(word_bits(word, 13, 3) & 1);
    out->memory.index_signed = word_bits(word, 15, 1) && out->memory.index_word;
}

static void read_logical(uint32_t word, struct instruction_effects *out)
{
    enum { ORR = 1 };
    bool is_copy = word_bits(word, 29, 2) == ORR && !word_bits(word, 21, 1) &&
                   general(word, 5) == INSTRUCTION_NO_REGISTER &&
                   word_bits(word, 10, 6) == 0;
    out->from = general(word, 16);
    out->bytes = is_long(word) ? WORD_BYTES : WORD_BYTES / 2;
    if (!is_copy)
        out->named = register_bit(out->from) | register_bit(general(word, 5));
    else
        out->action =
            out->from == INSTRUCTION_NO_REGISTER ? INSTRUCTION_SETS : INSTRUCTION_MOVES;
}

static bool effects_of_registers(uint32_t word, struct instruction_effects *out)
{
    enum { LOGICAL = 0x0a, ADD = 0x0b, MULTIPLY = 0x1b, COMPARE = 2 };
    unsigned group = word_bits(word, 24, 5);
    out->to = general(word, 0);
    if (group == LOGICAL) {
        read_logical(word, out);
    } else if (group == ADD) {
        read_add_registers(word, out);
    } else if (group != MULTIPLY && word_bits(word, 21, 3) == COMPARE) {
        return true; // CCMP
    } else {
        out->named = register_bit(general(word, 5)) | register_bit(general(word, 16));
        if (group == MULTIPLY)
            out->named |= register_bit(general(word, 10));
    }
    out->written = register_bit(out->to);
    return true;
}

// effects_of_vectors looks for what moves between vectors and general registers.
static void effects_of_vectors(uint32_t word, struct instruction_effects *out)
{
    enum { FROM_INTEGER = 1 << 2 | 1 << 3 | 1 << 7 };
    bool converts = (word & 0x5f20fc00) == 0x1e200000 || // to and from integers
                    (word & 0x5f200000) == 0x1e000000;   // and numbers of fixed point
    bool moves_to =
        (word & 0xbfe0fc00) == 0x0e003c00 || (word & 0xbfe0fc00) == 0x0e002c00;
    bool moves_from =
        (word & 0xbfe0fc00) == 0x0e000c00 || (word & 0xffe0fc00) == 0x4e001c00;
    bool from = FROM_INTEGER >> word_bits(word, 16, 3) & 1;
    if (moves_to || (converts && !from))
        out->written = register_bit(general(word, 0));
    if (moves_from || (converts && from))
        out->named = register_bit(general(word, 5));
}

// read_change notes how the access changes its base register.
static void read_change(uint32_t word, struct instruction_effects *out)
{
    enum { AFTER = 1, BEFORE = 3, SIGNED_POINTER = 0xf8200400 };
    bool is_pair = (word & 0x3a000000) == 0x28000000;
    bool is_single =
        (word & 0x3b200000) == 0x38000000 || (word & 0xff200000) == 0xd9200000;
    bool is_list = (word & 0xbe800000) == 0x0c800000;
    unsigned mode = is_pair     ? word_bits(word, 23, 2)
                    : is_single ? word_bits(word, 10, 2)
                                : 0;
    bool is_signed = (word & 0xff200400) == SIGNED_POINTER && word_bits(word, 11, 1);
    if (mode == BEFORE || is_signed)
        out->base_added = out->memory.displacement;
    if (mode == AFTER) {
        // What is added is where the other modes have a displacement.
        struct instruction_operand moved = { .displacement = 0 };
        (void)instruction_operand_aarch64(
            word | (is_pair ? BEFORE << 23 : BEFORE << 10), &moved);
        out->base_added = moved.displacement;
    }
    if (is_list || mode == AFTER || mode == BEFORE || is_signed)
        out->written |= register_bit(out->memory.base);
}

// read_transfer notes which registers are loaded and stored.
static void read_transfer(uint32_t word, enum operand_access access,
                          struct instruction_effects *out)
{
    enum { TAGS = 0xd9200000 };
    bool is_vector = word_bits(word, 26, 1) || (word & 0xff000000) == 0xd5000000;
    bool is_pair = (word & 0x3a000000) == 0x28000000;
    bool is_exclusive = (word & 0x3f800000) == 0x08000000;
    uint8_t first = general(word, 0);
    uint32_t moved = register_bit(first);
    out->bytes = is_pair ? out->memory.bytes / 2 : out->memory.bytes;
    if (is_vector)
        return;
    if (is_pair || is_exclusive)
        moved |= register_bit(general(word, 10));
    bool is_read = access == OPERAND_READ;
    bool is_simple = !is_exclusive && access != OPERAND_UPDATED && out->bytes != 0 &&
                     out->bytes <= WORD_BYTES && (word & 0xff200000) != TAGS;
    if (!is_simple) {
        uint32_t status = register_bit(general(word, 16));
        out->named = moved | status;
        out->written |= is_read ? moved : moved | status;
        return;
    }
    if (is_read)
        out->written |= moved;
    out->action = is_read ? INSTRUCTION_LOADS : INSTRUCTION_STORES;
    *(is_read ? &out->to : &out->from) = first;
    if (is_pair) {
        out->is_pair = true;
        out->second = general(word, 10);
    }
}

// effects_of_bulk is for what copies or sets memory: registers change as it goes on.
static bool effects_of_bulk(uint32_t word, struct instruction_effects *out)
{
    struct instruction_operand operands[2];
    if (instruction_bulk_aarch64(word, operands) == 0)
        return false;
    out->memory =
        (struct instruction_memory){ .used = true, .written = true, .scale = 1 };
    out->memory.base = general(word, 0);
    out->memory.index = INSTRUCTION_NO_REGISTER;
    out->repeats = true;
    out->written = register_bit(general(word, 0)) | register_bit(general(word, 5)) |
                   register_bit(general(word, 16));
    out->named = out->written;
    return true;
}

static bool effects_of_memory(uint32_t word, struct instruction_effects *out)
{
    struct instruction_operand operand;
    if (!instruction_operand_aarch64(word, &operand))
        return effects_of_bulk(word, out);
    if (operand.access == OPERAND_UNUSED)
        return true;
    bool is_literal = (word & 0x3b000000) == 0x18000000;
    bool is_cache = (word & 0xff000000) == 0xd5000000;
    out->memory = (struct instruction_memory){
        .used = true,
        .read = operand.access != OPERAND_WRITTEN,
        .written = operand.access != OPERAND_READ,
        .base = is_literal ? INSTRUCTION_PC : general_or_sp(word, is_cache ? 0 : 5),
        .index = operand.index[0] != 0 ? general(word, 16) : INSTRUCTION_NO_REGISTER,
        .index_word = operand.index[0] == 'w',
        .index_signed = operand.index_signed,
        .scale = operand.scale,
        .bytes = operand.size <= 64 ? (uint8_t)operand.size : 0,
        .displacement = operand.displacement - (is_literal ? LENGTH : 0),
    };
    read_transfer(word, operand.access, out);
    read_change(word, out);
    return true;
}

enum ch_status instruction_read_effects_aarch64(const uint8_t *bytes, size_t size,
                                                uint64_t address,
                                                struct instruction_effects *out)
{
    struct cursor c = cursor_over(bytes, size);
    uint32_t word = cursor_u32(&c);
    bool known = size >= LENGTH;
    *out = (struct instruction_effects){ .length = LENGTH,
                                         .from = INSTRUCTION_NO_REGISTER,
                                         .to = INSTRUCTION_NO_REGISTER,
                                         .second = INSTRUCTION_NO_REGISTER };
    if (!known)
        return CH_ERR_MALFORMED;
    if (word >> 16 == 0) { // UDF
        out->flow = INSTRUCTION_ENDS;
        return CH_OK;
    }
    switch (word_bits(word, 25, 4)) {
    case 8:
    case 9:
        known = read_constants(word, address, out);
        break;
    case 10:
    case 11:
        known = read_branches(word, address, out);
        if (known && out->flow == INSTRUCTION_NEXT)
            (void)effects_of_memory(word, out); // DC and IC
        break;
    case 5:
    case 13:
        known = effects_of_registers(word, out);
        break;
    case 7:
    case 15:
        effects_of_vectors(word, out);
        break;
    default:
        known = (word_bits(word, 25, 4) & 5) == 4 && effects_of_memory(word, out);
    }
    return known ? CH_OK : CH_ERR_MALFORMED;
}
