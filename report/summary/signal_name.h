// SPDX-License-Identifier: Apache-2.0
//
// Signals and their codes as people write them: SIGSEGV, SEGV_MAPERR.
//
// Linux's numbers and names (signal(7), sigaction(2)), for every writer and reader of
// reports. A number without a name here is shown as a number.
#pragma once
#include <stddef.h>

// signal_name is "SIGSEGV" for 11, or NULL for a number without a name.
const char *signal_name(int number);

// signal_code_name is "SEGV_MAPERR" for SIGSEGV with code 1, or NULL. Codes at or below
// 0, and SI_KERNEL, mean the same for every signal.
const char *signal_code_name(int number, int code);

// signal_description describes the signal in a few words: "segmentation fault".
const char *signal_description(int number);
