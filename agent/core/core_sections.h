// SPDX-License-Identifier: Apache-2.0
//
// Facts that only section headers lead to: unwind tables that no program header refers
// to (static programs), and where static programs' libraries keep their last messages.
// Section headers are in files and never in memory.
#pragma once
#include "agent/core/core_images.h"

// core_sections_add completes images->unwind from the files of those images whose
// program headers lead to no unwind table.
void core_sections_add(struct core_images *all);

// core_sections_symbol is the address of the symbol name of a static program, or 0.
uint64_t core_sections_symbol(struct core_images *all, const char *name);
