// SPDX-License-Identifier: Apache-2.0
#include "agent/live/map_query.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/array.h"
#include "formats/debug/maps.h"

// procmap_query is the kernel's, for headers older than the kernel.
struct procmap_query {
    uint64_t size;
    uint64_t query_flags;
    uint64_t query_addr;
    uint64_t vma_start;
    uint64_t vma_end;
    uint64_t vma_flags;
    uint64_t vma_page_size;
    uint64_t vma_offset;
    uint64_t inode;
    uint32_t dev_major;
    uint32_t dev_minor;
    uint32_t vma_name_size; // in: of the buffer, 0: none; out: with its zero
    uint32_t build_id_size;
    uint64_t vma_name_addr;
    uint64_t build_id_addr;
};

#define PROCMAP_QUERY_CALL _IOWR('f', 17, struct procmap_query)

enum {
    VMA_PERMISSIONS = MAPS_READ | MAPS_WRITE | MAPS_EXECUTE | MAPS_SHARED, // the same
    COVERING_OR_NEXT = 0x10,
    MAPPINGS_MAX = 1 << 20,
};

// A map_query is the list under way.
struct map_query {
    struct target_images *to;
    size_t capacity;
    uint64_t next; // where the last mapping ends
    int fd;
    struct procmap_query asked;
    char name[PATH_MAX + 16]; // with " (deleted)"
};

// query_at asks for the mapping at address or the next one, with its name or without.
static bool query_at(struct map_query *query, uint64_t address, bool named)
{
    query->asked = (struct procmap_query){
        .size = sizeof(query->asked),
        .query_flags = COVERING_OR_NEXT,
        .query_addr = address,
        .vma_name_size = named ? sizeof(query->name) : 0,
        .vma_name_addr = named ? (uintptr_t)query->name : 0,
    };
    return ioctl(query->fd, PROCMAP_QUERY_CALL, &query->asked) == 0;
}

static struct target_mapping mapping_of(const struct procmap_query *asked)
{
    return (struct target_mapping){
        .start = asked->vma_start,
        .end = asked->vma_end,
        .permissions = (unsigned)asked->vma_flags & VMA_PERMISSIONS,
        .inode = asked->inode,
        .device = (uint64_t)asked->dev_major << 32 | asked->dev_minor,
        .offset = asked->vma_offset,
    };
}

// has_same_path returns true if a mapping is another part of the file before it.
static bool has_same_path(const struct target_mapping *before,
                          const struct target_mapping *mapping)
{
    return mapping->inode != 0 && mapping->start == before->end &&
           mapping->inode == before->inode && mapping->device == before->device;
}

// note_name appends the name to the text of all, and its size to the mapping.
static void note_name(const struct map_query *query, struct target_mapping *mapping)
{
    static const char deleted[] = " (deleted)";
    const size_t suffix = sizeof(deleted) - 1;
    size_t size = strnlen(query->name, query->asked.vma_name_size);
    if (query->asked.vma_name_size == 0 || size == 0)
        return;
    mapping->deleted =
        size > suffix && strcmp(query->name + size - suffix, deleted) == 0;
    mapping->path_size = mapping->deleted ? size - suffix : size;
    text_append(&query->to->maps, query->name, mapping->path_size);
}

static enum ch_status append_mapping(struct map_query *query,
                                     const struct target_mapping *mapping)
{
    struct target_images *to = query->to;
    if (!array_reserve(&to->mappings, &query->capacity, to->mapping_count,
                       sizeof(to->mappings[0])) ||
        to->mappings == NULL)
        return CH_ERR_NO_MEMORY;
    to->mappings[to->mapping_count++] = *mapping;
    query->next = mapping->end;
    return CH_OK;
}

// query_next appends the next mapping. CH_END: there is none.
static enum ch_status query_next(struct map_query *query)
{
    struct target_images *to = query->to;
    const struct target_mapping *before =
        to->mapping_count != 0 ? &to->mappings[to->mapping_count - 1] : NULL;
    // What follows a file's mapping is probably another part of it.
    bool named = before == NULL || before->inode == 0;
    if (!query_at(query, query->next, named))
        return errno == ENOENT ? CH_END : CH_ERR_UNSUPPORTED;
    struct target_mapping mapping = mapping_of(&query->asked);
    bool same = before != NULL && has_same_path(before, &mapping);
    if (mapping.end <= mapping.start || mapping.end <= query->next ||
        to->mapping_count == MAPPINGS_MAX)
        return CH_ERR_UNSUPPORTED;
    if (!same && !named) {
        if (!query_at(query, mapping.start, true) ||
            query->asked.vma_start != mapping.start)
            return CH_ERR_UNSUPPORTED;
        mapping = mapping_of(&query->asked);
    }
    if (same) {
        mapping.path_size = before->path_size;
        mapping.deleted = before->deleted;
    } else {
        note_name(query, &mapping);
    }
    return append_mapping(query, &mapping);
}

// set_paths points the mappings to their names, which have ceased to move.
static void set_paths(struct target_images *to)
{
    const char *at = to->maps.bytes;
    for (size_t i = 0; i < to->mapping_count; i++) {
        struct target_mapping *mapping = &to->mappings[i];
        bool same = i != 0 && has_same_path(mapping - 1, mapping);
        if (mapping->path_size == 0)
            continue;
        mapping->path = same ? mapping[-1].path : at;
        at += same ? 0 : mapping->path_size;
    }
}

enum ch_status map_query_read(struct target_images *out, pid_t pid)
{
    char path[32];
    struct map_query query = { .to = out };
    enum ch_status status = CH_OK;
    *out = (struct target_images){ 0 };
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    query.fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (query.fd < 0)
        return CH_ERR_IO;
    while (status == CH_OK)
        status = query_next(&query);
    close(query.fd);
    if (status == CH_END && out->mapping_count != 0 && text_ok(&out->maps)) {
        set_paths(out);
        return CH_OK;
    }
    images_deinit(out);
    return status == CH_END ? CH_ERR_UNSUPPORTED : status;
}
