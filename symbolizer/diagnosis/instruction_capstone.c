// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "symbolizer/diagnosis/instruction.h"
#include "symbolizer/diagnosis/instruction_compare.h"
#include "symbolizer/diagnosis/instruction_parts.h"

// library has the functions of capstone that are used.
struct library {
    __typeof__(cs_open) *open;
    __typeof__(cs_option) *option;
    __typeof__(cs_malloc) *malloc;
    __typeof__(cs_disasm_iter) *disasm_iter;
    __typeof__(cs_reg_name) *reg_name;
    __typeof__(cs_regs_access) *regs_access;
};

static bool capstone_find_function(void *library, const char *name, void *out)
{
    void *function = dlsym(library, name);
    // A function pointer is copied from dlsym's result by its bytes, as POSIX
    // recommends.
    memcpy(out, &function, sizeof(function));
    return function != NULL;
}

// capstone_load loads the version of the library that was compiled against: structs of
// the next one differ.
static bool capstone_load(struct library *out)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "libcapstone.so.%d", CS_API_MAJOR);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return library != NULL && capstone_find_function(library, "cs_open", &out->open) &&
           capstone_find_function(library, "cs_option", &out->option) &&
           capstone_find_function(library, "cs_malloc", &out->malloc) &&
           capstone_find_function(library, "cs_disasm_iter", &out->disasm_iter) &&
           capstone_find_function(library, "cs_reg_name", &out->reg_name) &&
           capstone_find_function(library, "cs_regs_access", &out->regs_access);
}

// The library, a disassembler, and the instruction that it has decoded last, which stay
// open until the process ends.
static struct library opened_library;
static csh opened_handle;
static cs_insn *opened_instruction; // NULL: there is no library

static bool capstone_in_group(const cs_detail *detail, uint8_t group)
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
    if (capstone_in_group(from->detail, CS_GRP_RET))
        return INSTRUCTION_RETURN;
    return capstone_in_group(from->detail, CS_GRP_CALL) ||
                   capstone_in_group(from->detail, CS_GRP_JUMP)
               ? INSTRUCTION_BRANCH
               : INSTRUCTION_ORDINARY;
}

static void copy_name(unsigned number, char out[static INSTRUCTION_NAME_MAX])
{
    const char *name =
        number != 0 ? opened_library.reg_name(opened_handle, number) : NULL;
    (void)snprintf(out, INSTRUCTION_NAME_MAX, "%s", name != NULL ? name : "");
}

// access_of_operand picks the access to a memory operand from those of its instruction.
// The operands of string instructions are told by their registers.
static enum operand_access access_of_operand(const struct operand_accesses *accesses,
                                             const cs_x86_op *operand)
{
    if (accesses->source == OPERAND_UNKNOWN && accesses->destination == OPERAND_UNKNOWN)
        return accesses->memory;
    return operand->mem.base == X86_REG_RDI || operand->mem.base == X86_REG_EDI
               ? accesses->destination
               : accesses->source;
}

// is_of_scalars says whether a mnemonic ends in the letters of one kind of
// floating-point scalar. Those of packed integers, such as pminsd, end so too.
static bool is_of_scalars(const char *mnemonic, const char *letters)
{
    size_t size = strlen(mnemonic);
    bool packed = mnemonic[0] == 'p' || strncmp(mnemonic, "vp", 2) == 0;
    return size > 2 && !packed && strcmp(mnemonic + size - 2, letters) == 0;
}

static bool is_of_64_bits(const cs_insn *from)
{
    return from->detail->x86.rex & 8; // REX.W
}

static bool is_of_16_bits(const cs_insn *from)
{
    return from->detail->x86.prefix[2] == X86_PREFIX_OPSIZE && !is_of_64_bits(from);
}

