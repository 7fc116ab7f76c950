// SPDX-License-Identifier: Apache-2.0
//
// What an image's program headers say, read from its file or from its mapping in a
// core. That is enough to tell images apart and to back memory that a core left out
// with their files.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/elf.h"

enum {
    OUTLINE_LOADS_MAX = 64,
    OUTLINE_BUILD_ID_MAX = 64,
    OUTLINE_PAGE_BYTES = 4096,
};

struct image_outline {
    uint16_t machine;
    uint64_t entry;         // vaddr
    uint64_t headers;       // vaddr of the program headers
    uint64_t low;           // first and one past the last vaddr that is loaded; low is
                            // page-aligned
    uint64_t high;          //
    uint64_t dynamic;       // vaddr of its dynamic section; 0: none
    uint64_t storage_size;  // of its thread-local storage, and how that is aligned;
    uint64_t storage_align; // 0: it has none
    struct elf_segment loads[OUTLINE_LOADS_MAX];
    size_t load_count;
    uint8_t build_id[OUTLINE_BUILD_ID_MAX];
    size_t build_id_size; // 0: it has none that could be read
};

// image_outline_read reads the image whose ELF header is at base. With mapped, its
// segments are where a process has them, otherwise where its file has them.
// CH_ERR_MALFORMED: this is not an image, or it loads nothing. CH_ERR_FAULT: it cannot
// be read.
CH_CHECKED enum ch_status image_outline_read(const struct memory_reader *from,
                                             uint64_t base, bool mapped,
                                             struct image_outline *out);

// image_outline_open opens the regular file at path and reads its outline. CH_ERR_IO:
// it cannot be opened; errno is set. Otherwise as image_outline_read.
CH_CHECKED enum ch_status image_outline_open(const char *path,
                                             struct image_outline *out, int *out_fd);
