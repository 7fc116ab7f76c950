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

#include "agent/core/core_file.h"
#include "agent/core/core_memory.h"
#include "images/images.h"

// A core_say_fn receives, in printf's form, a message about something that is missing.
typedef void core_say_fn(void *context, const char *format, ...) CH_PRINTF(2, 3);

// A core_places is where the files of the core's images are looked for.
struct core_places {
    const char *exe;     // the program; NULL: at the core's path
    const char *sysroot; // the folder that was the core's /; NULL: our own
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
