// SPDX-License-Identifier: Apache-2.0
//
// The memory map of a core: its segments, with the files that the core's table of
// mapped files names for them.
#pragma once
#include "agent/core/core_file.h"
#include "images/images.h"

// core_mappings_read fills out->mappings, sorted by start, without overlaps. Paths
// point into the core's notes. A mapping that is only in the table has unknown
// permissions and counts as code; gcore leaves such mappings out of the dump.
CH_CHECKED enum ch_status core_mappings_read(const struct core_file *core,
                                             struct target_images *out);

// core_mappings_name records that the file at path is mapped from start to end.
void core_mappings_name(struct target_images *images, const char *path, uint64_t start,
                        uint64_t end);
