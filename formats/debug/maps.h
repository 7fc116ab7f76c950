// SPDX-License-Identifier: Apache-2.0
//
// /proc/PID/maps, a line at a time: one mapping of a process's address space.
//
// The text is untrusted in two ways: the program chooses the names of its mappings, and
// a file that is being read may end anywhere. Paths are neither copied nor terminated;
// the kernel writes a newline in them as \012 and leaves everything else as it is.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/status.h"

enum maps_permission {
    MAPS_READ = 1,
    MAPS_WRITE = 2,
    MAPS_EXECUTE = 4,
    MAPS_SHARED = 8,
};

struct maps_entry {
    uint64_t start; // addresses
    uint64_t end;
    unsigned permissions; // enum maps_permission, or-ed
    uint64_t offset;      // in the file
    uint32_t device_major;
    uint32_t device_minor;
    uint64_t inode;
    const char *path; // as in the text: "/usr/bin/x", "[stack]"; size 0: anonymous
    size_t path_size; // without " (deleted)"
    bool deleted;     // the file was unlinked; its path may now name another one
};

// maps_next reads one line and passes over it. CH_END: there are no more.
// CH_ERR_MALFORMED: the line is no mapping; the next call continues after it. A last
// line without a newline is read like any other.
CH_CHECKED enum ch_status maps_next(struct cursor *text, struct maps_entry *out);
