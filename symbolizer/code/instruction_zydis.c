// SPDX-License-Identifier: Apache-2.0
//
// x86-64 instructions, decoded by Zydis. The library is loaded when the first one is
// decoded, and stays loaded until the process ends.
//
// instruction_decode copies the operands and the text. instruction_read_effects_x86_64
// derives what argument values are tracked through: an instruction writes the registers
// that Zydis lists as written, hidden ones too, and some instructions move values in a
// way that is followed (read_action).
#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "symbolizer/code/instruction.h"

// library has the functions of Zydis that are used.
struct library {
    __typeof__(ZydisDecoderInit) *decoder_init;
    __typeof__(ZydisDecoderDecodeFull) *decode_full;
    __typeof__(ZydisFormatterInit) *formatter_init;
    __typeof__(ZydisFormatterSetProperty) *set_property;
    __typeof__(ZydisFormatterFormatInstruction) *format;
    __typeof__(ZydisRegisterGetString) *register_name;
    __typeof__(ZydisRegisterGetLargestEnclosing) *whole_register;
};

// decoded is an instruction with its operands. Visible operands come first.
struct decoded {
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

#if CRASHHOOK_STATIC
static const struct library zydis = {
    .decoder_init = ZydisDecoderInit,
    .decode_full = ZydisDecoderDecodeFull,
    .formatter_init = ZydisFormatterInit,
    .set_property = ZydisFormatterSetProperty,
    .format = ZydisFormatterFormatInstruction,
    .register_name = ZydisRegisterGetString,
    .whole_register = ZydisRegisterGetLargestEnclosing,
};
#else
static struct library zydis;
#endif
static ZydisDecoder decoder;
static ZydisFormatter formatter;
static bool is_loaded;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

#if CRASHHOOK_STATIC
static bool zydis_find_functions(void)
{
    return true;
}
#else
static bool find_function(void *library, const char *name, void *out)
{
    void *function = dlsym(library, name);
    // A function pointer is copied from dlsym's result by its bytes, as POSIX
    // recommends.
    memcpy(out, &function, sizeof(function));
    return function != NULL;
}

// zydis_find_functions loads the version that was compiled against: enumerations and
// structs of the next one differ.
static bool zydis_find_functions(void)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "libZydis.so.%u.%u",
                   (unsigned)ZYDIS_VERSION_MAJOR(ZYDIS_VERSION),
                   (unsigned)ZYDIS_VERSION_MINOR(ZYDIS_VERSION));
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library != NULL &&
           find_function(library, "ZydisDecoderInit", &zydis.decoder_init) &&
           find_function(library, "ZydisDecoderDecodeFull", &zydis.decode_full) &&
           find_function(library, "ZydisFormatterInit", &zydis.formatter_init) &&
           find_function(library, "ZydisFormatterSetProperty", &zydis.set_property) &&
           find_function(library, "ZydisFormatterFormatInstruction", &zydis.format) &&
           find_function(library, "ZydisRegisterGetString", &zydis.register_name) &&
           find_function(library, "ZydisRegisterGetLargestEnclosing",
                         &zydis.whole_register);
}
#endif

static void load_library(void)
{
    static const struct {
        ZydisFormatterProperty property;
        ZyanUPointer value;
    } settings[] = {
        { ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_TRUE },
        { ZYDIS_FORMATTER_PROP_FORCE_SCALE_ONE, ZYAN_FALSE },
        { ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE },
        { ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_PADDING_DISABLED },
        { ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE, ZYDIS_PADDING_DISABLED },
        { ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_PADDING_DISABLED },
        { ZYDIS_FORMATTER_PROP_IMM_PADDING, ZYDIS_PADDING_DISABLED },
        { ZYDIS_FORMATTER_PROP_IMM_SIGNEDNESS, ZYDIS_SIGNEDNESS_AUTO },
    };
    bool ok =
        zydis_find_functions() &&
        ZYAN_SUCCESS(zydis.decoder_init(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
                                        ZYDIS_STACK_WIDTH_64)) &&
        ZYAN_SUCCESS(zydis.formatter_init(&formatter, ZYDIS_FORMATTER_STYLE_INTEL));
    for (size_t i = 0; ok && i < sizeof(settings) / sizeof(settings[0]); i++)
        ok = ZYAN_SUCCESS(
            zydis.set_property(&formatter, settings[i].property, settings[i].value));
    is_loaded = ok;
}

