// SPDX-License-Identifier: Apache-2.0
//
// The files that name an image's code: the image itself, its separate debug file, the
// small symbol table that distributions pack into stripped files.
//
// A file is taken only when it is of the image's build: by build ID where the report
// has one, by the checksum of its debug link otherwise. What is refused is remembered,
// so that a nameless frame can say why.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/names/debug_elf.h"
#include "symbolizer/names/debug_search.h"

struct debug_files {
    struct debug_elf image; // closed when it is missing or refused
    struct debug_elf debug; // closed when the image carries its own, or none was found
    struct debug_elf mini;  // what .gnu_debugdata held
    enum debug_status status;
};

// debug_files_open finds the files of the image at path, of the build id (size 0: not
// known). It always leaves out valid; what it found is in its status.
void debug_files_open(struct debug_files *out, const char *path,
                      const struct build_id *id, const struct debug_search *where);

// debug_files_close closes all of them.
void debug_files_close(struct debug_files *files);

// debug_files_dwarf is the file with debug information, or NULL.
const struct debug_elf *debug_files_dwarf(const struct debug_files *files);
