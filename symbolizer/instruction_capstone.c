// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "symbolizer/instruction.h"

// What is called of the library.
struct library {
    __typeof__(cs_open) *open;
    __typeof__(cs_option) *option;
    __typeof__(cs_disasm) *disasm;
    __typeof__(cs_reg_name) *reg_name;
    __typeof__(cs_regs_access) *regs_access;
    __typeof__(cs_free) *free;
};

static bool find_function(void *library, const char *name, void *out)
{
    void *function = dlsym(library, name);
    // POSIX has dlsym's result converted to a function pointer through its bytes.
    memcpy(out, &function, sizeof(function));
    return function != NULL;
}

// load loads the library whose headers these are: the next one's structs differ.
static bool load(struct library *out)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "libcapstone.so.%d", CS_API_MAJOR);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library != NULL && find_function(library, "cs_open", &out->open) &&
           find_function(library, "cs_option", &out->option) &&
           find_function(library, "cs_disasm", &out->disasm) &&
           find_function(library, "cs_reg_name", &out->reg_name) &&
           find_function(library, "cs_regs_access", &out->regs_access) &&
           find_function(library, "cs_free", &out->free);
}

static bool in_group(const cs_detail *detail, uint8_t group)
{
    for (size_t i = 0; i < detail->groups_count; i++) {
        if (detail->groups[i] == group)
            return true;
    }
    return false;
}

static enum instruction_form form_of(const cs_insn *from)
{
    if (strncmp(from->mnemonic, "ud", 2) == 0) // ud0, ud1 and ud2
        return INSTRUCTION_UNDEFINED;
    if (from->id == X86_INS_DIV || from->id == X86_INS_IDIV)
        return INSTRUCTION_DIVIDE;
    if (in_group(from->detail, CS_GRP_RET))
        return INSTRUCTION_RETURN;
    return in_group(from->detail, CS_GRP_CALL) || in_group(from->detail, CS_GRP_JUMP)
               ? INSTRUCTION_BRANCH
               : INSTRUCTION_ORDINARY;
}

static void copy_name(const struct library *library, csh handle, unsigned number,
                      char out[static INSTRUCTION_NAME_MAX])
{
    const char *name = number != 0 ? library->reg_name(handle, number) : NULL;
    (void)snprintf(out, INSTRUCTION_NAME_MAX, "%s", name != NULL ? name : "");
}

static void copy_operand(const struct library *library, csh handle,
                         const cs_x86_op *from, struct instruction_operand *out)
{
    *out = (struct instruction_operand){ .size = from->size };
    if (from->type == X86_OP_REG)
        copy_name(library, handle, from->reg, out->name);
    if (from->type != X86_OP_MEM)
        return;
    out->memory = true;
    out->written = (from->access & CS_AC_WRITE) != 0;
    out->scale = (uint8_t)from->mem.scale;
    out->displacement = from->mem.disp;
    copy_name(library, handle, from->mem.segment, out->segment);
    copy_name(library, handle, from->mem.base, out->base);
    copy_name(library, handle, from->mem.index, out->index);
}

static void copy_instruction(const struct library *library, csh handle,
                             const cs_insn *from, struct instruction *out)
{
    const cs_x86 *x86 = &from->detail->x86;
    *out = (struct instruction){ .length = (uint8_t)from->size, .form = form_of(from) };
    (void)snprintf(out->mnemonic, sizeof(out->mnemonic), "%s", from->mnemonic);
    (void)snprintf(out->text, sizeof(out->text), "%s%s%.90s", from->mnemonic,
                   from->op_str[0] != 0 ? " " : "", from->op_str);
    for (size_t i = 0; i < x86->op_count && i < INSTRUCTION_OPERANDS_MAX; i++)
        copy_operand(library, handle, &x86->operands[i],
                     &out->operands[out->operand_count++]);
}

// open_library gives the library, and a disassembler, for the rest of the process.
static const struct library *open_library(csh *out_handle)
{
    static struct library library;
    static csh handle;
    if (handle == 0 && (!load(&library) ||
                        library.open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK ||
                        library.option(handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK))
        return NULL;
    *out_handle = handle;
    return &library;
}

enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                  struct instruction *out)
{
    csh handle;
    cs_insn *found;
    const struct library *library = open_library(&handle);
    if (library == NULL)
        return CH_ERR_UNSUPPORTED;
    if (library->disasm(handle, bytes, size, 0, 1, &found) != 1)
        return CH_ERR_MALFORMED;
    copy_instruction(library, handle, found, out);
    library->free(found, 1);
    return CH_OK;
}

