// SPDX-License-Identifier: Apache-2.0
//
// GDB's JIT interface: a program keeps a list of ELF files in its memory, one for each
// piece of code that it compiled while it ran, at the symbol __jit_debug_descriptor.
//
// The list and the files are the process's, and hostile: their number and their bytes
// are bounded.
#pragma once
#include "agent/images/images.h"
#include "agent/languages/jitted.h"
#include "formats/elf.h"

enum {
    JIT_FILES_MAX = 4096,
    JIT_FILE_BYTES = 1 << 20,
    JIT_ALL_BYTES = 16 << 20,
    JIT_SYMBOLS_MAX = 1 << 16,
};

// jit_descriptor_read names code of jitted by the lists of all images.
void jit_descriptor_read(const struct memory_reader *reader,
                         const struct target_images *images, struct jitted *jitted);

// jit_descriptor_read_file names code of jitted by one of the files.
void jit_descriptor_read_file(const void *bytes, size_t size, struct jitted *jitted);
