// SPDX-License-Identifier: Apache-2.0
#include "base/register_name.h"

#include <string.h>

enum { AMD64_SIZES = 4 };

static const size_t amd64_sizes[AMD64_SIZES] = { 8, 4, 2, 1 };

// System V ABI for AMD64, figure 3.36.
static const char *const amd64[][AMD64_SIZES] = {
    { "rax", "eax", "ax", "al" },      { "rdx", "edx", "dx", "dl" },
    { "rcx", "ecx", "cx", "cl" },      { "rbx", "ebx", "bx", "bl" },
    { "rsi", "esi", "si", "sil" },     { "rdi", "edi", "di", "dil" },
    { "rbp", "ebp", "bp", "bpl" },     { "rsp", "esp", "sp", "spl" },
    { "r8", "r8d", "r8w", "r8b" },     { "r9", "r9d", "r9w", "r9b" },
    { "r10", "r10d", "r10w", "r10b" }, { "r11", "r11d", "r11w", "r11b" },
    { "r12", "r12d", "r12w", "r12b" }, { "r13", "r13d", "r13w", "r13b" },
    { "r14", "r14d", "r14w", "r14b" }, { "r15", "r15d", "r15w", "r15b" },
    { "rip", "eip", NULL, NULL },
};

static const char *const aarch64[] = { "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",
                                       "x7",  "x8",  "x9",  "x10", "x11", "x12", "x13",
                                       "x14", "x15", "x16", "x17", "x18", "x19", "x20",
                                       "x21", "x22", "x23", "x24", "x25", "x26", "x27",
                                       "x28", "x29", "x30", "sp",  "pc" };

const char *register_name_amd64(size_t number, size_t size)
{
    for (size_t i = 0; number < sizeof(amd64) / sizeof(amd64[0]) && i < AMD64_SIZES;
         i++) {
        if (amd64_sizes[i] == size)
            return amd64[number][i];
    }
    return NULL;
}

const char *register_name_aarch64(size_t number)
{
    return number < sizeof(aarch64) / sizeof(aarch64[0]) ? aarch64[number] : NULL;
}

bool register_find_amd64(const char *name, size_t *out_number, size_t *out_size)
{
    for (size_t number = 0; number < sizeof(amd64) / sizeof(amd64[0]); number++) {
        for (size_t i = 0; i < AMD64_SIZES; i++) {
            if (amd64[number][i] == NULL || strcmp(amd64[number][i], name) != 0)
                continue;
            *out_number = number;
            *out_size = amd64_sizes[i];
            return true;
        }
    }
    return false;
}
