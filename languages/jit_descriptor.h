// SPDX-License-Identifier: Apache-2.0
//
// GDB's JIT interface: a program keeps a list of ELF files in its memory, one for each
// piece of code that it compiled while it ran, at the symbol __jit_debug_descriptor.
//
// The list and the files are the process's, and hostile: their number and their bytes
// are bounded. They are read once, when a walk first comes to such code or such code is
// named, whichever is first.
#pragma once
#include "formats/debug/elf.h"
#include "images/images.h"
#include "languages/jitted.h"
#include "unwind/unwind_types.h"

// One ELF file of GDB's JIT interface: the names of the code that it is about, and its
// call frame information.
//
// It was never linked, or only in memory: its sections' addresses say where code is.
// The bytes are the process's, and hostile.

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

enum {
    JIT_FILES_MAX = 4096,
    JIT_FILE_BYTES = 1 << 20,
    JIT_ALL_BYTES = 16 << 20,
};

struct jit_descriptor {
    struct jit_descriptor_file {
        uint8_t *bytes;
        size_t size;
    } * files;
    size_t count;
    size_t capacity;
    struct unwind_section *sections; // of all files; NULL: not wanted
    bool read;
};

// jit_descriptor_read reads the lists of all images, unless that was done.
void jit_descriptor_read(struct jit_descriptor *jit, const struct memory_reader *reader,
                         const struct target_images *images);
void jit_descriptor_deinit(struct jit_descriptor *jit);

// jit_descriptor_name names code of jitted by the files.
void jit_descriptor_name(const struct jit_descriptor *jit, struct jitted *jitted);

// jit_descriptor_sections gives the files' call frame information, and how many
// sections it is. They stay until jit_descriptor_deinit.
size_t jit_descriptor_sections(struct jit_descriptor *jit,
                               const struct unwind_section **out);
