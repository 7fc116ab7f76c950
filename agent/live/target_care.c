// SPDX-License-Identifier: Apache-2.0
#include "agent/live/target_care.h"

#include <stdlib.h>
#include <string.h>

#include "agent/live/touched_pages.h"
#include "base/system/mounts.h"

struct target_care {
    const struct target_images *images;
    struct touched_pages pages;
    struct mounts mounts;
};

struct target_care *target_care_create(const struct target_images *images, pid_t tid,
                                       pid_t pid)
{
    struct target_care *care = malloc(sizeof(*care));
    if (care == NULL)
        return NULL;
    care->images = images;
    touched_pages_open(&care->pages, tid);
    (void)!mounts_read(&care->mounts, pid); // without it, no file is read
    return care;
}

void target_care_destroy(struct target_care *care)
{
    if (care == NULL)
        return;
    touched_pages_close(&care->pages);
    mounts_deinit(&care->mounts);
    free(care);
}

static bool mapping_begins(const struct target_mapping *mapping, const char *start)
{
    size_t size = strlen(start);
    return mapping->path_size >= size && memcmp(mapping->path, start, size) == 0;
}

// way_of_absent chooses the way for a page that is not in memory. Pages of files come
// from their file system. The kernel fills others with zeros, unless userfaultfd has
// somebody else fill them: /proc/PID/mem then answers EIO, where process_vm_readv
// waits.
static enum page_way way_of_absent(const struct target_care *care, uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(care->images, address);
    size_t mount;
    if (mapping == NULL)
        return PAGE_LEFT_OUT;
    if (!mapping_begins(mapping, "/") || mapping_begins(mapping, "/memfd:") ||
        mapping_begins(mapping, "/dev/shm/") || mapping_begins(mapping, "/dev/zero"))
        return PAGE_BY_FILE;
    if (mapping->deleted || mapping_begins(mapping, "/dev/") ||
        mounts_may_block(&care->mounts, mapping->path, mapping->path_size, &mount))
        return PAGE_LEFT_OUT;
    return PAGE_BY_READV;
}

enum page_way target_care_way(struct target_care *care, uint64_t address)
{
    const uint64_t page = care->pages.page_bytes;
    uint64_t start = address & ~(page - 1);
    uint64_t end;
    bool present = touched_pages_next(&care->pages, &start, start + page, &end);
    if (care->pages.fd < 0)
        return PAGE_UNKNOWN;
    return present ? PAGE_BY_READV : way_of_absent(care, address);
}
