// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_sections.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/images/image_frames.h"
#include "formats/elf.h"

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
        const struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        struct elf_view view;
        if (file != NULL && image->eh_frame_hdr_size == 0 && view_file(file, &view))
            image_frames_take(&view, image, &all->images->unwind[i]);
    }
}

// find_core_symbol looks a name up in one symbol table; 0: it is not there.
static uint64_t find_core_symbol(const struct elf_view *view, const char *table,
                                 const char *name)
{
    struct elf_section section;
    struct elf_section names;
    struct elf_symbol symbol;
    if (elf_view_find_section(view, table, &section, NULL) != CH_OK ||
        elf_view_section(view, section.link, &names) != CH_OK)
        return 0;
    struct cursor symbols = elf_section_cursor(view, &section);
    while (elf_next_symbol(view, &symbols, &symbol) == CH_OK) {
        struct cursor text = elf_section_cursor(view, &names);
        cursor_seek(&text, symbol.name);
        size_t size = strlen(name) + 1;
        const uint8_t *bytes = cursor_take(&text, size);
        if (bytes != NULL && symbol.section != 0 && memcmp(bytes, name, size) == 0)
            return symbol.value;
    }
    return 0;
}

uint64_t core_sections_symbol(struct core_images *all, const char *name)
{
    for (size_t i = 0; i < all->images->count; i++) {
        const struct target_image *image = &all->images->images[i];
        struct core_image_file *file = file_of(all, image);
        struct elf_view view;
        if (file == NULL || image->dynamic != 0 || !view_file(file, &view))
            continue;
        uint64_t vaddr = find_core_symbol(&view, ".symtab", name);
        if (vaddr != 0)
            return image->bias + vaddr;
    }
    return 0;
}
