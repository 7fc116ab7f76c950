// SPDX-License-Identifier: Apache-2.0
//
// The variable at fault: what the source calls the bad value that the crashed
// instruction used, as far as code and debug information prove it.
//
// That is the pointer of the memory operand that faulted, an index that is outside of
// its array, the address that a call or a jump went to, or the divisor.
#pragma once
#include "symbolizer/arguments/argument_stack.h"

// argument_fault_find gives crash.variable of report, whose crashed thread is stack:
// {"expression", "frame", "function", "value", "confidence", ...}. shown is what the
// report shows of its variables (argument_report.h). NULL: nothing is proved.
json_t *argument_fault_find(const json_t *report, const struct argument_stack *stack,
                            const json_t *frames, const json_t *shown);
