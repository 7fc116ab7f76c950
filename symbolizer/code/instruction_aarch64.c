// SPDX-License-Identifier: Apache-2.0
//
// What instructions of AArch64 access, by the encodings of the Arm Architecture
// Reference Manual (C4.1, "Loads and Stores"). The base register is in the same bits of
// all of them, and so are the registers that are transferred; `classes` has the rest.
//
// The text of an instruction is Capstone's. Capstone 4 knows none that came after
// ARMv8.0, so those that access memory are spelled here.
#include <inttypes.h>
#include <stdio.h>

#include "base/cursor.h"
#include "base/text.h"
#include "symbolizer/code/instruction.h"
#include "symbolizer/code/word_bits.h"

enum { LENGTH = 4, ZERO = 31 };

// set_name names a general register; zero: what number 31 is.
static void set_name(char out[static INSTRUCTION_NAME_MAX], char width, unsigned number,
                     const char *zero)
{
    if (number == ZERO)
        (void)snprintf(out, INSTRUCTION_NAME_MAX, "%s", zero);
    else
        (void)snprintf(out, INSTRUCTION_NAME_MAX, "%c%u", width, number);
}

static void set_access(struct instruction_operand *out, bool is_load, unsigned size)
{
    out->access = is_load ? OPERAND_READ : OPERAND_WRITTEN;
    out->size = size;
}

// A class_fn adds what an instruction of its class accesses to an operand that has the
// base register. False: the instruction is unallocated.
typedef bool class_fn(uint32_t word, struct instruction_operand *out);

// read_vectors reads loads and stores of whole vectors: LD1 to LD4 and ST1 to ST4.
static bool read_vectors(uint32_t word, struct instruction_operand *out)
{
    static const uint8_t registers[16] = {
        [0] = 4, [2] = 4, [4] = 3, [6] = 3, [7] = 1, [8] = 2, [10] = 2
    };
    unsigned vector_bytes = word_bits(word, 30, 1) ? 16 : 8;
    set_access(out, word_bits(word, 22, 1),
               registers[word_bits(word, 12, 4)] * vector_bytes);
    return out->size != 0;
}

// read_elements reads those of one element of each vector, or of one that is
// replicated.
static bool read_elements(uint32_t word, struct instruction_operand *out)
{
    unsigned opcode = word_bits(word, 13, 3);
    unsigned registers = 1 + 2 * (opcode & 1) + word_bits(word, 21, 1);
    unsigned scale = opcode >> 1;
    if (scale == 3)
        scale = word_bits(word, 10, 2);
    else if (scale == 2)
        scale += word_bits(word, 10, 1);
    set_access(out, word_bits(word, 22, 1), registers << scale);
    return true;
}

// read_ordered reads exclusive and ordered ones, and compare and swap.
static bool read_ordered(uint32_t word, struct instruction_operand *out)
{
    bool is_ordered = word_bits(word, 23, 1);
    bool is_pair = !is_ordered && word_bits(word, 21, 1);
    unsigned size = 1u << word_bits(word, 30, 2);
    bool swaps = word_bits(word, 21, 1) && (is_ordered || size < 4);
    if (is_pair)
        size = word_bits(word, 30, 1) ? 16 : 8;
    set_access(out, word_bits(word, 22, 1), size);
    if (swaps)
        out->access = OPERAND_UPDATED;
    return true;
}

// set_register_access is for one register, general or (V) of vectors, by size and opc.
static bool set_register_access(uint32_t word, struct instruction_operand *out,
                                unsigned *out_scale)
{
    unsigned opc = word_bits(word, 22, 2);
    unsigned scale = word_bits(word, 30, 2);
    bool is_vector = word_bits(word, 26, 1);
    if (is_vector && opc >= 2)
        scale += 4;
    *out_scale = scale;
    set_access(out, is_vector ? opc & 1 : opc != 0, 1u << scale);
    if (!is_vector && scale == 3 && opc == 2) { // PRFM
        out->access = OPERAND_UNUSED;
        out->size = 0;
    }
    return scale <= 4 && (is_vector || opc < 3 || scale < 2);
}

static bool read_unsigned_offset(uint32_t word, struct instruction_operand *out)
{
    unsigned scale;
    bool ok = set_register_access(word, out, &scale);
    out->displacement = (int64_t)word_bits(word, 10, 12) << scale;
    return ok;
}

