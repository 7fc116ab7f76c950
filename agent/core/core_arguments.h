// SPDX-License-Identifier: Apache-2.0
//
// The arguments a dead process was started with.
//
// A core's note of the process has 80 characters of them, joined by blanks. The whole
// of them is on the stack where the kernel put it, just below the auxiliary vector,
// which the core has a copy of: that copy is looked for.
#pragma once
#include "agent/core/core_file.h"
#include "base/memory_reader.h"
#include "base/text.h"

// core_arguments_read appends the arguments, each followed by a NUL: those on the
// stack, else what the note has of them.
void core_arguments_read(const struct core_file *core,
                         const struct memory_reader *memory, struct text *out);