// decode decodes the instruction at the start of bytes. CH_ERR_UNSUPPORTED: there is no
// library.
static enum ch_status decode(const uint8_t *bytes, size_t size, struct decoded *out)
{
    (void)pthread_once(&load_once, load_library);
    if (!is_loaded)
        return CH_ERR_UNSUPPORTED;
    return ZYAN_SUCCESS(zydis.decode_full(&decoder, bytes, size, &out->instruction,
                                          out->operands))
               ? CH_OK
               : CH_ERR_MALFORMED;
}

static bool zydis_is_undefined(const struct decoded *d)
{
    return d->instruction.mnemonic == ZYDIS_MNEMONIC_UD0 ||
           d->instruction.mnemonic == ZYDIS_MNEMONIC_UD1 ||
           d->instruction.mnemonic == ZYDIS_MNEMONIC_UD2;
}

static enum instruction_form form_of(const struct decoded *d)
{
    if (zydis_is_undefined(d))
        return INSTRUCTION_UNDEFINED;
    if (d->instruction.mnemonic == ZYDIS_MNEMONIC_DIV ||
        d->instruction.mnemonic == ZYDIS_MNEMONIC_IDIV)
        return INSTRUCTION_DIVIDE;
    switch (d->instruction.meta.category) {
    case ZYDIS_CATEGORY_RET:
        return INSTRUCTION_RETURN;
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_COND_BR:
    case ZYDIS_CATEGORY_UNCOND_BR:
        return INSTRUCTION_BRANCH;
    default:
        return INSTRUCTION_ORDINARY;
    }
}

// is_hint is true for instructions whose memory operand never faults. Zydis lists it as
// read.
static bool is_hint(const struct decoded *d)
{
    switch (d->instruction.meta.category) {
    case ZYDIS_CATEGORY_MPX: // no system enables it, and without it these are nops
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
        return true;
    default:
        return d->instruction.mnemonic == ZYDIS_MNEMONIC_CLDEMOTE ||
               d->instruction.mnemonic == ZYDIS_MNEMONIC_PREFETCHW ||
               d->instruction.mnemonic == ZYDIS_MNEMONIC_PREFETCHWT1;
    }
}

static enum operand_access zydis_access(const struct decoded *d,
                                        const ZydisDecodedOperand *operand)
{
    bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    if (operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN || is_hint(d))
        return OPERAND_UNUSED;
    if (writes)
        return reads ? OPERAND_UPDATED : OPERAND_WRITTEN;
    return reads ? OPERAND_READ : OPERAND_UNUSED;
}

// size_of gives the bytes of an operand; 0: not known. Zydis has the cache line that
// clflush and its kin flush, which need not begin at the address. Of movsxd with a
// prefix for 16 bits processors read 2 bytes or 4.
static uint16_t size_of(const struct decoded *d, const ZydisDecodedOperand *operand)
{
    bool flushes = d->instruction.mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
                   d->instruction.mnemonic == ZYDIS_MNEMONIC_CLFLUSHOPT ||
                   d->instruction.mnemonic == ZYDIS_MNEMONIC_CLWB;
    bool varies = d->instruction.mnemonic == ZYDIS_MNEMONIC_MOVSXD &&
                  d->instruction.operand_width == 16 &&
                  operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
    if (varies)
        return 0;
    return flushes ? 1 : operand->size / 8;
}

static bool is_segmented(const ZydisDecodedOperand *operand)
{
    return operand->mem.segment == ZYDIS_REGISTER_FS ||
           operand->mem.segment == ZYDIS_REGISTER_GS;
}

static void copy_name(ZydisRegister from, char out[static INSTRUCTION_NAME_MAX])
{
    const char *name = from != ZYDIS_REGISTER_NONE ? zydis.register_name(from) : NULL;
    (void)snprintf(out, INSTRUCTION_NAME_MAX, "%s", name != NULL ? name : "");
}