// read_signed_offset reads unscaled and unprivileged ones, and those that change the
// base register before or after the access.
static bool read_signed_offset(uint32_t word, struct instruction_operand *out)
{
    enum { AFTER = 1 };
    unsigned scale;
    if (word_bits(word, 10, 2) != AFTER)
        out->displacement = word_signed_bits(word, 12, 9);
    return set_register_access(word, out, &scale);
}

static bool read_register_offset(uint32_t word, struct instruction_operand *out)
{
    enum { UXTW = 2, SXTW = 6 };
    unsigned option = word_bits(word, 13, 3);
    unsigned scale;
    bool ok = set_register_access(word, out, &scale);
    bool is_whole = option & 1;
    out->scale = (uint8_t)(1u << (word_bits(word, 12, 1) ? scale : 0));
    out->index_signed = option == SXTW;
    set_name(out->index, is_whole ? 'x' : 'w', word_bits(word, 16, 5),
             is_whole ? "xzr" : "wzr");
    return ok && (option & UXTW) != 0;
}

// read_consistent reads LDAPUR and STLUR and their kin.
static bool read_consistent(uint32_t word, struct instruction_operand *out)
{
    out->displacement = word_signed_bits(word, 12, 9);
    set_access(out, word_bits(word, 22, 2) != 0, 1u << word_bits(word, 30, 2));
    return true;
}

static bool read_literal(uint32_t word, struct instruction_operand *out)
{
    static const uint8_t sizes[2][4] = { { 4, 8, 4, 0 }, { 4, 8, 16, 0 } };
    enum { PRFM = 3 };
    unsigned opc = word_bits(word, 30, 2);
    set_access(out, true, sizes[word_bits(word, 26, 1)][opc]);
    if (opc == PRFM)
        out->access = OPERAND_UNUSED;
    (void)snprintf(out->base, sizeof(out->base), "pc");
    out->displacement = word_signed_bits(word, 5, 19) * LENGTH;
    return true;
}

static bool read_pair(uint32_t word, struct instruction_operand *out)
{
    enum { AFTER = 1, STGP = 1 };
    bool is_vector = word_bits(word, 26, 1);
    unsigned opc = word_bits(word, 30, 2);
    unsigned size = is_vector ? 4u << opc : opc == 2 ? 8 : 4;
    unsigned scale = size;
    bool is_load = word_bits(word, 22, 1);
    if (!is_vector && opc == STGP && !is_load) {
        size = 8;
        scale = 16;
    }
    set_access(out, is_load, 2 * size);
    if (word_bits(word, 23, 2) != AFTER)
        out->displacement = word_signed_bits(word, 15, 7) * (int64_t)scale;
    return opc != 3;
}

// read_atomic reads atomic operations, and loads and stores of 64 bytes.
static bool read_atomic(uint32_t word, struct instruction_operand *out)
{
    enum { LDAPR = 12, LD64B = 13, SWP = 8 }; // LD64B is the last that is allocated
    unsigned operation = word_bits(word, 12, 4);
    out->size = UINT64_C(1) << word_bits(word, 30, 2);
    out->access = operation == LDAPR || operation == LD64B ? OPERAND_READ
                  : operation > SWP                        ? OPERAND_WRITTEN
                                                           : OPERAND_UPDATED;
    if (operation <= SWP || operation == LDAPR)
        return true;
    bool is_block = out->size == 8 && operation <= LD64B;
    out->size = 64;
    return is_block;
}

static bool read_atomic_pair(uint32_t word, struct instruction_operand *out)
{
    (void)word;
    out->access = OPERAND_UPDATED;
    out->size = 16;
    return true;
}

// read_authenticated reads loads through a signed pointer: LDRAA and LDRAB.
static bool read_authenticated(uint32_t word, struct instruction_operand *out)
{
    enum { IMMEDIATE_BITS = 9 };
    unsigned below_zero = word_bits(word, 22, 1) << IMMEDIATE_BITS;
    set_access(out, true, 8);
    out->base_signed = true;
    out->displacement =
        8 * ((int64_t)word_bits(word, 12, IMMEDIATE_BITS) - (int64_t)below_zero);
    return true;
}

