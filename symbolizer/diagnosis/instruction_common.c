// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/instruction_common.h"

#include <string.h>

#include "base/cursor.h"
#include "symbolizer/diagnosis/instruction_parts.h"
#include "symbolizer/diagnosis/instruction_reader.h"

// The registers that are written without being operands.
enum {
    RAX = 1 << 0,
    RDX = 1 << 1,
    RCX = 1 << 2,
    RBX = 1 << 3,
    RSI = 1 << 4,
    RDI = 1 << 5,
    RBP = 1 << 6,
    RSP = 1 << 7
};

// operation_of_sum gives the operation of opcodes 00 to 3f, or of 80 to 83, where it is
// in ModRM.
static enum instruction_operation operation_of_sum(unsigned operation)
{
    enum { ADD = 0, SUB = 5, XOR = 6, CMP = 7 };
    switch (operation & 7) {
    case ADD:
        return INSTRUCTION_ADDITION;
    case SUB:
        return INSTRUCTION_SUBTRACTION;
    case XOR:
        return INSTRUCTION_XOR;
    case CMP:
        return INSTRUCTION_READS;
    default:
        return INSTRUCTION_COMPUTES;
    }
}

// as_word takes the operand for 8 bytes, which it has in pushes, pops and jumps. False:
// a prefix asks for 2 bytes.
static bool as_word(struct instruction_reader *d, struct instruction_effects *out)
{
    d->parts.part[0].bytes = 8;
    if (out->memory.used)
        out->memory.bytes = 8;
    return !d->narrow;
}

// read_unary reads the opcodes f6 and f7.
static bool read_unary(struct instruction_reader *d, struct instruction_effects *out)
{
    enum { TEST = 0, NOT = 2, NEG = 3, MUL = 4 };
    uint16_t bytes = d->parts.part[0].bytes;
    if (d->reg == TEST)
        instruction_reader_constant(d, bytes == 1 ? 1 : instruction_reader_wide(d),
                                    bytes);
    if (d->reg == TEST || d->reg >= MUL)
        d->parts.operation = INSTRUCTION_READS;
    if (d->reg >= MUL)
        out->written = bytes == 1 ? RAX : RAX | RDX;
    return d->reg == TEST || d->reg >= NOT;
}

// read_one_operand reads the opcodes fe and ff.
static bool read_one_operand(struct instruction_reader *d,
                             struct instruction_effects *out)
{
    enum { DEC = 1, CALL = 2, JUMP = 4, PUSH = 6 };
    if (d->reg <= DEC)
        return true;
    d->parts.operation = d->reg == PUSH ? INSTRUCTION_PUSH : INSTRUCTION_READS;
    if (d->reg == CALL)
        out->flow = INSTRUCTION_CALLS;
    if (d->reg == JUMP)
        out->flow = INSTRUCTION_ANYWHERE;
    if (d->reg != JUMP)
        out->written = RSP;
    return d->opcode == 0xff && as_word(d, out) &&
           (d->reg == CALL || d->reg == JUMP || d->reg == PUSH);
}

static bool ends_or_jumps(struct instruction_reader *d, struct instruction_effects *out)
{
    enum { RET = 0xc3, CALL = 0xe8 };
    if (d->opcode == RET)
        out->flow = INSTRUCTION_ENDS;
    else if (d->opcode == CALL)
        out->flow = INSTRUCTION_CALLS;
    else
        out->flow = d->opcode > CALL ? INSTRUCTION_JUMPS : INSTRUCTION_MAY_JUMP;
    if (d->opcode == RET || d->opcode == CALL)
        out->written = RSP;
    // Calls of __tls_get_addr are padded by prefixes.
    return !d->narrow || (d->opcode == CALL && d->size == 8);
}

static bool pushes_or_pops(struct instruction_reader *d,
                           struct instruction_effects *out,
                           enum instruction_operation operation)
{
    d->parts.operation = operation;
    out->written = RSP;
    return as_word(d, out);
}

static bool as_operation(struct instruction_reader *d,
                         enum instruction_operation operation)
{
    d->parts.operation = operation;
    return true;
}

