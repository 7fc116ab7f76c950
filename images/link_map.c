// SPDX-License-Identifier: Apache-2.0
#include "images/link_map.h"

#include <elf.h>
#include <limits.h>
#include <link.h>

#include "base/cursor.h"
#include "images/read_file.h"

enum {
    ENTRIES_MAX = 8192,
    DYNAMIC_MAX = 256,
    AUXV_LIMIT_BYTES = 4096,
};

// find_auxv gives the value of one entry of the process's auxiliary vector.
static bool find_auxv(pid_t pid, uint64_t wanted, uint64_t *out)
{
    struct text auxv = { 0 };
    bool found = false;
    if (read_process_file(pid, "auxv", AUXV_LIMIT_BYTES, &auxv) == CH_OK) {
        struct cursor c = cursor_over(auxv.bytes, auxv.size);
        while (!found && cursor_left(&c) >= 16) {
            uint64_t type = cursor_u64(&c);
            uint64_t value = cursor_u64(&c);
            found = type == wanted;
            if (found)
                *out = value;
        }
    }
    text_deinit(&auxv);
    return found;
}

enum ch_status link_map_dynamic(const struct memory_reader *reader, uint64_t dynamic,
                                unsigned number, uint64_t *out_tag, uint64_t *out_value)
{
    uint64_t entry = dynamic + number * sizeof(Elf64_Dyn);
    uint64_t tag;
    enum ch_status status = memory_read_word(reader, entry, &tag);
    if (status == CH_OK)
        status = memory_read_word(reader, entry + sizeof(tag), out_value);
    if (status == CH_OK)
        *out_tag = tag;
    return status;
}

// find_debug gives the address of r_debug, which the dynamic linker stores in the
// program's dynamic section.
static enum ch_status find_debug(const struct memory_reader *reader, uint64_t dynamic,
                                 uint64_t *out)
{
    for (unsigned i = 0; i < DYNAMIC_MAX; i++) {
        uint64_t tag;
        uint64_t value;
        enum ch_status status = link_map_dynamic(reader, dynamic, i, &tag, &value);
        if (status != CH_OK)
            return status;
        if (tag == DT_NULL)
            break;
        if (tag == DT_DEBUG && value != 0) {
            *out = value;
            return CH_OK;
        }
    }
    return CH_ERR_NOT_FOUND;
}

static enum ch_status read_link(const struct memory_reader *reader, uint64_t address,
                                struct link_map_entry *out, uint64_t *out_next)
{
    uint8_t bytes[offsetof(struct link_map, l_prev)];
    enum ch_status status = memory_read(reader, address, bytes, sizeof(bytes));
    if (status != CH_OK)
        return status;
    struct cursor c = cursor_over(bytes, sizeof(bytes));
    c.big_endian = reader->big_endian;
    out->address = address;
    out->bias = cursor_u64(&c);
    out->name = cursor_u64(&c);
    out->dynamic = cursor_u64(&c);
    *out_next = cursor_u64(&c);
    return CH_OK;
}

enum ch_status link_map_walk(const struct memory_reader *memory, uint64_t dynamic,
                             link_map_fn *visit, void *context)
{
    uint64_t debug = 0;
    uint64_t address = 0;
    enum ch_status status = find_debug(memory, dynamic, &debug);
    if (status == CH_OK)
        status =
            memory_read_word(memory, debug + offsetof(struct r_debug, r_map), &address);
    for (unsigned i = 0; status == CH_OK && address != 0; i++) {
        struct link_map_entry entry;
        if (i == ENTRIES_MAX)
            return CH_ERR_LIMIT;
        status = read_link(memory, address, &entry, &address);
        if (status == CH_OK)
            status = visit(context, &entry);
    }
    return status;
}

// An adding is what link_map_read adds to.
struct adding {
    struct target_images *images;
    const struct memory_reader *memory;
};

// add_link adds the object unless an image already holds its dynamic section.
static enum ch_status add_link(void *context, const struct link_map_entry *entry)
{
    const struct adding *adding = context;
    char path[PATH_MAX];
    if (entry->dynamic == 0 || images_find(adding->images, entry->dynamic) != NULL)
        return CH_OK;
    if (memory_read_string(adding->memory, entry->name, path, sizeof(path)) != CH_OK)
        path[0] = 0;
    enum ch_status status =
        images_add(adding->images, adding->memory, entry->bias, path);
    // Without a header there, the list is wrong or the object has none in memory.
    return status == CH_ERR_NOT_FOUND ? CH_OK : status;
}

enum ch_status link_map_read(struct target_images *images, pid_t pid,
                             const struct memory_reader *memory)
{
    struct adding adding = { .images = images, .memory = memory };
    uint64_t headers;
    // Only a program's dynamic section leads to the list, and a program is mostly
    // mapped below its libraries: the kernel need not be asked which image that is.
    if (images->count != 0 && images->images[0].dynamic != 0) {
        enum ch_status status =
            link_map_walk(memory, images->images[0].dynamic, add_link, &adding);
        if (status == CH_OK)
            return CH_OK;
    }
    if (!find_auxv(pid, AT_PHDR, &headers))
        return CH_ERR_NOT_FOUND;
    const struct target_image *program = images_find(images, headers);
    if (program == NULL || program->dynamic == 0)
        return CH_ERR_NOT_FOUND;
    return link_map_walk(memory, program->dynamic, add_link, &adding);
}
