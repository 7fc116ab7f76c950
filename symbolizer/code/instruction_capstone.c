// SPDX-License-Identifier: Apache-2.0
//
// The text of AArch64 instructions, by Capstone. The library is loaded when the first
// one is printed, and stays loaded until the process ends.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <capstone/capstone.h>

#include "symbolizer/code/instruction.h"

// library has the functions of Capstone that are used.
static struct {
    __typeof__(cs_open) *open;
    __typeof__(cs_disasm) *disassemble;
    __typeof__(cs_free) *release;
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
                      { "cs_disasm", &library.disassemble },
                      { "cs_free", &library.release } };
    char name[32];
    (void)snprintf(name, sizeof(name), "libcapstone.so.%u", (unsigned)CS_API_MAJOR);
    void *opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    bool ok = opened != NULL;
    for (size_t i = 0; ok && i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = dlsym(opened, functions[i].name);
        memcpy(functions[i].function, &function, sizeof(function));
        ok = function != NULL;
    }
    has_capstone = ok && library.open(CS_ARCH_ARM64, CS_MODE_ARM, &handle) == CS_ERR_OK;
}

enum ch_status instruction_text_aarch64(const uint8_t bytes[static 4], uint64_t address,
                                        char out[static INSTRUCTION_TEXT_MAX])
{
    enum { LENGTH = 4 };
    cs_insn *insn = NULL;
    (void)pthread_once(&capstone_once, load_capstone);
    if (!has_capstone)
        return CH_ERR_UNSUPPORTED;
    if (library.disassemble(handle, bytes, LENGTH, address, 1, &insn) == 0)
        return CH_ERR_MALFORMED;
    (void)snprintf(out, INSTRUCTION_TEXT_MAX, "%s%s%.80s", insn->mnemonic,
                   insn->op_str[0] != 0 ? " " : "", insn->op_str);
    library.release(insn, 1);
    return CH_OK;
}
