// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/instruction_reader.h"

#include <string.h>

enum { CL = 1, RDI_NUMBER = 5 };

// The operands of each opcode. Small letters are those with operands of one byte, or
// displacements of one.
//   m M  rm, register        i I  rm, constant          a A  rax, constant
//   r R  register, rm        s    rm, constant of a byte
//   e E  register, rm of one or two bytes               l    register, rm of 4 bytes
//   u U  rm                  c C  rm, cl                5    rm, register, byte
//   o    register in opcode  b B  register, constant    3 4  register, rm, constant
//   j J  displacement        p q  constant              .    none
//   x    vector, vector or memory                       y    the same, and a byte
//   g    vector, rm          G    register, vector or memory
//   t T  memory at rdi, and rax or memory at rsi
//   -    not decoded here
static const char one_byte[] = "mMrRaA--mMrRaA--mMrRaA--mMrRaA--"  // 00
                               "mMrRaA--mMrRaA--mMrRaA--mMrRaA--"  // 20
                               "----------------oooooooooooooooo"  // 40
                               "---l----p3q4----jjjjjjjjjjjjjjjj"  // 60
                               "iI-smMmMmMrR-R--.-------..------"  // 80
                               "----tT--aAtT----bbbbbbbbBBBBBBBB"  // a0
                               "is-.--iI-.------uUcC------------"  // c0
                               "--------JJ-j----------uU------uU"; // e0

static const char two_bytes[] = "-----.-----.----xxxxxxxxu-----UU"  // 00
                                "--------xxg-GGxx----------------"  // 20
                                "RRRRRRRRRRRRRRRRGxxxxxxxxxxxxxxx"  // 40
                                "xxxxxxxxxxxxxxgxyyyyxxx-------gx"  // 60
                                "JJJJJJJJJJJJJJJJuuuuuuuuuuuuuuuu"  // 80
                                "--.M5------M5--RmM----eE--s-RReE"  // a0
                                "mMy---y-oooooooo-xxxxxxGxxxxxxxx"  // c0
                                "xxxxxx-xxxxxxxxx-xxxxxx-xxxxxxx-"; // e0

_Static_assert(sizeof(one_byte) == 257 && sizeof(two_bytes) == 257, "one for each");

void instruction_reader_begin(struct instruction_reader *d, const uint8_t *bytes,
                              size_t size, uint64_t address)
{
    *d = (struct instruction_reader){ .address = address };
    d->code =
        cursor_over(bytes, size < INSTRUCTION_BYTES_MAX ? size : INSTRUCTION_BYTES_MAX);
    uint8_t byte = cursor_u8(&d->code);
    for (; cursor_ok(&d->code); byte = cursor_u8(&d->code)) {
        if (byte == PREFIX_66)
            d->narrow = true;
        else if (byte == 0x64 || byte == 0x65)
            d->segmented = true;
        else if (byte == 0x2e || byte == 0x3e)
            d->padded = true;
        else if (byte == 0xf0)
            d->locked = true;
        else if ((byte == PREFIX_F2 || byte == PREFIX_F3) && d->repeat == 0)
            d->repeat = byte;
        else
            break;
    }
    if ((byte & 0xf0) == 0x40) {
        d->rex = byte;
        byte = cursor_u8(&d->code);
    }
    d->escaped = byte == 0x0f;
    d->opcode = d->escaped ? cursor_u8(&d->code) : byte;
    d->form = (d->escaped ? two_bytes : one_byte)[d->opcode];
    d->size = d->rex & REX_W ? 8 : d->narrow ? 2 : 4;
}

// dwarf_number gives the DWARF number of the general register that an instruction
// calls number.
static uint8_t dwarf_number(unsigned number)
{
    static const uint8_t numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 };
    return number < 8 ? numbers[number] : (uint8_t)number;
}

static struct instruction_part *reader_add_part(struct instruction_reader *d,
                                                enum instruction_part_kind kind,
                                                uint16_t bytes)
{
    struct instruction_part *part = &d->parts.part[d->parts.count++];
    *part = (struct instruction_part){ .kind = kind, .bytes = bytes };
    return part;
}

static void reader_add_register(struct instruction_reader *d, unsigned number,
                                uint16_t bytes)
{
    struct instruction_part *part =
        reader_add_part(d, INSTRUCTION_PART_REGISTER, bytes);
    part->high = bytes == 1 && d->rex == 0 && number >= 4;
    part->reg = dwarf_number(part->high ? number - 4 : number);
}

void instruction_reader_constant(struct instruction_reader *d, size_t stored,
                                 uint16_t bytes)
{
    reader_add_part(d, INSTRUCTION_PART_CONSTANT, bytes)->constant =
        cursor_sint(&d->code, stored);
}

// reader_memory reads what follows a ModRM byte that says memory.
static void reader_memory(struct instruction_reader *d, struct instruction_memory *out)
{
    enum { HAS_SIB = 4, NO_INDEX = 4, NO_BASE = 5, RIP = 5 };
    unsigned base = d->rm;
    *out = (struct instruction_memory){ .used = true,
                                        .base = INSTRUCTION_NO_REGISTER,
                                        .index = INSTRUCTION_NO_REGISTER,
                                        .scale = 1 };
    if (base == HAS_SIB) {
        uint8_t sib = cursor_u8(&d->code);
        unsigned index = (sib >> 3 & 7u) | (d->rex & REX_X ? 8u : 0);
        base = sib & 7;
        out->scale = (uint8_t)(1u << (sib >> 6));
        if (index != NO_INDEX)
            out->index = dwarf_number(index);
    } else if (base == RIP && d->mode == 0) {
        out->base = INSTRUCTION_PC;
    }
    bool no_base = base == NO_BASE && d->mode == 0;
    if (!no_base)
        out->base = dwarf_number(base | (d->rex & REX_B ? 8u : 0));
    if (no_base || d->mode != 0)
        out->displacement = cursor_sint(&d->code, d->mode == 1 ? 1 : 4);
}

