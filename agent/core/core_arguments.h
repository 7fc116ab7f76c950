// SPDX-License-Identifier: Apache-2.0
//
// The arguments that a dead process was started with.
//
// A core's process note has 80 characters of them, joined by blanks. All of them are on
// the stack where the kernel put them, just below the auxiliary vector; the vector is
// found by searching for the copy of it that the core's notes have.
#pragma once
#include "agent/core/core_file.h"
#include "base/memory_reader.h"
#include "base/text.h"

// core_arguments_read appends the arguments, each followed by a NUL: those on the
// stack, or else what the note has of them.
void core_arguments_read(const struct core_file *core,
                         const struct memory_reader *memory, struct text *out);
