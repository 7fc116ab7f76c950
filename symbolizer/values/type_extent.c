// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/values/type_extent.h"

#include "report/file/held_file.h"
#include "symbolizer/values/layout_table.h"

bool type_extent_of_object(const struct type_value *how, const struct type_place *place,
                           struct type_extent *out)
{
    struct layout_view view;
    uint32_t index = type_strip(how->table, place->type);
    const struct type *type = &how->table->types[index];
    if (type->kind == TYPE_ARRAY) {
        *out = (struct type_extent){ "array", place->address, type->count, 0 };
        return type->count != 0 &&
               type_size(how->table, type->target, &out->each) == CH_OK &&
               out->each != 0;
    }
    struct layout_object object = { .table = how->table,
                                    .dwarf = how->dwarf,
                                    .memory = how->memory,
                                    .held = how->held,
                                    .type = index,
                                    .address = place->address };
    if (!layout_table_find(&object) || !layout_is_contiguous(object.row) ||
        !layout_table_read(&object, &view) || view.damage != NULL || view.no_size)
        return false;
    *out = (struct type_extent){ view.kind, view.address, view.size, view.width };
    if (view.form == LAYOUT_TEXT)
        return true;
    if (!layout_field(&object, 0, &out->address, &view) || view.item_count == 0 ||
        view.items[0].value.address != out->address)
        return false;
    out->each = layout_size(&object, view.items[0].value.type);
    return out->each != 0;
}

// extent_bytes gives the bytes of the block at address. Its head has its size; that of
// one with a mapping of its own fills the mapping's pages, of another the head of the
// next block says that it is in use. 0: none of both is so.
static uint64_t extent_bytes(const struct type_value *how, uint64_t address)
{
    enum { HEAD = 16, PAGE = 4096, IN_USE = 1, MAPPED = 2, FLAGS = 7, SMALLEST = 32 };
    uint64_t before;
    uint64_t head;
    uint64_t next;
    const struct held_mapping *mapping =
        how->held != NULL && address % HEAD == 0
            ? held_file_mapping(how->held, address - HEAD)
            : NULL;
    if (mapping == NULL || mapping->flags & HELD_OF_FILE ||
        !(mapping->flags & HELD_WRITE) ||
        memory_read_word(how->memory, address - HEAD, &before) != CH_OK ||
        memory_read_word(how->memory, address - HEAD / 2, &head) != CH_OK)
        return 0;
    uint64_t size = head & ~(uint64_t)FLAGS;
    if (size < SMALLEST || size > mapping->end - (address - HEAD))
        return 0;
    if ((head & FLAGS) == MAPPED)
        return before == 0 && (address - HEAD) % PAGE == 0 && size % PAGE == 0
                   ? size - HEAD
                   : 0;
    if (head & MAPPED ||
        memory_read_word(how->memory, address - HEAD / 2 + size, &next) != CH_OK)
        return 0;
    return size % HEAD == 0 && (next & (IN_USE | MAPPED)) == IN_USE &&
                   (next & ~(uint64_t)FLAGS) >= SMALLEST
               ? size - HEAD / 2
               : 0;
}

bool type_extent_of_block(const struct type_value *how, uint32_t type, uint64_t address,
                          struct type_extent *out)
{
    uint64_t bytes = extent_bytes(how, address);
    *out = (struct type_extent){ "block", address, 0, 0 };
    if (bytes == 0 || type_size(how->table, type, &out->each) != CH_OK ||
        out->each == 0)
        return false;
    out->count = bytes / out->each;
    return out->count != 0;
}
