// SPDX-License-Identifier: Apache-2.0
#include "cli/session/temporary_folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

bool temporary_folder_make(const char *name, char path[static TEMPORARY_FOLDER_SIZE])
{
    const char *where = getenv("TMPDIR");
    int size = snprintf(path, TEMPORARY_FOLDER_SIZE, "%s/crashhook-%s.XXXXXX",
                        where != NULL && where[0] == '/' ? where : "/tmp", name);
    if (size < TEMPORARY_FOLDER_SIZE)
        return mkdtemp(path) != NULL;
    errno = ENAMETOOLONG;
    return false;
}

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    (void)!remove(path);
    return 0;
}

void temporary_folder_remove(const char *path)
{
    enum { DESCRIPTORS = 16 };
    (void)nftw(path, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
}