// mean_one_byte says what opcodes of one byte do that are not in rows of eight.
static bool mean_one_byte(struct instruction_reader *d, struct instruction_effects *out)
{
    switch (d->opcode) {
    case 0x63:
        return as_operation(d, INSTRUCTION_EXTENDS) && d->rex & REX_W;
    case 0x68:
    case 0x6a:
        return pushes_or_pops(d, out, INSTRUCTION_PUSH);
    case 0x80:
    case 0x81:
    case 0x83:
        return as_operation(d, operation_of_sum(d->reg));
    case 0x84: // test
    case 0x85:
    case 0xa8:
    case 0xa9:
        return as_operation(d, INSTRUCTION_READS);
    case 0x86:
    case 0x87:
        return as_operation(d, INSTRUCTION_EXCHANGES);
    case 0x8d:
        return as_operation(d, INSTRUCTION_ADDRESS) && out->memory.used;
    case 0x90:
        return as_operation(d, INSTRUCTION_READS) && d->rex == 0;
    case 0x98:
        out->written = RAX;
        return as_operation(d, d->rex & REX_W ? INSTRUCTION_EXTENDS_EAX
                                              : INSTRUCTION_COMPUTES);
    case 0x99:
        out->written = RDX;
        return true;
    case 0xc6:
    case 0xc7:
        return as_operation(d, INSTRUCTION_COPIES) && d->reg == 0;
    case 0xc9:
        out->written = RSP | RBP;
        return as_operation(d, INSTRUCTION_LEAVE) && !d->narrow;
    case 0xf6:
    case 0xf7:
        return read_unary(d, out);
    case 0xfe:
    case 0xff:
        return read_one_operand(d, out);
    case 0xa4: // movs
    case 0xa5:
    case 0xaa: // stos
    case 0xab:
        out->repeats = d->repeat != 0;
        out->written =
            (uint16_t)(RDI | (d->opcode < 0xa8 ? RSI : 0) | (out->repeats ? RCX : 0));
        return true;
    default: // shifts and rotations, of which 6 is none; products
        return d->opcode < 0xc0 || d->reg != 6;
    }
}

static bool mean_general(struct instruction_reader *d, struct instruction_effects *out)
{
    uint8_t opcode = d->opcode;
    if (d->form == 'j' || d->form == 'J' || opcode == 0xc3)
        return ends_or_jumps(d, out);
    if (opcode < 0x40)
        return as_operation(d, operation_of_sum(opcode >> 3));
    if (opcode >= 0x50 && opcode < 0x60)
        return pushes_or_pops(d, out,
                              opcode < 0x58 ? INSTRUCTION_PUSH : INSTRUCTION_POP);
    if ((opcode >= 0x88 && opcode <= 0x8b) || (opcode >= 0xb0 && opcode < 0xc0))
        return as_operation(d, INSTRUCTION_COPIES);
    return mean_one_byte(d, out);
}

static bool mean_two_bytes(struct instruction_reader *d,
                           struct instruction_effects *out)
{
    enum { BT = 4 };
    switch (d->opcode) {
    case 0x05: // syscall
        out->flow = INSTRUCTION_CALLS;
        return true;
    case 0x0b: // ud2
        out->flow = INSTRUCTION_ENDS;
        return true;
    case 0x1e: // endbr64, which no compiler gives a segment
        d->parts.count = 0;
        d->parts.operation = INSTRUCTION_READS;
        return d->repeat == PREFIX_F3 && !d->segmented && d->mode == 3 && d->reg == 7 &&
               d->rm == 2;
    case 0x18: // prefetches
        return as_operation(d, INSTRUCTION_READS) && out->memory.used && d->reg < 4;
    case 0x1f: // nop
        return as_operation(d, INSTRUCTION_READS) && out->memory.used && d->size != 8;
    case 0xa3:
        return as_operation(d, INSTRUCTION_READS);
    case 0xa2: // cpuid
        out->written = RAX | RBX | RCX | RDX;
        return true;
    case 0xb0: // cmpxchg
    case 0xb1:
        out->written = RAX;
        return true;
    case 0xb6: // movzx and movsx
    case 0xb7:
    case 0xbe:
    case 0xbf:
        return as_operation(d, INSTRUCTION_EXTENDS);
    case 0xba:
        return as_operation(d,
                            d->reg == BT ? INSTRUCTION_READS : INSTRUCTION_COMPUTES) &&
               d->reg >= BT;
    case 0xc0: // xadd
    case 0xc1:
        return as_operation(d, INSTRUCTION_EXCHANGES);
    default:
        if (d->form == 'J') {
            out->flow = INSTRUCTION_MAY_JUMP;
            return !d->narrow;
        }
        return d->opcode < 0xc8 || d->size != 2; // bswap
    }
}

