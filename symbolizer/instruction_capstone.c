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

enum ch_status instruction_decode(const uint8_t *bytes, size_t size,
                                  struct instruction *out)
{
    static struct library library;
    static csh handle; // for the rest of the process, as the library is
    cs_insn *found;
    if (handle == 0 && (!load(&library) ||
                        library.open(CS_ARCH_X86, CS_MODE_64, &handle) != CS_ERR_OK ||
                        library.option(handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK))
        return CH_ERR_UNSUPPORTED;
    if (library.disasm(handle, bytes, size, 0, 1, &found) != 1)
        return CH_ERR_MALFORMED;
    copy_instruction(&library, handle, found, out);
    library.free(found, 1);
    return CH_OK;
}
