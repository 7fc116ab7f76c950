// SPDX-License-Identifier: Apache-2.0
//
// The instructions of a function, and where each continues.
//
// The whole function is decoded. Parts that the compiler moved out of it belong to it
// if they jump back into it; other code that it jumps to is another function, called by
// a tail call. If an instruction cannot be decoded, or a jump leads into the middle of
// one, there is no result. Functions over 64 KiB are not decoded.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/code/instruction.h"

enum { ARGUMENT_CODE_BYTES_MAX = 64 << 10 };

struct argument_step {
    uint64_t vaddr;
    struct instruction_effects effects;
};

// An argument_code has its steps sorted by address.
struct argument_code {
    uint64_t entry; // vaddr
    uint64_t size;
    bool reentered; // a jump leads back to the entry, from anywhere
    struct argument_step *steps;
    size_t count;
    size_t capacity;
};

// An argument_code_fn gives the code bytes at vaddr and how many there are; NULL: none.
typedef const uint8_t *argument_code_fn(void *context, uint64_t vaddr,
                                        size_t *out_size);

// argument_code_init decodes the function of size bytes at entry. CH_ERR_UNSUPPORTED:
// it cannot be decoded.
CH_CHECKED enum ch_status argument_code_init(struct argument_code *code, uint64_t entry,
                                             uint64_t size, argument_code_fn *bytes,
                                             void *context);
void argument_code_deinit(struct argument_code *code);

// argument_code_find gives the index of the instruction at vaddr, SIZE_MAX: none.
size_t argument_code_find(const struct argument_code *code, uint64_t vaddr);

// argument_code_next gives the index of the instruction that follows i when it does not
// jump, SIZE_MAX: none.
size_t argument_code_next(const struct argument_code *code, size_t i);

// argument_code_jump gives the index of the instruction that i jumps to, SIZE_MAX:
// none, or outside of the function.
size_t argument_code_jump(const struct argument_code *code, size_t i);