// note_memory_access says what is done with memory.
static void note_memory_access(const struct instruction_reader *d,
                               struct instruction_effects *out)
{
    bool first = d->parts.part[0].kind == INSTRUCTION_PART_MEMORY;
    bool sets = d->escaped ? (d->opcode & 0xf0) == 0x90 : (d->opcode & 0xf0) == 0xa0;
    out->memory.read = out->memory.written = false;
    if (!out->memory.used || d->parts.operation == INSTRUCTION_ADDRESS ||
        (d->escaped && (d->opcode == 0x18 || d->opcode == 0x1f)))
        return;
    out->memory.written = first && d->parts.operation != INSTRUCTION_READS &&
                          d->parts.operation != INSTRUCTION_PUSH;
    out->memory.read =
        !out->memory.written || !(d->parts.operation == INSTRUCTION_COPIES || sets);
}

// may_be_locked says whether the processor takes the prefix f0.
static bool may_be_locked(const struct instruction_reader *d)
{
    enum { INC_DEC = 1 };
    if (d->parts.part[0].kind != INSTRUCTION_PART_MEMORY)
        return false;
    if (d->escaped)
        return d->opcode == 0xb0 || d->opcode == 0xb1 || d->opcode == 0xc0 ||
               d->opcode == 0xc1;
    return d->parts.operation != INSTRUCTION_READS &&
           (d->opcode < 0x40 || (d->opcode >= 0x80 && d->opcode <= 0x87) ||
            ((d->opcode | 1) == 0xff && d->reg <= INC_DEC));
}

// may_be_repeated says whether the instruction takes the prefix f3, be it as a part of
// the opcode: endbr64, tzcnt, lzcnt, movs and stos.
static bool may_be_repeated(const struct instruction_reader *d)
{
    return d->repeat == PREFIX_F3 &&
           (d->escaped ? d->opcode == 0x1e || d->opcode == 0xbc || d->opcode == 0xbd
                       : d->form == 't' || d->form == 'T');
}

static bool read_general(struct instruction_reader *d, struct instruction_effects *out)
{
    if ((d->repeat != 0 && !may_be_repeated(d)) || !instruction_reader_operands(d, out))
        return false;
    if (!(d->escaped ? mean_two_bytes(d, out) : mean_general(d, out)))
        return false;
    note_memory_access(d, out);
    out->repeats = out->repeats || d->locked;
    return !d->locked || may_be_locked(d);
}

enum { NO_PREFIX, WITH_66, WITH_F3, WITH_F2, PREFIXES };

// A vector_row is how many bytes opcodes of vectors read or write in memory, by the
// prefix that belongs to the opcode. 0: not decoded here.
struct vector_row {
    uint8_t first;
    uint8_t last;
    bool stores;
    uint8_t bytes[PREFIXES];
};

static const struct vector_row vector_rows[] = {
    { 0x10, 0x10, false, { 16, 16, 4, 8 } }, { 0x11, 0x11, true, { 16, 16, 4, 8 } },
    { 0x12, 0x12, false, { 8, 8 } },         { 0x13, 0x13, true, { 8, 8 } },
    { 0x14, 0x15, false, { 16, 16 } },       { 0x16, 0x16, false, { 8, 8 } },
    { 0x17, 0x17, true, { 8, 8 } },          { 0x28, 0x28, false, { 16, 16 } },
    { 0x29, 0x29, true, { 16, 16 } },        { 0x2a, 0x2a, false, { 0, 0, 8, 8 } },
    { 0x2c, 0x2d, false, { 0, 0, 4, 8 } },   { 0x2e, 0x2f, false, { 4, 8 } },
    { 0x50, 0x50, false, { 16, 16 } },       { 0x51, 0x51, false, { 16, 16, 4, 8 } },
    { 0x52, 0x53, false, { 16, 0, 4 } },     { 0x54, 0x57, false, { 16, 16 } },
    { 0x58, 0x59, false, { 16, 16, 4, 8 } }, { 0x5a, 0x5a, false, { 8, 16, 4, 8 } },
    { 0x5b, 0x5b, false, { 16, 16, 16 } },   { 0x5c, 0x5f, false, { 16, 16, 4, 8 } },
    { 0x60, 0x6d, false, { 0, 16 } },        { 0x6e, 0x6e, false, { 0, 8 } },
    { 0x6f, 0x6f, false, { 0, 16, 16 } },    { 0x70, 0x70, false, { 0, 16, 16, 16 } },
    { 0x71, 0x73, false, { 0, 16 } },        { 0x74, 0x76, false, { 0, 16 } },
    { 0x7e, 0x7e, true, { 0, 8 } },          { 0x7e, 0x7e, false, { 0, 0, 8 } },
    { 0x7f, 0x7f, true, { 0, 16, 16 } },     { 0xc2, 0xc2, false, { 16, 16, 4, 8 } },
    { 0xc6, 0xc6, false, { 16, 16 } },       { 0xd1, 0xd5, false, { 0, 16 } },
    { 0xd6, 0xd6, true, { 0, 8 } },          { 0xd7, 0xe5, false, { 0, 16 } },
    { 0xe7, 0xe7, true, { 0, 16 } },         { 0xe8, 0xef, false, { 0, 16 } },
    { 0xf1, 0xf6, false, { 0, 16 } },        { 0xf8, 0xfe, false, { 0, 16 } },
};

