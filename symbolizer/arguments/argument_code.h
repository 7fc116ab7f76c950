// SPDX-License-Identifier: Apache-2.0
//
// The instructions of a function and where each goes on.
//
// All of the function is decoded. Parts that the compiler has moved out of it, and that
// come back, belong to it; code that it jumps to and that does not is another
// function's, called last. Where an instruction cannot be decoded, or a jump goes into
// the middle of one, there is nothing. Functions of more than 64 KiB are not looked at.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/diagnosis/instruction.h"

enum { ARGUMENT_CODE_BYTES_MAX = 64 << 10 };

struct argument_step {
    uint64_t vaddr;
    struct instruction_effects effects;
};

// argument_code has its steps in the order of their addresses.
struct argument_code {
    uint64_t entry; // vaddr
    uint64_t size;
    bool reentered; // a jump leads back to the entry, from within or from outside
    struct argument_step *steps;
    size_t count;
    size_t capacity;
};

// An argument_code_fn gives the bytes of code at vaddr and how many there are; NULL:
// none.
typedef const uint8_t *argument_code_fn(void *context, uint64_t vaddr,
                                        size_t *out_size);

// argument_code_init decodes the function of size bytes at entry. CH_ERR_UNSUPPORTED:
// nothing can be said of it.
CH_CHECKED enum ch_status argument_code_init(struct argument_code *code, uint64_t entry,
                                             uint64_t size, argument_code_fn *bytes,
                                             void *context);
void argument_code_deinit(struct argument_code *code);

// argument_code_find gives the number of the instruction at vaddr, SIZE_MAX: none.
size_t argument_code_find(const struct argument_code *code, uint64_t vaddr);

// argument_code_next gives the number of the instruction that number i goes on with
// when it does not jump, SIZE_MAX: none.
size_t argument_code_next(const struct argument_code *code, size_t i);

// argument_code_jump gives the number of the instruction that number i jumps to,
// SIZE_MAX: none, or out of the function.
size_t argument_code_jump(const struct argument_code *code, size_t i);
