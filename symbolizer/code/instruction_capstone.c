// SPDX-License-Identifier: Apache-2.0
//
// AArch64 instructions, decoded by Capstone. The library is loaded when the first one
// is decoded, and stays loaded until the process ends.
//
// Capstone gives the text and the parts of an address. It does not give the size of a
// memory operand, so that follows from the mnemonic and the registers.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <capstone/capstone.h>

#include "symbolizer/code/instruction.h"

enum { LENGTH = 4 };

// library has the functions of Capstone that are used.
static struct {
    __typeof__(cs_open) *open;
    __typeof__(cs_option) *option;
    __typeof__(cs_disasm) *disassemble;
    __typeof__(cs_free) *release;
    __typeof__(cs_reg_name) *register_name;
} library;

static csh handle;
static bool has_capstone;
static pthread_once_t capstone_once = PTHREAD_ONCE_INIT;

// load_capstone loads the version that was compiled against: structs of others differ.
static void load_capstone(void)
{
    const struct {
        const char *name;
        void *function;
    } functions[] = { { "cs_open", &library.open },
                      { "cs_option", &library.option },
                      { "cs_disasm", &library.disassemble },
                      { "cs_free", &library.release },
                      { "cs_reg_name", &library.register_name } };
    char name[32];
    (void)snprintf(name, sizeof(name), "libcapstone.so.%u", (unsigned)CS_API_MAJOR);
    void *opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    bool ok = opened != NULL;
    for (size_t i = 0; ok && i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(opened, functions[i].name);
        memcpy(functions[i].function, &function, sizeof(function));
        ok = function != NULL;
    }
    has_capstone = ok &&
                   library.open(CS_ARCH_ARM64, CS_MODE_ARM, &handle) == CS_ERR_OK &&
                   library.option(handle, CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK;
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

// memory_access gives how a load or store accesses memory. Of atomic operations it
// depends on the memory whether the read or the write fails.
static enum operand_access memory_access(const char *mnemonic)
{
    static const char *const atomic[] = { "add", "clr", "eor", "set",
                                          "sma", "smi", "uma", "umi" };
    if (begins_with(mnemonic, "prf"))
        return OPERAND_UNUSED;
    if (!begins_with(mnemonic, "ld") && !begins_with(mnemonic, "st"))
        return OPERAND_UNKNOWN;
    for (size_t i = 0; i < sizeof(atomic) / sizeof(atomic[0]); i++)
        if (begins_with(mnemonic + 2, atomic[i]))
            return OPERAND_UNKNOWN;
    return mnemonic[0] == 'l' ? OPERAND_READ : OPERAND_WRITTEN;
}

static uint16_t element_bytes(char type)
{
    switch (type) {
    case 'b':
        return 1;
    case 'h':
        return 2;
    case 's':
        return 4;
    case 'd':
        return 8;
    default:
        return 0;
    }
}

// list_bytes gives the bytes of the vectors of a list: "{v0.16b, v1.16b}", or one
// element of each: "{v0.s}[1]" and those of ld1r and its kin. 0: they are not known.
static uint16_t list_bytes(const char *list, bool replicates)
{
    uint16_t bytes = 0;
    if (list[1] != 'v' && list[2] != 'v') // a vector of SVE, of any length
        return 0;
    for (const char *c = list; *c != 0 && *c != '}'; c++) {
        char *type;
        if (*c != '.')
            continue;
        unsigned long lanes = strtoul(c + 1, &type, 10);
        bool whole = lanes != 0 && !replicates;
        bytes += (uint16_t)(element_bytes(*type) * (whole ? lanes : 1));
    }
    return bytes;
}

static uint16_t register_bytes(const char *name)
{
    switch (name[0]) {
    case 'x':
        return 8;
    case 'w':
        return 4;
    case 'q':
        return 16;
    default:
        return element_bytes(name[0]);
    }
}

// memory_bytes gives the bytes that are accessed. moved: the last register that is
// transferred. 0: they are not known.
static uint16_t memory_bytes(const cs_insn *insn, const char *moved)
{
    const char *mnemonic = insn->mnemonic;
    size_t size = strlen(mnemonic);
    const char *list = strchr(insn->op_str, '{');
    bool is_pair = strchr(mnemonic, 'p') != NULL && !begins_with(mnemonic, "swp") &&
                   !begins_with(mnemonic, "ldap");
    if (list != NULL)
        return list_bytes(list, mnemonic[size - 1] == 'r');
    if (strchr(mnemonic, 'g') != NULL || strstr(mnemonic, "64b") != NULL)
        return 0; // tags of memory, and blocks of 64 bytes
    if (begins_with(mnemonic, "ldra"))
        return 8; // through a signed pointer
    uint16_t bytes = register_bytes(moved);
    if (mnemonic[size - 1] == 'b' || mnemonic[size - 1] == 'h')
        bytes = element_bytes(mnemonic[size - 1]);
    else if (mnemonic[size - 1] == 'w' && mnemonic[size - 2] == 's')
        bytes = 4;
    return is_pair ? 2 * bytes : bytes;
}

// copy_register copies a name as reports have it, whatever version of Capstone gives
// it.
static void copy_register(unsigned from, char out[static INSTRUCTION_NAME_MAX])
{
    const char *name = from == ARM64_REG_FP   ? "x29"
                       : from == ARM64_REG_LR ? "x30"
                       : from != 0            ? library.register_name(handle, from)
                                              : NULL;
    (void)snprintf(out, INSTRUCTION_NAME_MAX, "%s", name != NULL ? name : "");
}

// copy_operands copies the registers and the memory operand, which is after those that
// are transferred.
static void copy_operands(const cs_insn *insn, struct instruction *out)
{
    const cs_arm64 *all = &insn->detail->arm64;
    char moved[INSTRUCTION_NAME_MAX] = "";
    for (size_t i = 0;
         i < all->op_count && out->operand_count < INSTRUCTION_OPERANDS_MAX; i++) {
        const cs_arm64_op *from = &all->operands[i];
        struct instruction_operand *operand = &out->operands[out->operand_count];
        if (from->type == ARM64_OP_REG) {
            copy_register(from->reg, operand->name);
            (void)snprintf(moved, sizeof(moved), "%s", operand->name);
        } else if (from->type == ARM64_OP_MEM) {
            operand->memory = true;
            operand->access = memory_access(insn->mnemonic);
            operand->size = memory_bytes(insn, moved);
            operand->scale = (uint8_t)(1u << (from->shift.value & 7));
            operand->index_signed = from->ext == ARM64_EXT_SXTW;
            operand->displacement = from->mem.disp;
            copy_register(from->mem.base, operand->base);
            copy_register(from->mem.index, operand->index);
        } else {
            continue;
        }
        out->operand_count++;
    }
}

// capstone_decode decodes the instruction at address, which the caller releases.
static enum ch_status capstone_decode(const uint8_t *bytes, size_t size,
                                      uint64_t address, cs_insn **out)
{
    (void)pthread_once(&capstone_once, load_capstone);
    if (!has_capstone)
        return CH_ERR_UNSUPPORTED;
    return size >= LENGTH &&
                   library.disassemble(handle, bytes, LENGTH, address, 1, out) != 0
               ? CH_OK
               : CH_ERR_MALFORMED;
}

static void capstone_text(const cs_insn *insn, char out[static INSTRUCTION_TEXT_MAX])
{
    (void)snprintf(out, INSTRUCTION_TEXT_MAX, "%s%s%.80s", insn->mnemonic,
                   insn->op_str[0] != 0 ? " " : "", insn->op_str);
}

enum ch_status instruction_decode_aarch64(const uint8_t *bytes, size_t size,
                                          struct instruction *out)
{
    cs_insn *insn = NULL;
    enum ch_status status = capstone_decode(bytes, size, 0, &insn);
    if (status != CH_OK)
        return status;
    *out = (struct instruction){ .length = LENGTH };
    if (strcmp(insn->mnemonic, "udf") == 0)
        out->form = INSTRUCTION_UNDEFINED;
    capstone_text(insn, out->text);
    copy_operands(insn, out);
    library.release(insn, 1);
    return CH_OK;
}

enum ch_status instruction_print_aarch64(const uint8_t *bytes, size_t size,
                                         uint64_t address,
                                         char out[static INSTRUCTION_TEXT_MAX],
                                         size_t *out_length)
{
    cs_insn *insn = NULL;
    enum ch_status status = capstone_decode(bytes, size, address, &insn);
    if (status != CH_OK)
        return status;
    capstone_text(insn, out);
    library.release(insn, 1);
    *out_length = LENGTH;
    return CH_OK;
}
