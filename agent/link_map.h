// SPDX-License-Identifier: Apache-2.0
//
// The dynamic linker's own list of loaded objects, followed through the memory of the
// stopped process (AT_PHDR, DT_DEBUG, r_debug, link_map).
//
// The memory map knows every object that is mapped from a file. This list adds those
// that were loaded otherwise, from anonymous memory or the middle of an archive, with
// the names the program knows them by. It may be overwritten like any memory of a
// process that crashed: it is followed for a bounded number of steps, and what it says
// is believed only where an ELF header and code are found.
#pragma once
#include "agent/images.h"

// link_map_read adds to images what the list names and images do not hold yet.
// CH_ERR_NOT_FOUND: there is no list, as in a static program. CH_ERR_FAULT: it leads to
// memory that cannot be read; what came before is added. CH_ERR_LIMIT: it does not end.
CH_CHECKED enum ch_status link_map_read(struct target_images *images,
                                        struct target_memory *memory);
