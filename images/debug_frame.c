// SPDX-License-Identifier: Apache-2.0
#include "images/debug_frame.h"

#include <stdlib.h>
#include <string.h>

#include "formats/debug/decompress.h"

static const char old_name[] = ".zdebug_frame";

enum ch_status debug_frame_find(const struct elf_view *file, struct elf_section *out)
{
    enum ch_status status = elf_view_find_section(file, ".debug_frame", out, NULL);
    if (status != CH_OK)
        status = elf_view_find_section(file, old_name, out, NULL);
    return status;
}

// read_header reads the header of a compressed section: Elf64_Chdr, or "ZLIB" and the
// size in big-endian order.
static enum ch_status read_header(struct cursor *bytes, bool is_old,
                                  uint32_t *out_method, uint64_t *out_size)
{
    if (is_old) {
        const uint8_t *magic = cursor_take(bytes, 4);
        bool is_zlib = magic != NULL && memcmp(magic, "ZLIB", 4) == 0;
        *out_method = is_zlib ? DECOMPRESS_ZLIB : 0;
        bytes->big_endian = true;
        *out_size = cursor_u64(bytes);
    } else {
        *out_method = cursor_u32(bytes);
        cursor_skip(bytes, 4); // reserved
        *out_size = cursor_u64(bytes);
        cursor_skip(bytes, 8); // its alignment
    }
    return cursor_ok(bytes) ? CH_OK : CH_ERR_TRUNCATED;
}

enum ch_status debug_frame_copy(const struct elf_view *file,
                                const struct elf_section *section, size_t limit,
                                uint8_t **out, size_t *out_size)
{
    struct cursor bytes = elf_section_cursor(file, section);
    bool is_old = strncmp(section->name, ".zdebug", 7) == 0;
    bool is_compressed = is_old || section->flags & ELF_SHF_COMPRESSED;
    uint64_t size = cursor_left(&bytes);
    uint32_t method;
    enum ch_status status = CH_OK;
    if (!cursor_ok(&bytes))
        return CH_ERR_TRUNCATED;
    if (!file->header.is_64)
        return CH_ERR_UNSUPPORTED;
    if (is_compressed)
        status = read_header(&bytes, is_old, &method, &size);
    if (status == CH_OK && is_compressed && size > limit)
        status = CH_ERR_LIMIT;
    if (status != CH_OK)
        return status;
    uint8_t *copy = malloc(size != 0 ? (size_t)size : 1);
    if (copy == NULL)
        return CH_ERR_NO_MEMORY;
    if (is_compressed)
        status = decompress(method, bytes, copy, (size_t)size);
    else if (size != 0)
        memcpy(copy, cursor_take(&bytes, (size_t)size), (size_t)size);
    if (status != CH_OK) {
        free(copy);
        return status;
    }
    *out = copy;
    *out_size = (size_t)size;
    return CH_OK;
}
