// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_sections.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "formats/debug/elf.h"
#include "images/image_frames.h"
#include "images/image_symbol.h"

// FILE_LIMIT_BYTES bounds the files whose sections are read; larger ones go without.
#define FILE_LIMIT_BYTES ((size_t)512 << 20)

static bool read_section_file(struct core_image_file *file)
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

// file_of is the file that backs image, or NULL.
static struct core_image_file *file_of(struct core_images *all,
                                       const struct target_image *image)
{
    for (size_t i = 0; i < all->file_count; i++) {
        if (all->files[i].path == image->path)
            return &all->files[i];
    }
    return NULL;
}

// view_file reads the file on first use and opens a view of it.
static bool view_file(struct core_image_file *file, struct elf_view *out)
{
    if (file->bytes.size == 0 && !read_section_file(file))
        return false;
    return elf_view_init(out, file->bytes.bytes, file->bytes.size) == CH_OK;
}

void core_sections_add(struct core_images *all)
{
    for (size_t i = 0; i < all->images->count; i++) {
        struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        struct elf_view view;
        // The path names the file on the machine of the crash, which is not used here.
        image->file_fd = file != NULL ? file->fd : -1;
        if (file != NULL && image->eh_frame_hdr_size == 0 && view_file(file, &view))
            image_frames_take(&view, image, &all->images->unwind[i]);
    }
}

uint64_t core_sections_symbol(struct core_images *all, const char *name)
{
    for (size_t i = 0; i < all->images->count; i++) {
        const struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        struct elf_view view;
        if (file == NULL || image->dynamic != 0 || !view_file(file, &view))
            continue;
        uint64_t vaddr = image_symbol_in_file(&view, name);
        if (vaddr != 0)
            return image->bias + vaddr;
    }
    return 0;
}
