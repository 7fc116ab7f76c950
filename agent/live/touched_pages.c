// SPDX-License-Identifier: Apache-2.0
#include "agent/live/touched_pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)

void touched_pages_open(struct touched_pages *pages, pid_t pid)
{
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
    pages->fd = open(path, O_RDONLY | O_CLOEXEC);
    pages->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    pages->first = 0;
    pages->count = 0;
}

void touched_pages_close(struct touched_pages *pages)
{
    if (pages->fd >= 0)
        close(pages->fd);
    pages->fd = -1;
}

// read_page_words reads the entries of page and of those after it. After one failure it
// gives up for good. The file ends where the address space does, so a page after that
// has no entry, which is no failure.
static void read_page_words(struct touched_pages *pages, uint64_t page)
{
    const size_t word = sizeof(pages->words[0]);
    ssize_t size =
        pread(pages->fd, pages->words, sizeof(pages->words), (off_t)(page * word));
    pages->first = page;
    pages->count = size > 0 ? (size_t)size / word : 0;
    if (size < 0)
        touched_pages_close(pages);
}

static bool is_touched(struct touched_pages *pages, uint64_t page)
{
    if (pages->fd >= 0 && page - pages->first >= pages->count)
        read_page_words(pages, page);
    return pages->fd < 0 || (page - pages->first < pages->count &&
                             (pages->words[page - pages->first] & (PRESENT | SWAPPED)));
}

bool touched_pages_next(struct touched_pages *pages, uint64_t *start, uint64_t end,
                        uint64_t *out_end)
{
    uint64_t page = *start / pages->page_bytes;
    const uint64_t last = end / pages->page_bytes;
    while (page < last && !is_touched(pages, page))
        page++;
    *start = page * pages->page_bytes;
    while (page < last && is_touched(pages, page))
        page++;
    *out_end = page * pages->page_bytes;
    return *start < *out_end;
}
