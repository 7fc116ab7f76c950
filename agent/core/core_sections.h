// SPDX-License-Identifier: Apache-2.0
//
// What only the section headers of a core's images tell of: unwind tables that no
// program header leads to (static programs), and where those keep what their libraries
// said before they aborted. Section headers are in files and never in memory.
#pragma once
#include "agent/core/core_images.h"

// core_sections_add completes images->unwind, by the files of all, for those images
// whose program headers lead to no unwind table.
void core_sections_add(struct core_images *all);

// core_sections_symbol is where a static program has what is called name, or 0.
uint64_t core_sections_symbol(struct core_images *all, const char *name);