// read_tags reads loads and stores of memory tags. The size of a block of them depends
// on the processor.
static bool read_tags(uint32_t word, struct instruction_operand *out)
{
    enum { AFTER = 1, NONE = 0, GRANULE = 16, LOAD = 1 };
    unsigned opc = word_bits(word, 22, 2);
    unsigned mode = word_bits(word, 10, 2);
    bool is_load = mode == NONE && opc & LOAD;
    bool is_block = mode == NONE && opc != LOAD;
    set_access(out, is_load, is_block ? 0 : opc >= 2 ? 2 * GRANULE : GRANULE);
    if (mode != AFTER)
        out->displacement = word_signed_bits(word, 12, 9) * GRANULE;
    return true;
}

// read_cache reads DC and IC by address, of a line whose size depends on the processor.
// They need memory that can be read, except those that set it.
static bool read_cache(uint32_t word, struct instruction_operand *out)
{
    enum { SETS = 4 };
    set_name(out->base, 'x', word_bits(word, 0, 5), "xzr");
    set_access(out, word_bits(word, 8, 4) != SETS, 0);
    return true;
}

// element_scales are those of SVE's elements in memory, by the field dtype.
static const uint8_t element_scales[16] = { 0, 0, 0, 0, 2, 1, 1, 1,
                                            1, 1, 2, 2, 0, 0, 0, 3 };

// read_scalable reads SVE's loads and stores at a base register alone: how many bytes
// a vector has depends on the processor.
static bool read_scalable(uint32_t word, struct instruction_operand *out)
{
    set_access(out, !word_bits(word, 30, 1), 0);
    return true;
}

// read_scalable_index reads those that add an index.
static bool read_scalable_index(uint32_t word, struct instruction_operand *out)
{
    bool is_store = word_bits(word, 30, 1);
    bool has_type = !is_store && word_bits(word, 13, 3) < 4;
    out->scale = (uint8_t)(1u << (has_type ? element_scales[word_bits(word, 21, 4)]
                                           : word_bits(word, 23, 2)));
    set_name(out->index, 'x', word_bits(word, 16, 5), "xzr");
    return read_scalable(word, out);
}

// read_scalable_copy reads loads of one element into all of a vector.
static bool read_scalable_copy(uint32_t word, struct instruction_operand *out)
{
    unsigned type = word_bits(word, 23, 2) << 2 | word_bits(word, 13, 2);
    set_access(out, true, 1u << element_scales[type]);
    out->displacement = (int64_t)word_bits(word, 16, 6) << element_scales[type];
    return true;
}

// classes has the bits of mask as value; the first that fits counts.
static const struct {
    uint32_t mask;
    uint32_t value;
    class_fn *read;
} classes[] = {
    { 0xbfbf0000, 0x0c000000, read_vectors },
    { 0xbfa00000, 0x0c800000, read_vectors }, // and adds to the base register
    { 0xbf9f0000, 0x0d000000, read_elements },
    { 0xbf800000, 0x0d800000, read_elements }, // and adds to the base register
    { 0x3f000000, 0x08000000, read_ordered },
    { 0x3f200c00, 0x19000000, read_consistent },
    { 0xff200c00, 0x19200000, read_atomic_pair },
    { 0xff200000, 0xd9200000, read_tags },
    { 0x3b000000, 0x18000000, read_literal },
    { 0x3a000000, 0x28000000, read_pair },
    { 0x3b000000, 0x39000000, read_unsigned_offset },
    { 0x3b200000, 0x38000000, read_signed_offset },
    { 0x3f200c00, 0x38200000, read_atomic },
    { 0x3b200c00, 0x38200800, read_register_offset },
    { 0xff200400, 0xf8200400, read_authenticated },
    { 0xfffff000, 0xd50b7000, read_cache },
    { 0xffffbc00, 0x85800000, read_scalable }, // LDR
    { 0xffffbc00, 0xe5800000, read_scalable }, // STR
    { 0xfe0fa000, 0xa400a000, read_scalable },
    { 0xfe0fe000, 0xe400e000, read_scalable },
    { 0xffc0e000, 0xe5804000, NULL }, // STR with a displacement
    { 0xfe00c000, 0xa4004000, read_scalable_index },
    { 0xfe00e000, 0xa400c000, read_scalable_index },
    { 0xfe00c000, 0xe4004000, read_scalable_index },
    { 0xfe408000, 0x84408000, read_scalable_copy },
};

