// SPDX-License-Identifier: Apache-2.0
#include "agent/core/core_mappings.h"

#include <stdlib.h>
#include <string.h>

#include "base/sorted.h"
#include "formats/debug/elf.h"
#include "formats/debug/maps.h"

enum { MAPPINGS_MAX = 1 << 18 };

static unsigned permissions_of(uint32_t flags)
{
    return (flags & ELF_PF_R ? MAPS_READ : 0u) | (flags & ELF_PF_W ? MAPS_WRITE : 0u) |
           (flags & ELF_PF_X ? MAPS_EXECUTE : 0u);
}

static int by_mapping_start(const void *left, const void *right)
{
    const struct target_mapping *a = left;
    const struct target_mapping *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return 0;
}

// file_mapping converts an entry of the table of files. Consecutive equal paths are one
// file; a running number stands in for the inode.
static struct target_mapping file_mapping(const struct core_mapping *from,
                                          const struct target_mapping *before)
{
    static const char suffix[] = " (deleted)";
    size_t size = strlen(from->path);
    struct target_mapping mapping = {
        .start = from->start,
        .end = from->end,
        .permissions = MAPS_READ | MAPS_EXECUTE,
        .offset = from->offset,
        .path = from->path,
    };
    if (size > sizeof(suffix) - 1 &&
        strcmp(from->path + size - (sizeof(suffix) - 1), suffix) == 0) {
        mapping.deleted = true;
        size -= sizeof(suffix) - 1;
    }
    mapping.path_size = size;
    bool same = before != NULL && before->path_size == size &&
                before->deleted == mapping.deleted &&
                memcmp(before->path, from->path, size) == 0;
    mapping.inode = before != NULL ? before->inode + !same : 1;
    return mapping;
}

// read_mapped_files lists the table's mappings, sorted.
static size_t read_mapped_files(const struct core_file *core,
                                struct target_mapping *out, size_t room)
{
    struct core_files files = core->files;
    struct core_mapping mapping;
    size_t count = 0;
    while (core->has_files && count < room) {
        enum ch_status status = core_files_next(&files, &mapping);
        if (status == CH_END || status == CH_ERR_TRUNCATED)
            break;
        if (status != CH_OK)
            continue;
        out[count] = file_mapping(&mapping, count != 0 ? &out[count - 1] : NULL);
        count++;
    }
    qsort(out, count, sizeof(*out), by_mapping_start);
    return count;
}

// find_mapping is the file mapped at address, or NULL.
static const struct target_mapping *find_mapping(const struct target_mapping *files,
                                                 size_t count, uint64_t address)
{
    size_t after = SORTED_UP_TO(files, count, start, address);
    return after != 0 && address < files[after - 1].end ? &files[after - 1] : NULL;
}

static struct target_mapping segment_mapping(const struct core_segment *segment,
                                             const struct target_mapping *file)
{
    struct target_mapping mapping = { .start = segment->start,
                                      .end = segment->end,
                                      .permissions = permissions_of(segment->flags) };
    if (file == NULL)
        return mapping;
    mapping.inode = file->inode;
    mapping.offset = file->offset + (segment->start - file->start);
    mapping.path = file->path;
    mapping.path_size = file->path_size;
    mapping.deleted = file->deleted;
    return mapping;
}

// drop_mapping_overlaps cuts mappings that reach into the next one; only a damaged core
// has such.
static void drop_mapping_overlaps(struct target_images *images)
{
    for (size_t i = 1; i < images->mapping_count; i++) {
        struct target_mapping *before = &images->mappings[i - 1];
        if (before->end > images->mappings[i].start)
            before->end = images->mappings[i].start;
    }
}

// name_special gives the mappings that the kernel made, as far as the auxiliary vector
// tells where they are, the names that they have in /proc/PID/maps. The program's name
// is on the first thread's stack.
static void name_special(const struct core_file *core, struct target_images *images)
{
    static const struct {
        uint64_t type;
        const char *name;
    } specials[] = { { CORE_AT_SYSINFO_EHDR, "[vdso]" },
                     { CORE_AT_EXECFN, "[stack]" } };
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        uint64_t address;
        if (core_file_auxv(core, specials[i].type, &address) != CH_OK)
            continue;
        size_t after =
            SORTED_UP_TO(images->mappings, images->mapping_count, start, address);
        struct target_mapping *mapping =
            after != 0 ? &images->mappings[after - 1] : NULL;
        if (mapping == NULL || address >= mapping->end || mapping->inode != 0)
            continue;
        mapping->path = specials[i].name;
        mapping->path_size = strlen(specials[i].name);
    }
}

enum ch_status core_mappings_read(const struct core_file *core,
                                  struct target_images *out)
{
    size_t segments = core->segment_count;
    size_t room = core->has_files && core->files.count < MAPPINGS_MAX
                      ? (size_t)core->files.count
                      : MAPPINGS_MAX;
    if (!core->has_files)
        room = 0;
    struct target_mapping *files = calloc(room + 1, sizeof(*files));
    out->mappings = calloc(segments + room + 1, sizeof(*out->mappings));
    if (files == NULL || out->mappings == NULL) {
        free(files);
        return CH_ERR_NO_MEMORY;
    }
    size_t count = read_mapped_files(core, files, room);
    for (size_t i = 0; i < segments; i++) {
        const struct core_segment *segment = &core->segments[i];
        out->mappings[out->mapping_count++] =
            segment_mapping(segment, find_mapping(files, count, segment->start));
    }
    for (size_t i = 0; i < count; i++) {
        if (core_file_segment(core, files[i].start) == NULL)
            out->mappings[out->mapping_count++] = files[i];
    }
    free(files);
    qsort(out->mappings, out->mapping_count, sizeof(*out->mappings), by_mapping_start);
    drop_mapping_overlaps(out);
    name_special(core, out);
    return CH_OK;
}

void core_mappings_name(struct target_images *images, const char *path, uint64_t start,
                        uint64_t end)
{
    // The start address serves as the inode: no other file has it, and it is not 0.
    for (size_t i = 0; i < images->mapping_count; i++) {
        struct target_mapping *mapping = &images->mappings[i];
        if (mapping->start < start || mapping->start >= end || mapping->inode != 0)
            continue;
        mapping->inode = start;
        mapping->offset = mapping->start - start;
        mapping->path = path;
        mapping->path_size = strlen(path);
    }
}