// fixed_size gives the size of operands that the library has no size for, or a wrong
// one. With an operand size of 16 bits, the state of the x87 is shorter. 0: it is
// another one.
static uint16_t fixed_size(const cs_insn *from)
{
    enum { SELECTOR = 2, SAVED = 576 }; // SAVED: at least, for the processor's state
    bool is_short = is_of_16_bits(from);
    switch (from->id) {
    case X86_INS_LSS:
    case X86_INS_LFS:
    case X86_INS_LGS:
    case X86_INS_LJMP:
    case X86_INS_LCALL:
        return (is_short ? 2 : is_of_64_bits(from) ? 8 : 4) + SELECTOR;
    case X86_INS_XSAVE:
    case X86_INS_XSAVE64:
    case X86_INS_XSAVEC:
    case X86_INS_XSAVEC64:
    case X86_INS_XSAVEOPT:
    case X86_INS_XSAVEOPT64:
    case X86_INS_XSAVES:
    case X86_INS_XSAVES64:
    case X86_INS_XRSTOR:
    case X86_INS_XRSTOR64:
    case X86_INS_XRSTORS:
    case X86_INS_XRSTORS64:
        return SAVED;
    case X86_INS_PUSH:
    case X86_INS_POP:
        return is_of_64_bits(from) ? 8 : 0;
    case X86_INS_FXSAVE:
    case X86_INS_FXSAVE64:
    case X86_INS_FXRSTOR:
    case X86_INS_FXRSTOR64:
        return 512;
    case X86_INS_FNSAVE:
    case X86_INS_FRSTOR:
        return is_short ? 94 : 108;
    case X86_INS_FNSTENV:
    case X86_INS_FLDENV:
        return is_short ? 14 : 28;
    case X86_INS_FNSTSW:
    case X86_INS_LSL:
    case X86_INS_LAR:
        return 2;
    case X86_INS_BSF: // version 5 takes 4 bytes where there is a prefix F2 too
    case X86_INS_BSR:
        return from->detail->x86.operands[0].size;
    case X86_INS_VPMOVQB:
    case X86_INS_VPMOVSQB:
    case X86_INS_VPMOVUSQB:
        return from->detail->x86.operands[0].size == 16 ? 8 : 0;
    case X86_INS_VPMOVSXBQ:
    case X86_INS_VPMOVZXBQ:
        return from->detail->x86.operands[1].size == 16 ? 8 : 0;
    default:
        return 0;
    }
}

// evex_size corrects the sizes of instructions with an EVEX prefix. For those that
// ignore its W bit, the library takes vectors of 256 bits for 128 where W is set, and
// where it chooses a scalar's size, the library does not look at it; 0: nothing is
// wrong.
static uint16_t evex_size(const cs_insn *from, const cs_x86_op *operand)
{
    const cs_x86 *x86 = &from->detail->x86;
    if (from->bytes[0] != 0x62)
        return 0;
    bool wide = from->bytes[2] & 0x80;
    bool is_256 = (from->bytes[3] >> 5 & 3) == 1;
    bool xmm = x86->op_count > 1 && x86->operands[1].type == X86_OP_REG &&
               x86->operands[1].size == 16;
    bool element =
        is_of_scalars(from->mnemonic, "ss") || is_of_scalars(from->mnemonic, "sd");
    if (wide && element)
        return 8;
    if (from->id == X86_INS_VMOVQ)
        return 8;
    return is_256 && xmm && !element && operand->size == 16 ? 32 : 0;
}

// size_of_operand gives the bytes of a memory operand. Those of scalars in vector
// registers are the last letters of the instruction.
static uint16_t size_of_operand(const cs_insn *from, const cs_x86_op *operand)
{
    bool is_mmx = from->id == X86_INS_PUNPCKLBW || from->id == X86_INS_PUNPCKLWD ||
                  from->id == X86_INS_PUNPCKLDQ;
    uint16_t size = fixed_size(from);
    if (size == 0)
        size = evex_size(from, operand);
    if (size == 0 && operand->size == 16 && is_of_scalars(from->mnemonic, "ss"))
        size = 4;
    if (size == 0 && operand->size == 16 && is_of_scalars(from->mnemonic, "sd"))
        size = 8;
    if (size == 0 && operand->size == 8 && is_mmx)
        size = 4;
    return size != 0 ? size : operand->size;
}