// register_number gives the DWARF number of the general register that reg is or is a
// part of.
static uint8_t register_number(unsigned reg)
{
    static const uint16_t parts[][5] = {
        { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
        { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
        { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
        { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
        { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
        { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
        { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
        { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
        { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
        { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
        { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
        { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
        { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
        { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
        { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
        { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
    };
    for (uint8_t i = 0; reg != 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
        for (size_t j = 0; j < 5; j++)
            if (parts[i][j] == reg)
                return i;
    return INSTRUCTION_NO_REGISTER;
}

// writes_first is whether an instruction writes its first operand. The library's tables
// of what is written have gaps, so whatever is not known to leave it alone counts.
static bool writes_first(const cs_insn *from)
{
    switch (from->id) {
    case X86_INS_CMP:
    case X86_INS_TEST:
    case X86_INS_PUSH:
    case X86_INS_BT:
    case X86_INS_NOP:
        return false;
    default:
        return !in_group(from->detail, CS_GRP_CALL) &&
               !in_group(from->detail, CS_GRP_JUMP);
    }
}

static void note_written(unsigned reg, struct instruction_effects *out)
{
    uint8_t number = register_number(reg);
    if (number != INSTRUCTION_NO_REGISTER)
        out->written |= (uint16_t)(1u << number);
}

static void read_flow(const cs_insn *from, struct instruction_effects *out)
{
    const cs_x86 *x86 = &from->detail->x86;
    bool direct = x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;
    if (direct)
        out->target = (uint64_t)x86->operands[0].imm;
    if (in_group(from->detail, CS_GRP_RET) || strncmp(from->mnemonic, "ud", 2) == 0 ||
        from->id == X86_INS_HLT)
        out->flow = INSTRUCTION_ENDS;
    else if (in_group(from->detail, CS_GRP_CALL))
        out->flow = INSTRUCTION_CALLS;
    else if (in_group(from->detail, CS_GRP_JUMP) && !direct)
        out->flow = INSTRUCTION_ANYWHERE;
    else if (in_group(from->detail, CS_GRP_JUMP))
        out->flow = from->id == X86_INS_JMP ? INSTRUCTION_JUMPS : INSTRUCTION_MAY_JUMP;
}

// read_copy notes a move from one general register to another.
static void read_copy(const cs_insn *from, struct instruction_effects *out)
{
    const cs_x86 *x86 = &from->detail->x86;
    out->copies_from = out->copies_to = INSTRUCTION_NO_REGISTER;
    if (from->id != X86_INS_MOV || x86->op_count != 2 ||
        x86->operands[0].type != X86_OP_REG || x86->operands[1].type != X86_OP_REG)
        return;
    out->copies_to = register_number(x86->operands[0].reg);
    out->copies_from = register_number(x86->operands[1].reg);
    out->copied_bytes = x86->operands[0].size;
}

enum ch_status instruction_read_effects(const uint8_t *bytes, size_t size,
                                        uint64_t address,
                                        struct instruction_effects *out)
{
    csh handle;
    cs_insn *found;
    cs_regs read;
    cs_regs written;
    uint8_t read_count;
    uint8_t written_count = 0;
    const struct library *library = open_library(&handle);
    if (library == NULL)
        return CH_ERR_UNSUPPORTED;
    if (library->disasm(handle, bytes, size, address, 1, &found) != 1)
        return CH_ERR_MALFORMED;
    *out = (struct instruction_effects){ .length = (uint8_t)found->size,
                                         .pops = found->id == X86_INS_POP };
    enum ch_status status = CH_OK;
    if (library->regs_access(handle, found, read, &read_count, written,
                             &written_count) != CS_ERR_OK)
        status = CH_ERR_UNSUPPORTED;
    for (uint8_t i = 0; i < written_count; i++)
        note_written(written[i], out);
    const cs_x86 *x86 = &found->detail->x86;
    if (x86->op_count > 0 && x86->operands[0].type == X86_OP_REG && writes_first(found))
        note_written(x86->operands[0].reg, out);
    read_flow(found, out);
    read_copy(found, out);
    library->free(found, 1);
    return status;
}