static void copy_operand(const struct decoded *d, const ZydisDecodedOperand *from,
                         struct instruction_operand *out)
{
    *out = (struct instruction_operand){ .size = size_of(d, from) };
    if (from->type == ZYDIS_OPERAND_TYPE_REGISTER)
        copy_name(from->reg.value, out->name);
    if (from->type != ZYDIS_OPERAND_TYPE_MEMORY)
        return;
    out->memory = true;
    out->access = zydis_access(d, from);
    out->segmented = is_segmented(from);
    out->scale = from->mem.scale;
    out->displacement = from->mem.disp.value;
    copy_name(from->mem.base, out->base);
    copy_name(from->mem.index, out->index);
    // A push writes below the stack pointer, by which Zydis gives the address.
    if (from->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
        from->mem.base == ZYDIS_REGISTER_RSP && out->access == OPERAND_WRITTEN)
        out->displacement = -(int64_t)out->size;
}

// is_digit_prefix is true for the 0x of a hexadecimal number of one decimal digit.
static bool is_digit_prefix(const char *text)
{
    return text[0] == '0' && text[1] == 'x' && isdigit((unsigned char)text[2]) &&
           !isxdigit((unsigned char)text[3]);
}

// zydis_text writes the instruction in Intel syntax, "mov eax, dword ptr [rax + 8]".
// Zydis has no settings for the spaces and for short numbers.
static void zydis_text(const struct decoded *d, uint64_t address,
                       char out[static INSTRUCTION_TEXT_MAX])
{
    char text[INSTRUCTION_TEXT_MAX] = { 0 };
    size_t size = 0;
    bool inside = false;
    if (!ZYAN_SUCCESS(zydis.format(&formatter, &d->instruction, d->operands,
                                   d->instruction.operand_count_visible, text,
                                   sizeof(text), address, NULL)))
        text[0] = 0;
    for (const char *c = text; *c != 0 && size + 4 < INSTRUCTION_TEXT_MAX; c++) {
        bool spaced = inside && (*c == '+' || *c == '-');
        inside = *c == '[' || (inside && *c != ']');
        if (is_digit_prefix(c))
            c += 2;
        if (spaced)
            out[size++] = ' ';
        out[size++] = *c;
        if (spaced)
            out[size++] = ' ';
    }
    out[size] = 0;
}

enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                  struct instruction *out)
{
    struct decoded d;
    enum ch_status status = decode(bytes, size, &d);
    if (status != CH_OK)
        return status;
    *out = (struct instruction){ .length = d.instruction.length, .form = form_of(&d) };
    zydis_text(&d, ZYDIS_RUNTIME_ADDRESS_NONE, out->text);
    for (size_t i = 0; i < d.instruction.operand_count &&
                       out->operand_count < INSTRUCTION_OPERANDS_MAX;
         i++)
        if (d.operands[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
            d.operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            copy_operand(&d, &d.operands[i], &out->operands[out->operand_count++]);
    return CH_OK;
}

enum ch_status instruction_print_x86_64(const uint8_t *bytes, size_t size,
                                        uint64_t address,
                                        char out[static INSTRUCTION_TEXT_MAX],
                                        size_t *out_length)
{
    struct decoded d;
    enum ch_status status = decode(bytes, size, &d);
    if (status != CH_OK)
        return status;
    zydis_text(&d, address, out);
    *out_length = d.instruction.length;
    return CH_OK;
}

// register_number gives the DWARF number of the general register that reg is, or is a
// part of.
static uint8_t register_number(ZydisRegister reg)
{
    static const uint8_t numbers[] = { 0, 2, 1, 3, 7, 6, 4, 5 }; // by Intel's
    ZydisRegister whole = zydis.whole_register(ZYDIS_MACHINE_MODE_LONG_64, reg);
    if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
        return INSTRUCTION_NO_REGISTER;
    uint8_t number = (uint8_t)(whole - ZYDIS_REGISTER_RAX);
    return number < sizeof(numbers) ? numbers[number] : number;
}

// A part is a visible operand, as far as the effects depend on it.
struct part {
    enum { PART_OTHER, PART_REGISTER, PART_MEMORY, PART_CONSTANT } kind;
    uint8_t reg;
    bool high;      // bits 8 to 15 of that register: ah, bh, ch or dh
    bool segmented; // memory at an address that a segment is added to
    uint8_t bytes;
    int64_t constant;
};

static struct part part_of(const struct decoded *d, size_t i)
{
    struct part part = { .reg = INSTRUCTION_NO_REGISTER };
    if (i >= d->instruction.operand_count_visible)
        return part;
    const ZydisDecodedOperand *operand = &d->operands[i];
    part.bytes = (uint8_t)(operand->size / 8);
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        part.kind = PART_MEMORY;
        part.segmented = is_segmented(operand);
    } else if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        part.kind = PART_CONSTANT;
        part.constant = operand->imm.value.s;
    } else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        part.reg = register_number(operand->reg.value);
        part.kind = part.reg != INSTRUCTION_NO_REGISTER ? PART_REGISTER : PART_OTHER;
        part.high = operand->reg.value >= ZYDIS_REGISTER_AH &&
                    operand->reg.value <= ZYDIS_REGISTER_BH;
    }
    return part;
}

