// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/database/sqlite_changes.h"
#include "fuzz/fuzz.h"

enum { PAGE_BYTES = 512, FRAMES = 3 };

// The log of a SQLite file: what it says was changed, and its pages.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[32];
    struct sqlite_changes *changes = NULL;
    struct page_set pages = { 0 };
    uint32_t count = 0;
    int log = memfd_create("log", MFD_CLOEXEC);
    int copy = memfd_create("copy", MFD_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", log);
    if (log >= 0 && copy >= 0 && write(log, bytes, size) == (ssize_t)size &&
        sqlite_changes_create(path, PAGE_BYTES, &changes) == CH_OK) {
        sqlite_changes_note(changes, FRAMES);
        if (sqlite_changes_take(changes, &pages) == CH_OK)
            (void)!sqlite_changes_replay(changes, copy, &count);
    }
    sqlite_changes_destroy(changes);
    page_set_deinit(&pages);
    close(log);
    close(copy);
    return 0;
}
