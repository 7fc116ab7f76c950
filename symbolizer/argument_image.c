// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/argument_image.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbolizer/naming.h"

static void open_debug(struct argument_image *image)
{
    uint64_t base;
    const struct debug_elf *file = image->types.files.image.elf != NULL
                                       ? &image->types.files.image
                                       : debug_files_dwarf(&image->types.files);
    image->unindexable = image->types.dwarf == NULL ||
                         debug_elf_layout(file, &base, image->text) != CH_OK;
    if (!image->unindexable)
        image->debug_frame = dwarf_getcfi(image->types.dwarf);
}

void argument_image_open(struct argument_image *image, const struct report_image *from,
                         const struct symbolizer_options *options)
{
    char buffers[2][PATH_MAX];
    struct debug_search search = naming_search(options);
    const char *path = naming_image_path(options, from->path, buffers);
    if (image->opened)
        return;
    image->opened = true;
    if (type_image_open(&image->types, path, &from->id, &search) != CH_OK)
        return;
    image->bias = from->base - image->types.linked_base;
    if (image->types.files.image.elf != NULL)
        image->eh_frame = dwarf_getcfi_elf(image->types.files.image.elf);
    open_debug(image);
}

void argument_image_close(struct argument_image *image)
{
    if (!image->opened)
        return;
    for (size_t i = 0; i < image->listed_count; i++)
        unit_scopes_deinit(&image->listed[i].scopes);
    free(image->listed);
    unit_index_deinit(&image->units);
    if (image->eh_frame != NULL)
        dwarf_cfi_end(image->eh_frame);
    type_image_close(&image->types);
    *image = (struct argument_image){ 0 };
}

// add_listed reads the functions of a unit.
static struct argument_unit *add_listed(struct argument_image *image, Dwarf_Die *unit)
{
    if (image->listed_count == image->listed_capacity) {
        size_t capacity = image->listed_capacity != 0 ? image->listed_capacity * 2 : 16;
        struct argument_unit *listed =
            realloc(image->listed, capacity * sizeof(image->listed[0]));
        if (listed == NULL)
            return NULL;
        image->listed = listed;
        image->listed_capacity = capacity;
    }
    struct argument_unit *added = &image->listed[image->listed_count];
    *added = (struct argument_unit){ .die = unit->addr };
    if (unit_scopes_read(&added->scopes, unit, image->text, true) != CH_OK)
        return NULL;
    image->listed_count++;
    return added;
}

// listed_scopes gives the functions of the unit that the file's table of addresses has
// for vaddr; NULL: it has none. Looking at all units of a large library costs more than
// all the rest.
static const struct unit_scopes *listed_scopes(struct argument_image *image,
                                               uint64_t vaddr)
{
    Dwarf_Die unit;
    if (dwarf_addrdie(image->types.dwarf, vaddr, &unit) == NULL)
        return NULL;
    for (size_t i = 0; i < image->listed_count; i++)
        if (image->listed[i].die == unit.addr)
            return &image->listed[i].scopes;
    const struct argument_unit *added = add_listed(image, &unit);
    return added != NULL ? &added->scopes : NULL;
}

// indexed_scopes gives the functions of the unit that says itself that it has vaddr.
static const struct unit_scopes *indexed_scopes(struct argument_image *image,
                                                uint64_t vaddr)
{
    if (!image->indexed && !image->unindexable) {
        image->indexed = unit_index_init(&image->units, image->types.dwarf, image->text,
                                         true) == CH_OK;
        image->unindexable = !image->indexed;
    }
    const struct unit *unit =
        image->indexed ? unit_index_find(&image->units, vaddr) : NULL;
    return unit != NULL ? &unit->scopes : NULL;
}

static bool find_function(const struct unit_scopes *scopes, uint64_t vaddr,
                          Dwarf_Die *out)
{
    if (scopes == NULL)
        return false;
    uint32_t scope = address_map_find(&scopes->map, vaddr);
    while (scope != UNIT_SCOPE_NONE && scopes->scopes[scope].inlined)
        scope = scopes->scopes[scope].parent;
    return scope != UNIT_SCOPE_NONE &&
           dwarf_offdie(scopes->dwarf, scopes->scopes[scope].die_offset, out) != NULL &&
           dwarf_tag(out) == DW_TAG_subprogram;
}

enum ch_status argument_image_function(struct argument_image *image, uint64_t vaddr,
                                       Dwarf_Die *out)
{
    if (image->types.dwarf == NULL || image->text[1] == 0)
        return CH_ERR_NOT_FOUND;
    if (find_function(listed_scopes(image, vaddr), vaddr, out) ||
        find_function(indexed_scopes(image, vaddr), vaddr, out))
        return CH_OK;
    return CH_ERR_NOT_FOUND;
}
