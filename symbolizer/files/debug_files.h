// SPDX-License-Identifier: Apache-2.0
//
// The files with the names of an image's code: the image itself, its separate debug
// file, the small symbol table that distributions compress into stripped files.
//
// A file is used only if it belongs to the image's build: by build ID if the report has
// one, else by the checksum in the debug link. A refusal is remembered, so that a frame
// without a name can say why.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "symbolizer/files/debug_elf.h"
#include "symbolizer/search/debug_search.h"

struct debug_files {
    struct debug_elf image; // closed if it is missing or refused
    struct debug_elf debug; // closed if the image has its own, or none was found
    struct debug_elf mini;  // from .gnu_debugdata
    struct debug_elf
        plain; // what is compressed in image or debug, if it is large or by zstd
    enum debug_status status;
};

// debug_files_open finds the files of the image at path with that build ID (size 0: not
// known). out is always valid afterwards; its status says what was found.
void debug_files_open(struct debug_files *out, const char *path,
                      const struct build_id *id, const struct debug_search *where);

// debug_files_close closes all of them.
void debug_files_close(struct debug_files *files);

// debug_files_dwarf gives the file with debug information, or NULL.
const struct debug_elf *debug_files_dwarf(const struct debug_files *files);
