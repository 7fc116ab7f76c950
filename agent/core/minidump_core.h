// SPDX-License-Identifier: Apache-2.0
//
// A core file made of a minidump, so that everything that reads cores reads minidumps.
//
// The core is a header with notes, followed by the minidump itself, in which the core's
// segments are. A minidump seldom has code, so the files of its modules are looked for:
// at their paths, or in a folder, by build ID. Those that are found are in the core's
// table of files. Of the others the core has a header made up of what the minidump
// knows (base, size, build ID), which is enough to list them in the report; without
// their files, frames above them are found by frame pointers or not at all. Users:
// core.
#pragma once
#include "agent/core/core_images.h"
#include "base/status.h"

// A minidump_named_fn gets the path that a module has in the core, and its name in the
// minidump.
typedef void minidump_named_fn(void *context, const char *path, const char *name);

struct minidump_places {
    const char *exe;         // the program; NULL: at its path
    const char *sysroot;     // the folder that was /; NULL: our own
    const char *symbols;     // a folder with files by name or build ID; NULL: none
    const char *const *made; // as of core_places; NULL: none
    // Folders below sysroot, followed by NULL, with files by build ID. No other files
    // are used then, and the core's paths are not the minidump's: named gets them.
    // NULL: none.
    const char *const *builds;
    minidump_named_fn *named;
    core_say_fn *say;
    void *context; // of named and say
};

// minidump_to_core reads the minidump on fd and gives a descriptor of the core, which
// is in memory. CH_ERR_MALFORMED and CH_ERR_UNSUPPORTED: out_why says what it is
// instead. CH_ERR_IO: errno is set.
CH_CHECKED enum ch_status minidump_to_core(int fd, const struct minidump_places *places,
                                           int *out_fd, const char **out_why);