void instruction_reader_modrm(struct instruction_reader *d,
                              struct instruction_effects *out)
{
    enum { REGISTERS = 3 };
    uint8_t byte = cursor_u8(&d->code);
    d->mode = byte >> 6;
    d->reg = byte >> 3 & 7;
    d->rm = byte & 7;
    if (d->mode != REGISTERS)
        reader_memory(d, &out->memory);
}

void instruction_reader_add_rm(struct instruction_reader *d,
                               struct instruction_effects *out, uint16_t bytes)
{
    if (!out->memory.used) {
        reader_add_register(d, d->rm | (d->rex & REX_B ? 8u : 0), bytes);
        return;
    }
    reader_add_part(d, INSTRUCTION_PART_MEMORY, bytes)->segmented = d->segmented;
    out->memory.bytes = (uint8_t)bytes;
}

void instruction_reader_add_reg(struct instruction_reader *d, uint16_t bytes)
{
    reader_add_register(d, d->reg | (d->rex & REX_R ? 8u : 0), bytes);
}

size_t instruction_reader_wide(const struct instruction_reader *d)
{
    return d->size == 2 ? 2 : 4;
}

// read_string_form reads the operands of movs and stos.
static bool read_string_form(struct instruction_reader *d,
                             struct instruction_effects *out)
{
    enum { STOS = 0xaa };
    uint16_t bytes = d->form == 't' ? 1 : d->size;
    out->memory = (struct instruction_memory){ .used = true,
                                               .base = RDI_NUMBER,
                                               .index = INSTRUCTION_NO_REGISTER,
                                               .scale = 1,
                                               .bytes = (uint8_t)bytes };
    (void)reader_add_part(d, INSTRUCTION_PART_MEMORY, bytes);
    if (d->opcode >= STOS)
        reader_add_register(d, 0, bytes);
    return true;
}

// reader_modrm_form reads operands that ModRM tells.
static bool reader_modrm_form(struct instruction_reader *d,
                              struct instruction_effects *out)
{
    static const char byte_forms[] = "mriuc";
    uint16_t bytes = strchr(byte_forms, d->form) != NULL ? 1 : d->size;
    instruction_reader_modrm(d, out);
    switch (d->form) {
    case 'm':
    case 'M':
    case '5':
        instruction_reader_add_rm(d, out, bytes);
        instruction_reader_add_reg(d, bytes);
        if (d->form == '5')
            instruction_reader_constant(d, 1, 1);
        return true;
    case 'r':
    case 'R':
    case '3':
    case '4':
        instruction_reader_add_reg(d, bytes);
        instruction_reader_add_rm(d, out, bytes);
        if (d->form == '3')
            instruction_reader_constant(d, instruction_reader_wide(d), bytes);
        if (d->form == '4')
            instruction_reader_constant(d, 1, bytes);
        return true;
    case 'e':
    case 'E':
    case 'l':
        instruction_reader_add_reg(d, bytes);
        instruction_reader_add_rm(d, out, d->form == 'e' ? 1 : d->form == 'E' ? 2 : 4);
        return true;
    case 'i':
    case 'I':
    case 's':
        instruction_reader_add_rm(d, out, bytes);
        instruction_reader_constant(d, d->form == 'I' ? instruction_reader_wide(d) : 1,
                                    bytes);
        return true;
    case 'c':
    case 'C':
        instruction_reader_add_rm(d, out, bytes);
        reader_add_register(d, CL, 1);
        return true;
    case 'u':
    case 'U':
        instruction_reader_add_rm(d, out, bytes);
        return true;
    default:
        return false;
    }
}

bool instruction_reader_operands(struct instruction_reader *d,
                                 struct instruction_effects *out)
{
    unsigned number = (d->opcode & 7u) | (d->rex & REX_B ? 8u : 0);
    uint16_t bytes = d->form == 'a' || d->form == 'b' ? 1 : d->size;
    switch (d->form) {
    case '.':
        return true;
    case 'a':
    case 'A':
        reader_add_register(d, 0, bytes);
        instruction_reader_constant(d, bytes == 1 ? 1 : instruction_reader_wide(d),
                                    bytes);
        return true;
    case 'b':
    case 'B':
        reader_add_register(d, number, bytes);
        instruction_reader_constant(d, bytes, bytes);
        return true;
    case 'o':
        reader_add_register(d, number, bytes);
        return true;
    case 'p':
    case 'q':
        instruction_reader_constant(d, d->form == 'p' ? 4 : 1, 8);
        return true;
    case 'j':
    case 'J':
        out->target = (uint64_t)cursor_sint(&d->code, d->form == 'j' ? 1 : 4);
        out->target += d->address + cursor_offset(&d->code);
        return true;
    case 't':
    case 'T':
        return read_string_form(d, out);
    default:
        return reader_modrm_form(d, out);
    }
}
