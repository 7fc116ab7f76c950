// SPDX-License-Identifier: Apache-2.0
//
// The entry every fuzz target defines: libFuzzer calls it, and so does replay.c.
#pragma once
#include <stddef.h>
#include <stdint.h>

// LLVMFuzzerTestOneInput parses size bytes of anything and must come back.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
