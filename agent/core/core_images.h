// SPDX-License-Identifier: Apache-2.0
//
// The mappings and images of a core, and the files that supply memory it lacks.
//
// Kernels write a table of mapped files into a core. Where there is none (qemu-user),
// the images are found as a debugger would: the program by its program headers, the
// rest by the dynamic linker's list. A file is used only when it is the image's own:
// its build ID must match where the core has one; the program given by --exe must also
// match by its entry point, and a library without a build ID by the address of its
// dynamic section. Refused files are reported (say), and the report goes on without
// them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/core/core_file.h"
#include "base/memory_reader.h"
#include "images/images.h"

// A core's address space: the core's own bytes, then those of the image files.
//
// Kernels leave code out of cores because the files have it. A place that the core
// lacks is read from the file mapped there, once a caller has verified that it is the
// right file and added it. Only what the program could not write is ever added: a page
// that is missing for another reason stays missing.

// A core_region is a range of addresses whose bytes are in a file.
struct core_region {
    uint64_t start;
    uint64_t end;
    uint64_t offset; // in the file
    int fd;
};

struct core_memory {
    const struct core_file *core;
    struct file_blocks blocks;
    struct core_region *regions; // sorted by start
    size_t count;
    size_t capacity;
};

// core_memory_init prepares to read the memory of core, which must outlive it.
CH_CHECKED enum ch_status core_memory_init(struct core_memory *memory,
                                           const struct core_file *core);
void core_memory_deinit(struct core_memory *memory);

// core_memory_add backs region, which may not overlap others, with a file. The caller
// keeps the file's ownership and leaves it open.
CH_CHECKED enum ch_status core_memory_add(struct core_memory *memory,
                                          const struct core_region *region);

// core_memory_reader is the address space as a memory_reader.
struct memory_reader core_memory_reader(struct core_memory *memory);

// A core_say_fn receives, in printf's form, a message about something that is missing.
typedef void core_say_fn(void *context, const char *format, ...) CH_PRINTF(2, 3);

// A core_places is where the files of the core's images are looked for.
struct core_places {
    const char *exe;         // the program; NULL: at the core's path
    const char *sysroot;     // the folder that was the core's /; NULL: our own
    const char *const *made; // folders, followed by NULL, with unwind tables of images
                             // that have no file: .build-id/ab/cdef….sym; NULL: none
};

// A core_image_file is an image's open file.
struct core_image_file {
    const char *path; // as the core has it, or --exe
    int fd;
    struct text bytes; // of the whole file, where its sections are needed
};

struct core_images {
    const struct core_file *core;
    const struct core_places *places;
    struct core_memory *memory;
    struct memory_reader reader;
    core_say_fn *say;
    void *say_context;
    struct target_images *images; // the images to fill
    struct core_image_file *files;
    size_t file_count;
    size_t file_capacity;
    char **names; // strings that images refer to
    size_t name_count;
    size_t name_capacity;
    const char *executable; // the program's path; NULL: not known
};

// core_images_find fills images with the mappings and images of core, and backs memory
// with their files. The caller has set core, places, memory, say and images; they, and
// the core_images, must outlive images. Mappings that are already in images, with their
// files, are used in place of the core's.
CH_CHECKED enum ch_status core_images_find(struct core_images *all);
void core_images_deinit(struct core_images *all);
