// SPDX-License-Identifier: Apache-2.0
#include "unwind/outermost_code.h"

#include <string.h>

// code_begins says whether the target's code at address begins with these bytes.
static bool code_begins(const struct memory_reader *memory, uint64_t address,
                        const uint8_t *bytes, size_t size)
{
    uint8_t code[16];
    return size <= sizeof(code) && memory_read(memory, address, code, size) == CH_OK &&
           memcmp(code, bytes, size) == 0;
}

bool outermost_code(const struct memory_reader *memory,
                    const struct unwind_image *image, uint64_t pc)
{
    enum { ENTRY_BYTES = 64 };
    static const uint8_t halt[] = { 0xf4 };
    // How musl's clone ends a thread: mov edi, eax; xor eax, eax; mov al, 60; syscall.
    static const uint8_t exit_thread[] = { 0x89, 0xc7, 0x31, 0xc0,
                                           0xb0, 0x3c, 0x0f, 0x05 };
    return (image != NULL && image->entry != 0 && pc - image->entry < ENTRY_BYTES) ||
           code_begins(memory, pc, halt, sizeof(halt)) ||
           code_begins(memory, pc, exit_thread, sizeof(exit_thread));
}