static void copy_operand(const cs_x86_op *from, struct instruction_operand *out)
{
    *out = (struct instruction_operand){ .size = from->size };
    if (from->type == X86_OP_REG)
        copy_name(from->reg, out->name);
    if (from->type != X86_OP_MEM)
        return;
    out->memory = true;
    out->scale = (uint8_t)from->mem.scale;
    out->displacement = from->mem.disp;
    copy_name(from->mem.segment, out->segment);
    copy_name(from->mem.base, out->base);
    copy_name(from->mem.index, out->index);
}

// copy_implied adds the memory operand that an instruction has without naming it: the
// top of the stack, or what a masked store goes to.
static void copy_implied(const cs_insn *from, struct instruction *out)
{
    uint16_t word = is_of_16_bits(from) ? 2 : 8;
    struct instruction_operand implied = { .memory = true,
                                           .size = word,
                                           .base = "rsp" };
    switch (from->id) {
    case X86_INS_PUSH:
    case X86_INS_PUSHFQ:
    case X86_INS_PUSHF:
    case X86_INS_CALL:
        implied.access = OPERAND_WRITTEN;
        implied.displacement = -(int64_t)word;
        break;
    case X86_INS_POP:
    case X86_INS_POPFQ:
    case X86_INS_POPF:
    case X86_INS_RET:
        implied.access = OPERAND_READ;
        break;
    case X86_INS_LEAVE:
        implied.access = OPERAND_READ;
        (void)snprintf(implied.base, sizeof(implied.base), "rbp");
        break;
    case X86_INS_MASKMOVDQU:
    case X86_INS_VMASKMOVDQU:
    case X86_INS_MASKMOVQ:
        implied.access = OPERAND_WRITTEN;
        implied.size = from->id == X86_INS_MASKMOVQ ? 8 : 16;
        (void)snprintf(implied.base, sizeof(implied.base), "rdi");
        break;
    default:
        return;
    }
    if (out->operand_count < INSTRUCTION_OPERANDS_MAX)
        out->operands[out->operand_count++] = implied;
}

static void copy_instruction(const cs_insn *from, struct instruction *out)
{
    const cs_x86 *x86 = &from->detail->x86;
    struct operand_accesses accesses = operand_access_find(from->bytes, from->size);
    *out = (struct instruction){ .length = (uint8_t)from->size, .form = form_of(from) };
    (void)snprintf(out->mnemonic, sizeof(out->mnemonic), "%s", from->mnemonic);
    (void)snprintf(out->text, sizeof(out->text), "%s%s%.90s", from->mnemonic,
                   from->op_str[0] != 0 ? " " : "", from->op_str);
    for (size_t i = 0; i < x86->op_count && i < INSTRUCTION_OPERANDS_MAX; i++) {
        struct instruction_operand *operand = &out->operands[out->operand_count++];
        copy_operand(&x86->operands[i], operand);
        if (!operand->memory)
            continue;
        operand->access = access_of_operand(&accesses, &x86->operands[i]);
        operand->size = size_of_operand(from, &x86->operands[i]);
    }
    copy_implied(from, out);
}

static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void open_library_once(void)
{
    struct library *library = &opened_library;
    if (capstone_load(library) &&
        library->open(CS_ARCH_X86, CS_MODE_64, &opened_handle) == CS_ERR_OK &&
        library->option(opened_handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK)
        opened_instruction = library->malloc(opened_handle);
}

// disassemble decodes the instruction at the start of bytes, which is at address. The
// result is valid until the next call. CH_ERR_UNSUPPORTED: there is no library.
static enum ch_status disassemble(const uint8_t *bytes, size_t size, uint64_t address,
                                  const cs_insn **out)
{
    (void)pthread_once(&library_once, open_library_once);
    if (opened_instruction == NULL)
        return CH_ERR_UNSUPPORTED;
    *out = opened_instruction;
    return opened_library.disasm_iter(opened_handle, &bytes, &size, &address,
                                      opened_instruction)
               ? CH_OK
               : CH_ERR_MALFORMED;
}

enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                  struct instruction *out)
{
    const cs_insn *found;
    enum ch_status status = disassemble(bytes, size, 0, &found);
    if (status == CH_ERR_MALFORMED)
        return instruction_compare_decode(bytes, size, out);
    if (status == CH_OK)
        copy_instruction(found, out);
    return status;
}

