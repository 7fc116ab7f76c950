// SPDX-License-Identifier: Apache-2.0
//
// Registers that are multiples of others: compilers compute the place of an element of
// N bytes by shifts, sums and multiplications.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/code/argument_scan.h"

// argument_multiple_find goes back from step *at to where *reg is a multiple of one
// register, makes this one *reg, and multiplies *scale. False: straight code does not
// make it so, and nothing is changed.
bool argument_multiple_find(const struct argument_scan *scan, size_t *at, uint8_t *reg,
                            uint64_t *scale);
