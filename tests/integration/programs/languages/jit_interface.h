// SPDX-License-Identifier: Apache-2.0
//
// The interface by which debuggers learn of compiled code, as GDB's documentation has
// it: a program that includes this is one that tells of its code.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct jit_code_entry {
    struct jit_code_entry *next;
    struct jit_code_entry *before;
    const char *file;
    uint64_t size;
};
struct {
    uint32_t version;
    uint32_t action;
    struct jit_code_entry *relevant;
    struct jit_code_entry *first;
} __jit_debug_descriptor = { 1, 0, NULL, NULL };
