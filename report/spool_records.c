// SPDX-License-Identifier: Apache-2.0
#include "report/spool_records.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool spool_is_record(const char *name)
{
    static const char prefix[] = "crash-";
    static const char suffix[] = ".record";
    size_t length = strlen(name);
    return length > sizeof(prefix) + sizeof(suffix) &&
           memcmp(name, prefix, sizeof(prefix) - 1) == 0 &&
           strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}

// hold_record locks the record; false: another process has it, or has converted it.
static bool hold_record(const struct spool *spool, const char *name, int fd)
{
    struct stat named;
    struct stat held;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &held) == 0 &&
           fstatat(spool->folder_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           named.st_dev == held.st_dev && named.st_ino == held.st_ino;
}

static void hand_record(const struct spool *spool, const char *name,
                        spool_record_fn *take, void *context)
{
    int fd = -1;
    if (spool_open_file(spool, name, &fd) != CH_OK)
        return;
    if (hold_record(spool, name, fd) && take(context, name, fd))
        (void)unlinkat(spool->folder_fd, name, 0);
    (void)close(fd);
}

enum ch_status spool_take_records(const struct spool *spool, spool_record_fn *take,
                                  void *context)
{
    int fd = openat(spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return CH_ERR_IO;
    }
    for (const struct dirent *found = readdir(directory); found != NULL;
         found = readdir(directory)) {
        if (spool_is_record(found->d_name))
            hand_record(spool, found->d_name, take, context);
    }
    (void)closedir(directory);
    return CH_OK;
}
