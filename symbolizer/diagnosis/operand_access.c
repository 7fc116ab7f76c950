// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/operand_access.h"

#include <stdbool.h>

#include "base/cursor.h"

// An opcode_space is a way of encoding and an opcode map of it, as bits, because rows
// are often the same in several. Legacy, VEX and EVEX number their maps alike.
enum opcode_space {
    L0 = 1 << 0, // one byte
    L1 = 1 << 1, // 0F
    L2 = 1 << 2, // 0F 38
    L3 = 1 << 3, // 0F 3A
    V1 = 1 << 4,
    V2 = 1 << 5,
    V3 = 1 << 6,
    E1 = 1 << 7,
    E2 = 1 << 8,
    E3 = 1 << 9,
    E5 = 1 << 10,
    E6 = 1 << 11,
    XOP = 1 << 12,
};

// opcode_prefix is the prefix that is part of the opcode, as bits.
enum opcode_prefix { NP = 1, P66 = 2, PF3 = 4, PF2 = 8, ANY = 15 };

// Bits of ModRM.reg, which extends some opcodes.
#define REG(n) (1u << (n))
enum { ALL = 0xff };

// An opcode is an instruction as far as the table needs it.
struct opcode {
    unsigned space;
    unsigned prefix;
    uint8_t byte;
    uint8_t reg;
};

struct opcode_row {
    uint16_t spaces;
    uint8_t first;
    uint8_t last;
    uint8_t prefixes;
    uint8_t regs;
    uint8_t access; // enum operand_access
};