bool instruction_operand_aarch64(uint32_t word, struct instruction_operand *out)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        if ((word & classes[i].mask) != classes[i].value)
            continue;
        struct instruction_operand found = { .access = OPERAND_UNKNOWN };
        if (classes[i].read == NULL || !classes[i].read(word, &found))
            return false;
        found.memory = true;
        if (found.scale == 0)
            found.scale = 1;
        if (found.base[0] == 0)
            set_name(found.base, 'x', word_bits(word, 5, 5), "sp");
        *out = found;
        return true;
    }
    return false;
}

size_t instruction_bulk_aarch64(uint32_t word, struct instruction_operand out[static 2])
{
    enum { SET = 3, STAGES = 3 };
    bool is_set = word_bits(word, 22, 2) == SET;
    unsigned stage = word_bits(word, is_set ? 14 : 22, 2);
    bool has_zero = word_bits(word, 0, 5) == ZERO || word_bits(word, 5, 5) == ZERO ||
                    (!is_set && word_bits(word, 16, 5) == ZERO);
    if ((word & 0xfb200c00) != 0x19000400 || stage == STAGES || has_zero)
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        out[i] = (struct instruction_operand){ .memory = true, .scale = 1 };
        set_access(&out[i], i != 0, 0);
        out[i].length_signed = stage != 0;
        set_name(out[i].length, 'x', word_bits(word, 5, 5), "xzr");
        set_name(out[i].base, 'x', word_bits(word, i == 0 ? 0 : 16, 5), "xzr");
    }
    return is_set ? 1 : 2;
}

// ordering gives the suffix of an instruction that acquires or releases.
static const char *ordering(bool acquires, bool releases)
{
    static const char *const suffixes[2][2] = { { "", "l" }, { "a", "al" } };
    return suffixes[acquires][releases];
}

// size_suffix is that of bytes and halfwords; registers show words and longer ones.
static const char *size_suffix(uint32_t word)
{
    static const char *const suffixes[] = { "b", "h", "", "" };
    return suffixes[word_bits(word, 30, 2)];
}

static char register_width(uint32_t word)
{
    return word_bits(word, 30, 2) == 3 ? 'x' : 'w';
}

static void spell_register(struct text *to, char width, unsigned number)
{
    char name[INSTRUCTION_NAME_MAX];
    set_name(name, width, number, width == 'x' ? "xzr" : "wzr");
    text_appendf(to, " %s,", name);
}

static void spell_swap(uint32_t word, struct text *to)
{
    bool is_pair = !word_bits(word, 23, 1);
    char width = is_pair ? "wx"[word_bits(word, 30, 1)] : register_width(word);
    text_appendf(to, "cas%s%s%s", is_pair ? "p" : "",
                 ordering(word_bits(word, 22, 1), word_bits(word, 15, 1)),
                 is_pair ? "" : size_suffix(word));
    for (unsigned i = 0; i <= is_pair; i++)
        spell_register(to, width, word_bits(word, 16, 5) + i);
    for (unsigned i = 0; i <= is_pair; i++)
        spell_register(to, width, word_bits(word, 0, 5) + i);
}

static void spell_limited(uint32_t word, struct text *to)
{
    text_appendf(to, "%s%s", word_bits(word, 22, 1) ? "ldlar" : "stllr",
                 size_suffix(word));
    spell_register(to, register_width(word), word_bits(word, 0, 5));
}

static void spell_atomic(uint32_t word, struct text *to)
{
    static const char *const names[16] = { "add",   "clr",   "eor",     "set",
                                           "smax",  "smin",  "umax",    "umin",
                                           "swp",   "st64b", "st64bv0", "st64bv",
                                           "ldapr", "ld64b", NULL,      NULL };
    enum { SWP = 8, STORE_BLOCK = 9, LDAPR = 12 };
    unsigned operation = word_bits(word, 12, 4);
    bool acquires = word_bits(word, 23, 1);
    bool has_result = word_bits(word, 0, 5) != ZERO || acquires || operation >= SWP;
    bool has_source = operation < STORE_BLOCK || names[operation][5] == 'v';
    if (operation < SWP)
        text_append_string(to, has_result ? "ld" : "st");
    text_append_string(to, names[operation]);
    if (operation <= SWP)
        text_append_string(to, ordering(acquires, word_bits(word, 22, 1)));
    text_append_string(to, size_suffix(word));
    if (has_source)
        spell_register(to, register_width(word), word_bits(word, 16, 5));
    if (has_result)
        spell_register(to, register_width(word), word_bits(word, 0, 5));
}

