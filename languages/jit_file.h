// SPDX-License-Identifier: Apache-2.0
//
// One ELF file of GDB's JIT interface: the names of the code that it is about, and its
// call frame information.
//
// It was never linked, or only in memory: its sections' addresses say where code is.
// The bytes are the process's, and hostile.
#pragma once
#include "formats/debug/elf.h"
#include "languages/jitted.h"
#include "unwind/unwind_types.h"

enum {
    JIT_SYMBOLS_MAX = 1 << 16,
    JIT_FILE_SECTIONS = 2, // .eh_frame and .debug_frame
};

// jit_file_name names code of jitted by a file's symbols.
void jit_file_name(const void *bytes, size_t size, struct jitted *jitted);

// jit_file_sections gives a file's call frame information, at most JIT_FILE_SECTIONS,
// and how many there are. The sections point into bytes. In a file that was not linked,
// it first does in bytes what its relocations say.
size_t jit_file_sections(void *bytes, size_t size, struct unwind_section *out);
