// SPDX-License-Identifier: Apache-2.0
#include "agent/core_sections.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/elf.h"

enum { COMPRESSED = 0x800 }; // SHF_COMPRESSED

// FILE_LIMIT_BYTES: larger files go without their sections.
#define FILE_LIMIT_BYTES ((size_t)512 << 20)

static bool read_file(struct core_image_file *file)
{
    static uint8_t block[64 << 10];
    file->bytes.limit_bytes = FILE_LIMIT_BYTES;
    for (off_t at = 0;;) {
        ssize_t count = pread(file->fd, block, sizeof(block), at);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count == 0 && text_ok(&file->bytes);
        text_append(&file->bytes, block, (size_t)count);
        if (!text_ok(&file->bytes))
            return false;
        at += count;
    }
}

// file_of is the file that was put behind image, or NULL.
static struct core_image_file *file_of(struct core_images *all,
                                       const struct target_image *image)
{
    for (size_t i = 0; i < all->file_count; i++) {
        if (all->files[i].path == image->path)
            return &all->files[i];
    }
    return NULL;
}

static void add_sections(struct core_image_file *file, const struct target_image *image,
                         struct unwind_image *out)
{
    struct elf_view view;
    struct elf_section section;
    if (elf_view_init(&view, file->bytes.bytes, file->bytes.size) != CH_OK)
        return;
    if (elf_view_find_section(&view, ".eh_frame", &section, NULL) == CH_OK &&
        section.type != ELF_SHT_NOBITS) {
        out->eh_frame = image->bias + section.vaddr;
        out->eh_frame_size = section.size;
    }
    if (elf_view_find_section(&view, ".debug_frame", &section, NULL) != CH_OK ||
        section.flags & COMPRESSED)
        return;
    struct cursor c = elf_section_cursor(&view, &section);
    out->debug_frame_size = cursor_left(&c);
    out->debug_frame = cursor_take(&c, cursor_left(&c));
}

void core_sections_add(struct core_images *all)
{
    for (size_t i = 0; i < all->images->count; i++) {
        const struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        if (file != NULL && image->eh_frame_hdr_size == 0 && read_file(file))
            add_sections(file, image, &all->images->unwind[i]);
    }
}
