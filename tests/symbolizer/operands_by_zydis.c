// SPDX-License-Identifier: Apache-2.0
//
// operands_by_zydis: reads encodings of instructions, a line of hex each, and prints
// what the tables of Zydis say of the memory operand at rax: read, write or update (?
// where it has none), its bytes, and the instruction's name.
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

static const char *action_of(ZydisOperandActions actions)
{
    int reads = (actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    int writes = (actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    return reads && writes ? "update" : writes ? "write" : reads ? "read" : "unused";
}

static void describe(const ZydisDecoder *decoder, const unsigned char *bytes,
                     size_t size)
{
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(
            ZydisDecoderDecodeFull(decoder, bytes, size, &instruction, operands)) ||
        instruction.length != size) {
        puts("? 0 ?");
        return;
    }
    for (int i = 0; i < instruction.operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY ||
            operand->mem.base != ZYDIS_REGISTER_RAX)
            continue;
        printf("%s %u %s\n",
               operand->mem.type == ZYDIS_MEMOP_TYPE_MEM ? action_of(operand->actions)
                                                         : "unused",
               operand->size / 8u, ZydisMnemonicGetString(instruction.mnemonic));
        return;
    }
    puts("? 0 ?");
}

int main(void)
{
    char line[128];
    ZydisDecoder decoder;
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        unsigned char bytes[16];
        size_t size = 0;
        unsigned byte;
        while (size < sizeof(bytes) && sscanf(line + 2 * size, "%2x", &byte) == 1)
            bytes[size++] = (unsigned char)byte;
        describe(&decoder, bytes, size);
    }
    return 0;
}
