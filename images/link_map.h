// SPDX-License-Identifier: Apache-2.0
//
// The dynamic linker's own list of loaded objects, followed through a process's memory
// from the program's dynamic section (DT_DEBUG, r_debug, link_map).
//
// The memory map has every object that is mapped from a file. In a live process this
// list adds objects loaded otherwise, from anonymous memory or the middle of an
// archive, under the names the program knows them by; in a core without a table of
// mapped files it is the only way to find images. Like any memory of a crashed process
// it may be corrupt: it is followed for a bounded number of steps, and an entry is
// believed only where an ELF header and code are found.
#pragma once
#include "images/images.h"

// A link_map_entry is an object as the linker lists it.
struct link_map_entry {
    uint64_t address; // of its struct link_map
    uint64_t bias;    // l_addr
    uint64_t dynamic; // l_ld, an address
    uint64_t name;    // l_name, the address of its path: "" for the program itself
};

// A link_map_fn is called for each object; any status but CH_OK ends the walk.
typedef enum ch_status link_map_fn(void *context, const struct link_map_entry *entry);

// link_map_walk visits the objects of the list that the program's dynamic section, at
// address dynamic, leads to. CH_ERR_NOT_FOUND: there is no list, as in a static
// program. CH_ERR_FAULT: it leads to memory that cannot be read. CH_ERR_LIMIT: it does
// not end.
CH_CHECKED enum ch_status link_map_walk(const struct memory_reader *memory,
                                        uint64_t dynamic, link_map_fn *visit,
                                        void *context);

// link_map_dynamic reads entry number of the dynamic section at address dynamic.
CH_CHECKED enum ch_status link_map_dynamic(const struct memory_reader *memory,
                                           uint64_t dynamic, unsigned number,
                                           uint64_t *out_tag, uint64_t *out_value);

// link_map_read adds the objects on the list of process pid that images lacks. Fails as
// link_map_walk does; objects added before the failure stay.
CH_CHECKED enum ch_status link_map_read(struct target_images *images, pid_t pid,
                                        const struct memory_reader *memory);
