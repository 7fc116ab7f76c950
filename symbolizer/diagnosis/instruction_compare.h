// SPDX-License-Identifier: Apache-2.0
//
// The vector comparisons into mask registers (vpcmpb and its kin), which capstone 4
// does not decode. glibc's string functions read the program's strings by them wherever
// the processor has AVX-512, so that most bad strings are first met by one.
#pragma once
#include "symbolizer/diagnosis/instruction.h"

// instruction_compare_decode decodes one with an operand in memory. CH_ERR_MALFORMED:
// bytes begin with something else.
CH_CHECKED enum ch_status instruction_compare_decode(const uint8_t *bytes, size_t size,
                                                     struct instruction *out);