// What is in no row reads its operand, or has none. The first row that applies counts.
static const struct opcode_row rows[] = {
    // add, or, adc, sbb, and, sub, xor with a register; cmp (38, 39) only reads
    { L0, 0x00, 0x01, ANY, ALL, OPERAND_UPDATED },
    { L0, 0x08, 0x09, ANY, ALL, OPERAND_UPDATED },
    { L0, 0x10, 0x11, ANY, ALL, OPERAND_UPDATED },
    { L0, 0x18, 0x19, ANY, ALL, OPERAND_UPDATED },
    { L0, 0x20, 0x21, ANY, ALL, OPERAND_UPDATED },
    { L0, 0x28, 0x29, ANY, ALL, OPERAND_UPDATED },
    { L0, 0x30, 0x31, ANY, ALL, OPERAND_UPDATED },
    // the same with a constant; /7 is cmp
    { L0, 0x80, 0x83, ANY, ALL & ~REG(7), OPERAND_UPDATED },
    { L0, 0x86, 0x87, ANY, ALL, OPERAND_UPDATED }, // xchg
    { L0, 0x88, 0x89, ANY, ALL, OPERAND_WRITTEN }, // mov
    { L0, 0x8c, 0x8c, ANY, ALL, OPERAND_WRITTEN }, // mov of a segment register
    { L0, 0x8d, 0x8d, ANY, ALL, OPERAND_UNUSED },  // lea
    { L0, 0x8f, 0x8f, ANY, ALL, OPERAND_WRITTEN }, // pop
    { L0, 0xa2, 0xa3, ANY, ALL, OPERAND_WRITTEN }, // mov to a 64-bit address
    { L0, 0xc0, 0xc1, ANY, ALL, OPERAND_UPDATED }, // shifts and rotations
    { L0, 0xc6, 0xc7, ANY, ALL, OPERAND_WRITTEN }, // mov of a constant
    { L0, 0xd0, 0xd3, ANY, ALL, OPERAND_UPDATED },
    // x87: fst, fstp, fnstenv, fnstcw; fisttp, fist, fistp, fstp of 80 bits; fisttp,
    // fst,
    // fstp, fnsave, fnstsw; fisttp, fist, fistp, fbstp, fistp
    { L0, 0xd9, 0xd9, ANY, REG(2) | REG(3) | REG(6) | REG(7), OPERAND_WRITTEN },
    { L0, 0xdb, 0xdb, ANY, REG(1) | REG(2) | REG(3) | REG(7), OPERAND_WRITTEN },
    { L0, 0xdd, 0xdd, ANY, REG(1) | REG(2) | REG(3) | REG(6) | REG(7),
      OPERAND_WRITTEN },
    { L0, 0xdf, 0xdf, ANY, REG(1) | REG(2) | REG(3) | REG(6) | REG(7),
      OPERAND_WRITTEN },
    { L0, 0xf6, 0xf7, ANY, REG(2) | REG(3), OPERAND_UPDATED }, // not, neg
    { L0, 0xfe, 0xff, ANY, REG(0) | REG(1), OPERAND_UPDATED }, // inc, dec

    // sldt, str; sgdt, sidt, smsw; rstorssp; invlpg
    { L1, 0x00, 0x00, ANY, REG(0) | REG(1), OPERAND_WRITTEN },
    { L1, 0x01, 0x01, ANY, REG(0) | REG(1) | REG(4), OPERAND_WRITTEN },
    { L1, 0x01, 0x01, ANY, REG(5), OPERAND_UPDATED },
    { L1, 0x01, 0x01, ANY, REG(7), OPERAND_UNUSED },
    { L1, 0x0d, 0x0d, ANY, ALL, OPERAND_UNUSED },            // prefetchw
    { L1, 0x18, 0x1f, ANY, ALL, OPERAND_UNUSED },            // prefetch, cldemote, nop
    { L1 | V1 | E1, 0x11, 0x11, ANY, ALL, OPERAND_WRITTEN }, // movups, movss, ...
    { L1 | V1 | E1, 0x13, 0x13, ANY, ALL, OPERAND_WRITTEN }, // movlps
    { L1 | V1 | E1, 0x17, 0x17, ANY, ALL, OPERAND_WRITTEN }, // movhps
    { L1 | V1 | E1, 0x29, 0x29, ANY, ALL, OPERAND_WRITTEN }, // movaps
    { L1 | V1 | E1, 0x2b, 0x2b, ANY, ALL, OPERAND_WRITTEN }, // movntps
    { L1, 0x78, 0x78, NP, ALL, OPERAND_WRITTEN },            // vmread
    { L1 | V1 | E1, 0x7e, 0x7e, NP | P66, ALL,
      OPERAND_WRITTEN },                                     // movd; F3: movq reads
    { L1 | V1 | E1, 0x7f, 0x7f, ANY, ALL, OPERAND_WRITTEN }, // movdqa
    { L1, 0x90, 0x9f, ANY, ALL, OPERAND_WRITTEN },           // setcc
    { V1, 0x91, 0x91, ANY, ALL, OPERAND_WRITTEN },           // kmov
    { L1, 0xa4, 0xa5, ANY, ALL, OPERAND_UPDATED },           // shld
    { L1, 0xab, 0xad, ANY, ALL, OPERAND_UPDATED },           // bts, shrd
    // fxsave, stmxcsr, xsave, xsaveopt; clrssbsy. The rest, clflush among it, reads.
    { L1, 0xae, 0xae, NP, REG(0) | REG(3) | REG(4) | REG(6), OPERAND_WRITTEN },
    { L1, 0xae, 0xae, PF3, REG(6), OPERAND_UPDATED },
    { V1, 0xae, 0xae, ANY, REG(3), OPERAND_WRITTEN },
    { L1, 0xb0, 0xb1, ANY, ALL, OPERAND_UPDATED }, // cmpxchg
    { L1, 0xb3, 0xb3, ANY, ALL, OPERAND_UPDATED }, // btr
    { L1, 0xba, 0xba, ANY, REG(5) | REG(6) | REG(7), OPERAND_UPDATED },
    { L1, 0xbb, 0xbb, ANY, ALL, OPERAND_UPDATED },                     // btc
    { L1, 0xc0, 0xc1, ANY, ALL, OPERAND_UPDATED },                     // xadd
    { L1, 0xc3, 0xc3, ANY, ALL, OPERAND_WRITTEN },                     // movnti
    { L1, 0xc7, 0xc7, ANY, REG(1), OPERAND_UPDATED },                  // cmpxchg8b
    { L1, 0xc7, 0xc7, NP, REG(4) | REG(5) | REG(7), OPERAND_WRITTEN }, // xsavec, xsaves
    { L1, 0xc7, 0xc7, P66, REG(6), OPERAND_WRITTEN },                  // vmclear
    { L1 | V1 | E1, 0xd6, 0xd6, P66, ALL, OPERAND_WRITTEN },           // movq
    { L1 | V1 | E1, 0xe7, 0xe7, ANY, ALL, OPERAND_WRITTEN },           // movntdq

    { L2, 0xf1, 0xf1, NP | P66, ALL, OPERAND_WRITTEN }, // movbe; F2 is crc32
    { L2, 0xf5, 0xf5, P66, ALL, OPERAND_WRITTEN },      // wruss
    { L2, 0xf6, 0xf6, NP, ALL, OPERAND_WRITTEN },       // wrss
    { L2, 0xf9, 0xf9, NP, ALL, OPERAND_WRITTEN },       // movdiri
    { L2, 0xfc, 0xfc, ANY, ALL, OPERAND_UPDATED },      // aadd, aand, aor, axor
    { V2, 0x2e, 0x2f, ANY, ALL, OPERAND_WRITTEN },      // vmaskmovps, to memory
    { V2, 0x4b, 0x4b, PF3, ALL, OPERAND_WRITTEN },      // tilestored
    { V2, 0x8e, 0x8e, ANY, ALL, OPERAND_WRITTEN },      // vpmaskmovd
    { V2, 0xe0, 0xef, ANY, ALL, OPERAND_UPDATED },      // cmpccxadd
    { E2, 0x10, 0x15, PF3, ALL, OPERAND_WRITTEN },      // vpmov to smaller elements
    { E2, 0x20, 0x25, PF3, ALL, OPERAND_WRITTEN },
    { E2, 0x30, 0x35, PF3, ALL, OPERAND_WRITTEN },
    { E2, 0x63, 0x63, ANY, ALL, OPERAND_WRITTEN }, // vpcompressb
    { E2, 0x8a, 0x8b, ANY, ALL, OPERAND_WRITTEN }, // vcompressps, vpcompressd
    { E2, 0xa0, 0xa3, ANY, ALL, OPERAND_WRITTEN }, // vscatter
    { E2, 0xc6, 0xc7, ANY, ALL, OPERAND_UNUSED },  // prefetches

    { L3 | V3 | E3, 0x14, 0x17, ANY, ALL, OPERAND_WRITTEN }, // pextr, extractps
    { V3 | E3, 0x19, 0x19, ANY, ALL, OPERAND_WRITTEN },      // vextractf128
    { E3, 0x1b, 0x1b, ANY, ALL, OPERAND_WRITTEN },
    { V3 | E3, 0x1d, 0x1d, ANY, ALL, OPERAND_WRITTEN }, // vcvtps2ph
    { V3 | E3, 0x39, 0x39, ANY, ALL, OPERAND_WRITTEN }, // vextracti128
    { E3, 0x3b, 0x3b, ANY, ALL, OPERAND_WRITTEN },
    { E5, 0x11, 0x11, ANY, ALL, OPERAND_WRITTEN }, // vmovsh
    { E5, 0x7e, 0x7e, ANY, ALL, OPERAND_WRITTEN }, // vmovw
};