// read_copy reads a move between general registers, memory and constants.
static void read_copy(struct part to, struct part from, bool extends,
                      struct instruction_effects *out)
{
    out->bytes = from.kind == PART_CONSTANT ? to.bytes : from.bytes;
    if (to.kind == PART_MEMORY && from.kind == PART_REGISTER && !from.high && !extends)
        out->action = INSTRUCTION_STORES;
    // A write of less than four bytes leaves the rest of the register unchanged.
    if (to.kind != PART_REGISTER || to.bytes < 4)
        return;
    if (from.kind == PART_REGISTER && !from.high)
        out->action = INSTRUCTION_MOVES;
    if (from.kind == PART_MEMORY && !from.segmented)
        out->action = INSTRUCTION_LOADS;
    if (from.kind == PART_CONSTANT) {
        out->action = INSTRUCTION_SETS;
        out->constant =
            to.bytes == 4 ? (int64_t)(uint32_t)from.constant : from.constant;
    }
}

// read_sum reads an addition of a constant or a register to a whole register, and two
// instructions that clear a register (xor and sub).
static void read_sum(const struct decoded *d, struct part to, struct part from,
                     struct instruction_effects *out)
{
    bool adds = d->instruction.mnemonic == ZYDIS_MNEMONIC_ADD;
    bool whole = to.kind == PART_REGISTER && to.bytes == 8 &&
                 d->instruction.mnemonic != ZYDIS_MNEMONIC_XOR;
    if (whole && adds && from.kind == PART_REGISTER)
        out->action = INSTRUCTION_SUMS;
    if (whole && from.kind == PART_CONSTANT) {
        out->action = INSTRUCTION_ADDS;
        out->constant = adds ? from.constant : (int64_t)(0 - (uint64_t)from.constant);
    }
    if (!adds && to.kind == PART_REGISTER && from.kind == PART_REGISTER &&
        to.reg == from.reg && to.bytes >= 4)
        out->action = INSTRUCTION_SETS;
}

// read_product reads the multiplication of a whole register by a constant, as the
// address that has that scale.
static void read_product(struct part to, uint8_t index, int64_t scale,
                         struct instruction_effects *out)
{
    if (to.kind != PART_REGISTER || to.bytes != 8 || index == INSTRUCTION_NO_REGISTER ||
        scale < 1 || scale > UINT8_MAX)
        return;
    out->action = INSTRUCTION_ADDRESSES;
    out->memory = (struct instruction_memory){ .used = true,
                                               .base = INSTRUCTION_NO_REGISTER,
                                               .index = index,
                                               .scale = (uint8_t)scale };
}

static void read_action(const struct decoded *d, struct instruction_effects *out)
{
    enum { SHIFTS_MAX = 7 };
    const struct part to = part_of(d, 0);
    const struct part from = part_of(d, 1);
    // What is pushed may be a constant of fewer bytes.
    bool pushes_word = d->instruction.operand_width == 64;
    out->to = to.reg;
    out->from = from.reg;
    switch (d->instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        read_copy(to, from, false, out);
        return;
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        read_copy(to, from, true, out);
        return;
    case ZYDIS_MNEMONIC_CDQE:
        out->from = out->to = 0; // rax
        out->bytes = 4;
        out->action = INSTRUCTION_MOVES;
        return;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_XOR:
        read_sum(d, to, from, out);
        return;
    case ZYDIS_MNEMONIC_SHL:
        if (from.kind == PART_CONSTANT && from.constant <= SHIFTS_MAX)
            read_product(to, to.reg, INT64_C(1) << from.constant, out);
        return;
    case ZYDIS_MNEMONIC_IMUL:
        read_product(to, from.reg, part_of(d, 2).constant, out);
        return;
    case ZYDIS_MNEMONIC_LEA:
        out->action = to.bytes == 8 ? INSTRUCTION_ADDRESSES : INSTRUCTION_DOES_OTHER;
        return;
    case ZYDIS_MNEMONIC_PUSH:
        out->from = out->to;
        out->action = pushes_word ? INSTRUCTION_PUSHES : INSTRUCTION_DOES_OTHER;
        return;
    case ZYDIS_MNEMONIC_POP:
        out->from = out->to;
        out->action = pushes_word ? INSTRUCTION_POPS : INSTRUCTION_DOES_OTHER;
        return;
    case ZYDIS_MNEMONIC_LEAVE:
        out->action = INSTRUCTION_LEAVES;
        return;
    default:
        return;
    }
}