static const struct vector_row *find_vector_row(const struct instruction_reader *d,
                                                unsigned prefix)
{
    for (size_t i = 0; i < sizeof(vector_rows) / sizeof(vector_rows[0]); i++) {
        const struct vector_row *row = &vector_rows[i];
        if (d->opcode >= row->first && d->opcode <= row->last &&
            row->bytes[prefix] != 0)
            return row;
    }
    return NULL;
}

// is_vector_operand says whether the instruction exists with its operand in memory, or
// with it in a register.
static bool is_vector_operand(const struct instruction_reader *d, bool memory)
{
    switch (d->opcode) {
    case 0x12: // movlps and movhps; of two registers they are movhlps and movlhps
    case 0x16:
        return memory || !d->narrow;
    case 0x13:
    case 0x17:
    case 0xe7:
        return memory;
    case 0x71: // shifts by a constant
    case 0x72:
        return !memory && (d->reg == 2 || d->reg == 4 || d->reg == 6);
    case 0x73:
        return !memory && (d->reg & 2);
    case 0x7e: // with REX.W, disassemblers disagree about movq of two vectors
        return d->repeat == 0 || !(d->rex & REX_W);
    case 0x50: // movmskps and pmovmskb
    case 0xd7:
        return !memory;
    default:
        return true;
    }
}

// read_vector reads an instruction on vectors. A general register is its first operand
// or none, but where it is moved to a vector.
static bool read_vector(struct instruction_reader *d, struct instruction_effects *out)
{
    unsigned prefix = d->repeat == PREFIX_F2   ? WITH_F2
                      : d->repeat == PREFIX_F3 ? WITH_F3
                      : d->narrow              ? WITH_66
                                               : NO_PREFIX;
    const struct vector_row *row = find_vector_row(d, prefix);
    uint8_t general = d->rex & REX_W ? 8 : 4;
    if (row == NULL || d->locked || d->segmented)
        return false;
    bool takes_general = d->form == 'g' && (d->opcode == 0x2a || prefix == WITH_66);
    instruction_reader_modrm(d, out);
    if (d->form == 'G')
        instruction_reader_add_reg(d, general);
    else if (!row->stores)
        d->parts.count++; // a vector
    if (takes_general || out->memory.used)
        instruction_reader_add_rm(d, out, takes_general ? general : row->bytes[prefix]);
    if (d->form == 'y')
        cursor_skip(&d->code, 1);
    out->memory.written = out->memory.used && row->stores;
    out->memory.read = out->memory.used && !row->stores;
    return is_vector_operand(d, out->memory.used);
}

// may_be_padded says whether the prefixes 2e and 3e change nothing: they pad nops, and
// 3e stands before jumps through tables.
static bool may_be_padded(const struct instruction_reader *d)
{
    return d->escaped ? d->opcode == 0x1f : d->opcode == 0xff && !d->segmented;
}

bool instruction_common_effects(const uint8_t *bytes, size_t size, uint64_t address,
                                struct instruction_effects *out)
{
    struct instruction_reader d;
    *out = (struct instruction_effects){ 0 };
    instruction_reader_begin(&d, bytes, size, address);
    bool vector = d.escaped && strchr("xygG", d.form) != NULL;
    if (!cursor_ok(&d.code) || d.form == '-' || (d.padded && !may_be_padded(&d)) ||
        (d.narrow && (d.segmented || d.repeat != 0)))
        return false;
    if (!(vector ? read_vector(&d, out) : read_general(&d, out)) || !cursor_ok(&d.code))
        return false;
    out->length = (uint8_t)cursor_offset(&d.code);
    instruction_parts_effects(&d.parts, out);
    return true;
}