static void spell_atomic_pair(uint32_t word, struct text *to)
{
    static const char *const names[16] = {
        [1] = "ldclrp", [3] = "ldsetp", [8] = "swpp"
    };
    const char *name = names[word_bits(word, 12, 4)];
    text_appendf(to, "%s%s", name != NULL ? name : "rcw",
                 ordering(word_bits(word, 23, 1), word_bits(word, 22, 1)));
    spell_register(to, 'x', word_bits(word, 0, 5));
    spell_register(to, 'x', word_bits(word, 16, 5));
}

static void spell_consistent(uint32_t word, struct text *to)
{
    static const char *const names[] = { "stlur", "ldapur", "ldapurs", "ldapurs" };
    enum { SIGNED_LONG = 2, WORD_SIZE = 2 };
    unsigned opc = word_bits(word, 22, 2);
    bool is_signed = opc >= SIGNED_LONG;
    text_appendf(to, "%s%s%s", names[opc], size_suffix(word),
                 is_signed && word_bits(word, 30, 2) == WORD_SIZE ? "w" : "");
    spell_register(to, is_signed ? "xw"[opc - SIGNED_LONG] : register_width(word),
                   word_bits(word, 0, 5));
}

static void spell_authenticated(uint32_t word, struct text *to)
{
    text_append_string(to, word_bits(word, 23, 1) ? "ldrab" : "ldraa");
    spell_register(to, 'x', word_bits(word, 0, 5));
}

static void spell_tags(uint32_t word, struct text *to)
{
    static const char *const names[2][4] = { { "stzgm", "ldg", "stgm", "ldgm" },
                                             { "stg", "stzg", "st2g", "stz2g" } };
    bool is_store = word_bits(word, 10, 2) != 0;
    char name[INSTRUCTION_NAME_MAX];
    set_name(name, 'x', word_bits(word, 0, 5), is_store ? "sp" : "xzr");
    text_appendf(to, "%s %s,", names[is_store][word_bits(word, 22, 2)], name);
}

static void spell_pair_with_tag(uint32_t word, struct text *to)
{
    text_append_string(to, "stgp");
    spell_register(to, 'x', word_bits(word, 0, 5));
    spell_register(to, 'x', word_bits(word, 10, 5));
}

// newer has the instructions that came after ARMv8.0: what is written before the
// address, and where the bits are that say whether the base register is changed.
static const struct {
    uint32_t mask;
    uint32_t value;
    void (*spell)(uint32_t word, struct text *to);
    uint32_t after;  // these bits set alone: after the access
    uint32_t before; // before it
} newer[] = {
    { 0x3fa07c00, 0x08a07c00, spell_swap, 0, 0 },
    { 0xbfa07c00, 0x08207c00, spell_swap, 0, 0 },
    { 0x3fa08000, 0x08800000, spell_limited, 0, 0 },
    { 0x3f200c00, 0x38200000, spell_atomic, 0, 0 },
    { 0xff200c00, 0x19200000, spell_atomic_pair, 0, 0 },
    { 0x3f200c00, 0x19000000, spell_consistent, 0, 0 },
    { 0xff200400, 0xf8200400, spell_authenticated, 0, 0x00000800 },
    { 0xff200000, 0xd9200000, spell_tags, 0x00000400, 0x00000c00 },
    { 0xfe400000, 0x68000000, spell_pair_with_tag, 0x00800000, 0x01800000 },
};

static void spell_constant(struct text *to, int64_t value)
{
    enum { DECIMAL = 9 };
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    text_appendf(to, size > DECIMAL ? ", #%s0x%" PRIx64 : ", #%s%" PRIu64,
                 value < 0 ? "-" : "", size);
}

