// SPDX-License-Identifier: Apache-2.0
//
// The memory map of a core: its segments, with the files that the core's table of
// mapped files names for them.
#pragma once
#include "agent/core/core_file.h"
#include "agent/images/images.h"

// core_mappings_read fills out->mappings, sorted by start, without overlaps. Paths are
// those of the core's notes. Of a mapping that only the table has, as gcore leaves
// those out that it does not dump, the rights are not known: it counts as code.
CH_CHECKED enum ch_status core_mappings_read(const struct core_file *core,
                                             struct target_images *out);

// core_mappings_name says that the file at path is mapped from start to end.
void core_mappings_name(struct target_images *images, const char *path, uint64_t start,
                        uint64_t end);