// read_long_prefix reads what is after C4 or 8F, the first byte of the three of a VEX
// or XOP prefix.
static void read_long_prefix(struct cursor *c, struct opcode *out, bool xop)
{
    static const unsigned prefixes[] = { NP, P66, PF3, PF2 };
    static const unsigned spaces[] = { 0, V1, V2, V3 };
    unsigned map = cursor_u8(c) & 0x1f;
    out->prefix = prefixes[cursor_u8(c) & 3];
    if (xop)
        out->space = map >= 8 && map <= 10 ? XOP : 0;
    else
        out->space = map < sizeof(spaces) / sizeof(spaces[0]) ? spaces[map] : 0;
}

static void read_evex(struct cursor *c, struct opcode *out)
{
    static const unsigned prefixes[] = { NP, P66, PF3, PF2 };
    static const unsigned spaces[] = { 0, E1, E2, E3, 0, E5, E6, 0 };
    out->space = spaces[cursor_u8(c) & 7];
    out->prefix = prefixes[cursor_u8(c) & 3];
    cursor_skip(c, 1);
}

// read_legacy reads the rest of an opcode whose first byte after the prefixes is first.
static uint8_t read_legacy(struct cursor *c, uint8_t first, struct opcode *out)
{
    out->space = L0;
    if (first != 0x0f)
        return first;
    out->space = L1;
    uint8_t byte = cursor_u8(c);
    if (byte != 0x38 && byte != 0x3a)
        return byte;
    out->space = byte == 0x38 ? L2 : L3;
    return cursor_u8(c);
}