// spell_newer writes the text of an instruction of `newer`.
static enum ch_status spell_newer(uint32_t word, const struct instruction_operand *at,
                                  char out[static INSTRUCTION_TEXT_MAX])
{
    size_t i = 0;
    while (i < sizeof(newer) / sizeof(newer[0]) &&
           (word & newer[i].mask) != newer[i].value)
        i++;
    if (i == sizeof(newer) / sizeof(newer[0]))
        return CH_ERR_UNSUPPORTED;
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    struct instruction_operand moved;
    bool after = newer[i].after != 0 && (word & newer[i].before) == newer[i].after;
    bool before = newer[i].before != 0 && (word & newer[i].before) == newer[i].before;
    newer[i].spell(word, &text);
    text_appendf(&text, " [%s", at->base);
    if (after) {
        text_append_string(&text, "]");
        // What is added is where a displacement is in the same instruction.
        if (instruction_operand_aarch64(word | newer[i].before, &moved))
            spell_constant(&text, moved.displacement);
    } else {
        if (at->displacement != 0)
            spell_constant(&text, at->displacement);
        text_append_string(&text, before ? "]!" : "]");
    }
    if (!text_ok(&text))
        return CH_ERR_NO_MEMORY;
    (void)snprintf(out, INSTRUCTION_TEXT_MAX, "%s", text.bytes);
    return CH_OK;
}

// spell_bulk writes the text of an instruction that copies or sets memory (MOPS), of
// which three make a call. False: it is none.
static bool spell_bulk(uint32_t word, char out[static INSTRUCTION_TEXT_MAX])
{
    static const char *const rights[] = { "", "wt", "rt", "t" };
    static const char *const hints[] = { "", "wn", "rn", "n" };
    static const char *const set_ways[] = { "", "t", "n", "tn" };
    unsigned way = word_bits(word, 12, 4);
    bool has_option = word_bits(word, 26, 1); // of memmove, and of tags
    struct instruction_operand at[2];
    size_t count = instruction_bulk_aarch64(word, at);
    if (count == 1)
        (void)snprintf(out, INSTRUCTION_TEXT_MAX, "set%s%c%s [%s]!, %s!, %s",
                       has_option ? "g" : "", "pme"[way >> 2], set_ways[way & 3],
                       at[0].base, at[0].length, at[1].base);
    else if (count == 2)
        (void)snprintf(out, INSTRUCTION_TEXT_MAX, "cpy%s%c%s%s [%s]!, [%s]!, %s!",
                       has_option ? "" : "f", "pme"[word_bits(word, 22, 2)],
                       rights[way & 3], hints[way >> 2], at[0].base, at[1].base,
                       at[0].length);
    return count != 0;
}

// read_code_word reads the instruction that bytes begin with. False: there are too few.
static bool read_code_word(const uint8_t *bytes, size_t size, uint32_t *out)
{
    struct cursor c = cursor_over(bytes, size);
    *out = cursor_u32(&c);
    return size >= LENGTH;
}

enum ch_status instruction_print_aarch64(const uint8_t *bytes, size_t size,
                                         uint64_t address,
                                         char out[static INSTRUCTION_TEXT_MAX],
                                         size_t *out_length)
{
    struct instruction_operand operand;
    uint32_t word;
    if (!read_code_word(bytes, size, &word))
        return CH_ERR_MALFORMED;
    *out_length = LENGTH;
    enum ch_status status = instruction_text_aarch64(bytes, address, out);
    if (word >> 16 == 0) { // UDF
        (void)snprintf(out, INSTRUCTION_TEXT_MAX, "udf #%" PRIu32, word);
        status = CH_OK;
    } else if (status != CH_OK && ((instruction_operand_aarch64(word, &operand) &&
                                    spell_newer(word, &operand, out) == CH_OK) ||
                                   spell_bulk(word, out))) {
        status = CH_OK;
    }
    return status;
}

enum ch_status instruction_decode_aarch64(const uint8_t *bytes, size_t size,
                                          struct instruction *out)
{
    uint32_t word;
    size_t length;
    if (!read_code_word(bytes, size, &word))
        return CH_ERR_MALFORMED;
    *out = (struct instruction){ .length = LENGTH };
    enum ch_status status =
        instruction_print_aarch64(bytes, size, 0, out->text, &length);
    if (word >> 16 == 0)
        out->form = INSTRUCTION_UNDEFINED;
    out->operand_count = instruction_operand_aarch64(word, &out->operands[0])
                             ? 1
                             : instruction_bulk_aarch64(word, out->operands);
    return out->operand_count != 0 ? CH_OK : status;
}
