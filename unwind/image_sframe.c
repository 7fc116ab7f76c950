// SPDX-License-Identifier: Apache-2.0
#include "unwind/image_sframe.h"

#include <stdlib.h>

#include "formats/debug/sframe.h"
#include "unwind/image_bytes.h"

// Real sections have some hundred kilobytes; those of browsers may reach ten megabytes.
enum { SECTION_LIMIT_BYTES = 64 << 20 };

enum section_state { SECTION_UNREAD, SECTION_READ, SECTION_UNUSABLE };

struct section {
    enum section_state state;
    uint8_t *bytes;
    struct sframe_section sframe;
};

struct image_sframe {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    bool any;
    struct section *sections;
};

enum ch_status image_sframe_create(const struct unwind_arch *arch,
                                   const struct memory_reader *memory,
                                   const struct unwind_image *images, size_t count,
                                   struct image_sframe **out)
{
    struct image_sframe *made = calloc(1, sizeof(*made));
    if (made == NULL)
        return CH_ERR_NO_MEMORY;
    *made = (struct image_sframe){
        .arch = arch, .memory = memory, .images = images, .count = count
    };
    for (size_t i = 0; i < count; i++)
        made->any = made->any || images[i].sframe_size != 0;
    made->sections = made->any ? calloc(count, sizeof(*made->sections)) : NULL;
    if (made->any && made->sections == NULL) {
        free(made);
        return CH_ERR_NO_MEMORY;
    }
    *out = made;
    return CH_OK;
}

void image_sframe_destroy(struct image_sframe *sections)
{
    if (sections == NULL)
        return;
    for (size_t i = 0; sections->sections != NULL && i < sections->count; i++)
        free(sections->sections[i].bytes);
    free(sections->sections);
    free(sections);
}

bool image_sframe_any(const struct image_sframe *sections)
{
    return sections->any;
}

static bool sframe_is_for(const struct sframe_section *section,
                          const struct unwind_arch *arch)
{
    switch (section->arch) {
    case SFRAME_AMD64:
        return arch->id == UNWIND_ARCH_AMD64;
    case SFRAME_AARCH64_BIG:
    case SFRAME_AARCH64_LITTLE:
        return arch->id == UNWIND_ARCH_AARCH64;
    default:
        return arch->id == UNWIND_ARCH_S390X;
    }
}

static void image_sframe_read_section(struct image_sframe *s, size_t index)
{
    const struct unwind_image *image = &s->images[index];
    struct section *section = &s->sections[index];
    uint64_t limit = image->sframe_size;
    size_t size;
    if (limit > SECTION_LIMIT_BYTES)
        limit = SECTION_LIMIT_BYTES;

    section->state = SECTION_UNUSABLE;
    if (limit == 0 || image_bytes_copy(s->memory, image->sframe, limit, &section->bytes,
                                       &size) != CH_OK)
        return;
    if (sframe_section_init(&section->sframe, section->bytes, size, image->sframe) ==
            CH_OK &&
        sframe_section_usable(&section->sframe) &&
        sframe_is_for(&section->sframe, s->arch) &&
        section->sframe.bytes.big_endian == s->memory->big_endian)
        section->state = SECTION_READ;
}

enum ch_status image_sframe_find(struct image_sframe *s, size_t index, uint64_t pc,
                                 struct unwind_row *out)
{
    const struct unwind_image *image = &s->images[index];
    if (!s->any)
        return CH_ERR_UNSUPPORTED;
    struct section *section = &s->sections[index];
    if (section->state == SECTION_UNREAD)
        image_sframe_read_section(s, index);
    if (section->state != SECTION_READ)
        return CH_ERR_UNSUPPORTED;
    if (sframe_lookup(&section->sframe, pc, out) != CH_OK)
        return CH_ERR_NOT_FOUND;
    // Before version 3 nothing in SFrame marked the code that the kernel starts.
    if (image->entry != 0 && image->entry >= out->start && image->entry < out->end)
        out->flags |= UNWIND_OUTERMOST;
    return CH_OK;
}
