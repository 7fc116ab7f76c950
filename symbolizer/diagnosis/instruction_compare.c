// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/instruction_compare.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/cursor.h"

// evex holds the fields of an EVEX prefix that are needed (Intel SDM volume 2, section
// 2.7). The bits that extend register numbers are inverted there, and not here.
struct evex {
    unsigned index_more;
    unsigned base_more;
    unsigned source; // vvvv
    bool wide;
    bool broadcast;
    unsigned vector_bytes;
};

static const char *const registers[] = { "rax", "rcx", "rdx", "rbx", "rsp", "rbp",
                                         "rsi", "rdi", "r8",  "r9",  "r10", "r11",
                                         "r12", "r13", "r14", "r15" };

static bool read_compare_prefix(struct cursor *c, struct evex *out)
{
    enum { EVEX = 0x62, MAP_3A = 3, PREFIX_66 = 1 };
    uint8_t first = cursor_u8(c);
    uint8_t p0 = cursor_u8(c);
    uint8_t p1 = cursor_u8(c);
    uint8_t p2 = cursor_u8(c);
    *out = (struct evex){
        .index_more = p0 & 0x40 ? 0 : 8,
        .base_more = p0 & 0x20 ? 0 : 8,
        .source = (~(unsigned)p1 >> 3 & 15) | (p2 & 8 ? 0 : 16),
        .wide = p1 & 0x80,
        .broadcast = p2 & 0x10,
        .vector_bytes = 16u << (p2 >> 5 & 3),
    };
    return cursor_ok(c) && first == EVEX && (p0 & 7) == MAP_3A &&
           (p1 & 3) == PREFIX_66 && out->vector_bytes <= 64;
}

// name_compare gives the instruction of an opcode; NULL: it is another one.
static const char *name_compare(uint8_t opcode, bool wide)
{
    switch (opcode) {
    case 0x1e:
        return wide ? "vpcmpuq" : "vpcmpud";
    case 0x1f:
        return wide ? "vpcmpq" : "vpcmpd";
    case 0x3e:
        return wide ? "vpcmpuw" : "vpcmpub";
    case 0x3f:
        return wide ? "vpcmpw" : "vpcmpb";
    default:
        return NULL;
    }
}

static void name_place(char out[static INSTRUCTION_NAME_MAX], const char *name)
{
    (void)snprintf(out, INSTRUCTION_NAME_MAX, "%s", name);
}

// read_compare_operand reads what follows ModRM: the operand's address. A displacement
// of one byte counts in units of the operand's size.
static void read_compare_operand(struct cursor *c, const struct evex *evex,
                                 uint8_t modrm, struct instruction_operand *out)
{
    enum { HAS_SIB = 4, NO_BASE = 5, NO_INDEX = 4 };
    unsigned mod = modrm >> 6;
    unsigned base = modrm & 7;
    bool has_sib = base == HAS_SIB;
    uint8_t sib = has_sib ? cursor_u8(c) : 0;
    unsigned index = (sib >> 3 & 7) | evex->index_more;
    if (has_sib)
        base = sib & 7;
    bool no_base = mod == 0 && base == NO_BASE;
    out->scale = 1;
    if (has_sib && index != NO_INDEX) {
        name_place(out->index, registers[index]);
        out->scale = (uint8_t)(1u << (sib >> 6));
    }
    if (!no_base)
        name_place(out->base, registers[base | evex->base_more]);
    else if (!has_sib)
        name_place(out->base, "rip");
    if (mod == 1)
        out->displacement = cursor_sint(c, 1) * out->size;
    else if (mod == 2 || no_base)
        out->displacement = cursor_sint(c, 4);
}

enum ch_status instruction_compare_decode(const uint8_t *bytes, size_t size,
                                          struct instruction *out)
{
    enum { IN_REGISTER = 3 };
    struct cursor c = cursor_over(bytes, size);
    struct evex evex;
    bool is_evex = read_compare_prefix(&c, &evex);
    uint8_t opcode = cursor_u8(&c);
    uint8_t modrm = cursor_u8(&c);
    const char *name = name_compare(opcode, evex.wide);
    if (!is_evex || name == NULL || modrm >> 6 == IN_REGISTER)
        return CH_ERR_MALFORMED;
    bool element = evex.broadcast && opcode < 0x20;
    unsigned bytes_read = element ? (evex.wide ? 8 : 4) : evex.vector_bytes;
    struct instruction_operand memory = { .memory = true,
                                          .access = OPERAND_READ,
                                          .size = (uint16_t)bytes_read };
    read_compare_operand(&c, &evex, modrm, &memory);
    uint8_t predicate = cursor_u8(&c);
    if (!cursor_ok(&c))
        return CH_ERR_MALFORMED;
    *out = (struct instruction){ .length = (uint8_t)cursor_offset(&c),
                                 .operands = { memory },
                                 .operand_count = 1 };
    (void)snprintf(out->mnemonic, sizeof(out->mnemonic), "%s", name);
    (void)snprintf(out->text, sizeof(out->text),
                   "%s k%u, %cmm%u, [%s%s%s%+" PRId64 "], %u", name, modrm >> 3 & 7,
                   evex.vector_bytes == 16   ? 'x'
                   : evex.vector_bytes == 32 ? 'y'
                                             : 'z',
                   evex.source, memory.base, memory.index[0] != 0 ? "+" : "",
                   memory.index, memory.displacement, predicate);
    return CH_OK;
}