// register_number gives the DWARF number of the general register that reg is, or is a
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

static void note_written(unsigned reg, struct instruction_effects *out)
{
    uint8_t number = register_number(reg);
    if (number != INSTRUCTION_NO_REGISTER)
        out->written |= (uint16_t)(1u << number);
}

// note_unlisted adds the registers that the library does not list as written.
static void note_unlisted(const cs_insn *from, struct instruction_effects *out)
{
    switch (from->id) {
    case X86_INS_CMPXCHG:
    case X86_INS_XLATB:
        note_written(X86_REG_RAX, out);
        return;
    case X86_INS_MULX:
        note_written(from->detail->x86.operands[1].reg, out);
        return;
    case X86_INS_ENTER:
        note_written(X86_REG_RSP, out);
        note_written(X86_REG_RBP, out);
        return;
    default:
        return;
    }
}

static void read_flow(const cs_insn *from, struct instruction_effects *out)
{
    const cs_x86 *x86 = &from->detail->x86;
    bool direct = x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;
    if (direct && (capstone_in_group(from->detail, CS_GRP_CALL) ||
                   capstone_in_group(from->detail, CS_GRP_JUMP)))
        out->target = (uint64_t)x86->operands[0].imm;
    if (capstone_in_group(from->detail, CS_GRP_RET) ||
        strncmp(from->mnemonic, "ud", 2) == 0 || from->id == X86_INS_HLT)
        out->flow = INSTRUCTION_ENDS;
    else if (capstone_in_group(from->detail, CS_GRP_CALL) ||
             from->id == X86_INS_SYSCALL)
        out->flow = INSTRUCTION_CALLS;
    else if (capstone_in_group(from->detail, CS_GRP_JUMP) && !direct)
        out->flow = INSTRUCTION_ANYWHERE;
    else if (capstone_in_group(from->detail, CS_GRP_JUMP))
        out->flow = from->id == X86_INS_JMP ? INSTRUCTION_JUMPS : INSTRUCTION_MAY_JUMP;
}

// capstone_read_memory stores the first memory operand.
static void capstone_read_memory(const cs_insn *from, struct instruction_effects *out)
{
    const cs_x86 *x86 = &from->detail->x86;
    uint8_t at = 0;
    while (at < x86->op_count && x86->operands[at].type != X86_OP_MEM)
        at++;
    if (at == x86->op_count)
        return;
    const cs_x86_op *operand = &x86->operands[at];
    struct operand_accesses accesses = operand_access_find(from->bytes, from->size);
    enum operand_access access = access_of_operand(&accesses, operand);
    // What is not known may be either.
    bool unknown = access == OPERAND_UNKNOWN;
    out->memory = (struct instruction_memory){
        .used = true,
        .read = unknown || access == OPERAND_READ || access == OPERAND_UPDATED,
        .written = unknown || access == OPERAND_WRITTEN || access == OPERAND_UPDATED,
        .base = operand->mem.base == X86_REG_RIP ? INSTRUCTION_PC
                                                 : register_number(operand->mem.base),
        .index = register_number(operand->mem.index),
        .scale = (uint8_t)operand->mem.scale,
        .bytes = operand->size <= 64 ? operand->size : 0,
        .displacement = operand->mem.disp
    };
}

