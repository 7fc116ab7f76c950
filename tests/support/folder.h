// SPDX-License-Identifier: Apache-2.0
//
// A folder of the test's own under /tmp, and the few file operations tests want in it.
// folder_setup and folder_teardown are a cmocka pair; *state is the struct folder.
#pragma once
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
    char path[64];
};

static inline int folder_setup(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    if (folder == NULL)
        return -1;
    (void)snprintf(folder->path, sizeof(folder->path), "/tmp/crashhook-test-XXXXXX");
    *state = folder;
    return mkdtemp(folder->path) != NULL ? 0 : -1;
}

static inline int folder_teardown(void **state)
{
    struct folder *folder = *state;
    char *roots[] = { folder->path, NULL };
    int result = 0;
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (walk == NULL)
        return -1;
    for (FTSENT *file = fts_read(walk); file != NULL; file = fts_read(walk)) {
        if (file->fts_info != FTS_D)
            result |= remove(file->fts_path);
    }
    (void)fts_close(walk);
    free(folder);
    return result;
}

// folder_path joins the folder and name into a buffer that lives until the next call
// but three.
static inline const char *folder_path(const struct folder *folder, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, PATH_MAX, "%s/%s", folder->path, name);
    return path;
}

static inline bool folder_has(const struct folder *folder, const char *name)
{
    struct stat status;
    return lstat(folder_path(folder, name), &status) == 0;
}

// folder_write makes the file name with this content; 0 on success.
static inline int folder_write(const struct folder *folder, const char *name,
                               const char *content)
{
    int fd = open(folder_path(folder, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        return -1;
    size_t size = strlen(content);
    bool ok = write(fd, content, size) == (ssize_t)size;
    return close(fd) == 0 && ok ? 0 : -1;
}

// folder_read copies the file name into to, terminated; its size, or -1.
static inline ssize_t folder_read(const struct folder *folder, const char *name,
                                  char *to, size_t size)
{
    int fd = open(folder_path(folder, name), O_RDONLY);
    if (fd < 0)
        return -1;
    ssize_t count = read(fd, to, size - 1);
    (void)close(fd);
    to[count > 0 ? count : 0] = 0;
    return count;
}
