// SPDX-License-Identifier: Apache-2.0
//
// Unwind tables that only an image's section headers tell of: static programs have an
// .eh_frame without the program header that leads to it, and code written by hand may
// have nothing but .debug_frame. Section headers are in files and never in memory.
#pragma once
#include "agent/core_images.h"

// core_sections_add completes images->unwind, by the files of all, for those images
// whose program headers lead to no unwind table.
void core_sections_add(struct core_images *all);