// operation_of tells apart the instructions that the rules for effects differ for. The
// library's tables of writes are incomplete, so an instruction counts as writing its
// first operand unless it is known not to.
static enum instruction_operation operation_of(const cs_insn *from)
{
    switch (from->id) {
    case X86_INS_CMP:
    case X86_INS_TEST:
    case X86_INS_BT:
    case X86_INS_NOP:
    case X86_INS_MUL:
    case X86_INS_DIV:
    case X86_INS_IDIV:
        return INSTRUCTION_READS;
    case X86_INS_IMUL: // with one operand it writes rax and rdx
        return from->detail->x86.op_count == 1 ? INSTRUCTION_READS
                                               : INSTRUCTION_COMPUTES;
    case X86_INS_MOV:
    case X86_INS_MOVABS:
        return INSTRUCTION_COPIES;
    case X86_INS_MOVZX:
    case X86_INS_MOVSX:
    case X86_INS_MOVSXD:
        return INSTRUCTION_EXTENDS;
    case X86_INS_CDQE:
        return INSTRUCTION_EXTENDS_EAX;
    case X86_INS_ADD:
        return INSTRUCTION_ADDITION;
    case X86_INS_SUB:
        return INSTRUCTION_SUBTRACTION;
    case X86_INS_XOR:
        return INSTRUCTION_XOR;
    case X86_INS_LEA:
        return INSTRUCTION_ADDRESS;
    case X86_INS_XCHG:
    case X86_INS_XADD:
        return INSTRUCTION_EXCHANGES;
    case X86_INS_PUSH:
        return INSTRUCTION_PUSH;
    case X86_INS_POP:
        return INSTRUCTION_POP;
    case X86_INS_LEAVE:
        return INSTRUCTION_LEAVE;
    default:
        return INSTRUCTION_COMPUTES;
    }
}

static struct instruction_part part_of_operand(const cs_x86_op *operand)
{
    struct instruction_part part = { .bytes = operand->size };
    if (operand->type == X86_OP_REG) {
        part.reg = register_number(operand->reg);
        if (part.reg != INSTRUCTION_NO_REGISTER)
            part.kind = INSTRUCTION_PART_REGISTER;
        part.high = operand->reg == X86_REG_AH || operand->reg == X86_REG_BH ||
                    operand->reg == X86_REG_CH || operand->reg == X86_REG_DH;
    }
    if (operand->type == X86_OP_MEM) {
        part.kind = INSTRUCTION_PART_MEMORY;
        part.segmented = operand->mem.segment != X86_REG_INVALID;
    }
    if (operand->type == X86_OP_IMM) {
        part.kind = INSTRUCTION_PART_CONSTANT;
        part.constant = operand->imm;
    }
    return part;
}

enum ch_status instruction_library_effects(const uint8_t *bytes, size_t size,
                                           uint64_t address,
                                           struct instruction_effects *out)
{
    const cs_insn *found;
    cs_regs read;
    cs_regs written;
    uint8_t read_count;
    uint8_t written_count = 0;
    enum ch_status status = disassemble(bytes, size, address, &found);
    if (status != CH_OK)
        return status;
    *out = (struct instruction_effects){ .length = (uint8_t)found->size,
                                         .repeats = found->detail->x86.prefix[0] != 0 };
    if (opened_library.regs_access(opened_handle, found, read, &read_count, written,
                                   &written_count) != CS_ERR_OK)
        status = CH_ERR_UNSUPPORTED;
    for (uint8_t i = 0; i < written_count; i++)
        note_written(written[i], out);
    note_unlisted(found, out);
    read_flow(found, out);
    capstone_read_memory(found, out);
    const cs_x86 *x86 = &found->detail->x86;
    struct instruction_parts parts = { .operation = operation_of(found) };
    while (parts.count < x86->op_count && parts.count < INSTRUCTION_OPERANDS_MAX) {
        parts.part[parts.count] = part_of_operand(&x86->operands[parts.count]);
        parts.count++;
    }
    instruction_parts_effects(&parts, out);
    return status;
}
