// SPDX-License-Identifier: Apache-2.0
//
// What the code of a function proves about its argument registers: which of them no
// path from the entry to a pc has written, and which were copied, at the entry, to a
// register that nothing else writes.
//
// All of the function is decoded, and every path counts, those backwards too. An
// indirect jump may go anywhere in the function; a call writes all that calls need not
// keep. Parts that the compiler has moved out of the function, and that come back,
// count with all they write. Code that cannot be decoded proves nothing. Functions of
// more than 64 KiB are not looked at.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/instruction.h"

enum { ARGUMENT_SCAN_BYTES_MAX = 64 << 10 };

struct argument_scan_step {
    uint32_t offset; // from the entry
    struct instruction_effects effects;
};

struct argument_scan {
    uint64_t entry; // vaddr
    uint64_t size;
    bool usable;
    uint16_t written_outside; // by parts of the function that lie elsewhere
    struct argument_scan_step *steps;
    size_t count;
};

// An argument_code_fn gives the bytes of code at vaddr and how many there are; NULL:
// none.
typedef const uint8_t *argument_code_fn(void *context, uint64_t vaddr,
                                        size_t *out_size);

// argument_scan_init decodes the function of size bytes at entry. What cannot be used
// is no failure.
CH_CHECKED enum ch_status argument_scan_init(struct argument_scan *scan, uint64_t entry,
                                             uint64_t size, argument_code_fn *code,
                                             void *context);
void argument_scan_deinit(struct argument_scan *scan);

// An argument_proof is what holds at one pc.
struct argument_proof {
    uint16_t untouched;       // bit N: register N is what it was at the entry
    uint8_t copied_to[16];    // the register that holds what register N was, or none
    uint8_t copied_bytes[16]; // how much of it
};

// argument_scan_prove says what holds at pc, a vaddr. False: nothing is proved.
bool argument_scan_prove(const struct argument_scan *scan, uint64_t pc,
                         struct argument_proof *out);
