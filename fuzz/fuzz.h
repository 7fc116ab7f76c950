// SPDX-License-Identifier: Apache-2.0
//
// The entry every fuzz target defines: libFuzzer calls it in the fuzz build, and
// replay.c calls it in every build, once for each file of the target's corpus. A
// target is one parser; it asserts nothing, the sanitizers do.
#pragma once
#include <stddef.h>
#include <stdint.h>

// LLVMFuzzerTestOneInput parses size bytes of anything and must come back.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