// is_xop tells XOP from pop, whose ModRM.reg is 0: XOP's maps begin at 8.
static bool is_xop(const struct cursor *c)
{
    struct cursor ahead = *c;
    return (cursor_u8(&ahead) & 0x1f) >= 8;
}

// read_opcode reads an instruction up to its ModRM byte.
static void read_opcode(struct cursor *c, struct opcode *out)
{
    uint8_t byte;
    *out = (struct opcode){ .prefix = NP };
    for (;;) {
        byte = cursor_u8(c);
        bool segment = (byte & 0xe7) == 0x26 || byte == 0x64 || byte == 0x65;
        if (byte == 0xf2 || byte == 0xf3)
            out->prefix = byte == 0xf3 ? PF3 : PF2;
        else if (byte == 0x66)
            out->prefix = out->prefix == NP ? P66 : out->prefix;
        else if (byte != 0x67 && byte != 0xf0 && (byte & 0xf0) != 0x40 && !segment)
            break; // 40 to 4f are REX
        if (!cursor_ok(c))
            return;
    }
    if (byte == 0xc4 || (byte == 0x8f && is_xop(c))) {
        read_long_prefix(c, out, byte == 0x8f);
        byte = cursor_u8(c);
    } else if (byte == 0xc5) {
        static const unsigned prefixes[] = { NP, P66, PF3, PF2 };
        out->space = V1;
        out->prefix = prefixes[cursor_u8(c) & 3];
        byte = cursor_u8(c);
    } else if (byte == 0x62) {
        read_evex(c, out);
        byte = cursor_u8(c);
    } else {
        byte = read_legacy(c, byte, out);
    }
    out->byte = byte;
}

static enum operand_access access_of_opcode(const struct opcode *opcode)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct opcode_row *row = &rows[i];
        if ((row->spaces & opcode->space) != 0 && opcode->byte >= row->first &&
            opcode->byte <= row->last && (row->prefixes & opcode->prefix) != 0 &&
            (row->regs & REG(opcode->reg)) != 0)
            return (enum operand_access)row->access;
    }
    return opcode->space != 0 ? OPERAND_READ : OPERAND_UNKNOWN;
}

// find_string_operands finds instructions whose operands are at rsi and rdi by
// definition.
static bool find_string_operands(const struct opcode *opcode,
                                 struct operand_accesses *out)
{
    static const struct {
        unsigned spaces;
        uint8_t first;
        uint8_t last;
        struct operand_accesses accesses;
    } strings[] = {
        { L0, 0x6c, 0x6d, { .destination = OPERAND_WRITTEN } }, // ins
        { L0, 0x6e, 0x6f, { .source = OPERAND_READ } },         // outs
        { L0, 0xa4, 0xa5, { .source = OPERAND_READ, .destination = OPERAND_WRITTEN } },
        { L0, 0xa6, 0xa7, { .source = OPERAND_READ, .destination = OPERAND_READ } },
        { L0, 0xaa, 0xab, { .destination = OPERAND_WRITTEN } },      // stos
        { L0, 0xac, 0xad, { .source = OPERAND_READ } },              // lods
        { L0, 0xae, 0xaf, { .destination = OPERAND_READ } },         // scas
        { L1 | V1, 0xf7, 0xf7, { .destination = OPERAND_WRITTEN } }, // maskmovdqu
    };
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        if ((strings[i].spaces & opcode->space) == 0 ||
            opcode->byte < strings[i].first || opcode->byte > strings[i].last)
            continue;
        *out = strings[i].accesses;
        return true;
    }
    return false;
}

struct operand_accesses operand_access_find(const uint8_t *bytes, size_t size)
{
    struct operand_accesses found = { OPERAND_UNKNOWN, OPERAND_UNKNOWN,
                                      OPERAND_UNKNOWN };
    struct opcode opcode;
    struct cursor c = cursor_over(bytes, size);
    read_opcode(&c, &opcode);
    if (!cursor_ok(&c) || find_string_operands(&opcode, &found))
        return found;
    // Some opcodes have no ModRM byte; none of these has a row that asks for its bits.
    opcode.reg = cursor_left(&c) != 0 ? cursor_u8(&c) >> 3 & 7 : 0;
    found.memory = access_of_opcode(&opcode);
    return found;
}