static void read_flow(const struct decoded *d, uint64_t address,
                      struct instruction_effects *out)
{
    const ZydisDecodedOperand *first = &d->operands[0];
    bool direct = d->instruction.operand_count_visible == 1 &&
                  first->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && first->imm.is_relative;
    if (direct)
        out->target = address + d->instruction.length + (uint64_t)first->imm.value.s;
    if (zydis_is_undefined(d) || d->instruction.mnemonic == ZYDIS_MNEMONIC_HLT)
        out->flow = INSTRUCTION_ENDS;
    switch (d->instruction.meta.category) {
    case ZYDIS_CATEGORY_RET:
        out->flow = INSTRUCTION_ENDS;
        return;
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_SYSCALL:
        out->flow = INSTRUCTION_CALLS;
        return;
    case ZYDIS_CATEGORY_UNCOND_BR:
        out->flow = direct ? INSTRUCTION_JUMPS : INSTRUCTION_ANYWHERE;
        return;
    case ZYDIS_CATEGORY_COND_BR:
        out->flow = INSTRUCTION_MAY_JUMP;
        return;
    default:
        return;
    }
}

// is_tracked_memory is false for the stack that pushes, calls and returns use, whose
// effects follow from the action.
static bool is_tracked_memory(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
           (operand->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
            (operand->mem.base != ZYDIS_REGISTER_RSP &&
             operand->mem.base != ZYDIS_REGISTER_RBP));
}

// read_memory stores the first memory operand.
static void read_memory(const struct decoded *d, struct instruction_effects *out)
{
    size_t i = 0;
    while (i < d->instruction.operand_count && !is_tracked_memory(&d->operands[i]))
        i++;
    if (i == d->instruction.operand_count)
        return;
    const ZydisDecodedOperand *operand = &d->operands[i];
    enum operand_access access = zydis_access(d, operand);
    out->memory = (struct instruction_memory){
        .used = true,
        .read = access == OPERAND_READ || access == OPERAND_UPDATED,
        .written = access == OPERAND_WRITTEN || access == OPERAND_UPDATED,
        .segmented = is_segmented(operand),
        .base = operand->mem.base == ZYDIS_REGISTER_RIP
                    ? INSTRUCTION_PC
                    : register_number(operand->mem.base),
        .index = register_number(operand->mem.index),
        .scale = operand->mem.scale,
        .bytes = operand->size <= 64 * 8 ? (uint8_t)(operand->size / 8) : 0,
        .displacement = operand->mem.disp.value
    };
}

enum ch_status instruction_read_effects_x86_64(const uint8_t *bytes, size_t size,
                                               uint64_t address,
                                               struct instruction_effects *out)
{
    struct decoded d;
    enum ch_status status = decode(bytes, size, &d);
    if (status != CH_OK)
        return status;
    *out = (struct instruction_effects){
        .length = d.instruction.length,
        .repeats = (d.instruction.attributes &
                    (ZYDIS_ATTRIB_HAS_LOCK | ZYDIS_ATTRIB_HAS_REP |
                     ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0,
    };
    for (size_t i = 0; i < d.instruction.operand_count; i++) {
        const ZydisDecodedOperand *operand = &d.operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        uint8_t number = register_number(operand->reg.value);
        if (number == INSTRUCTION_NO_REGISTER)
            continue;
        if (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            out->written |= UINT32_C(1) << number;
        if (i < d.instruction.operand_count_visible && !is_hint(&d))
            out->named |= UINT32_C(1) << number;
    }
    read_flow(&d, address, out);
    read_memory(&d, out);
    read_action(&d, out);
    return CH_OK;
}
