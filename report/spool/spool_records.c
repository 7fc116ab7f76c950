// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_records.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_named(const char *name, const char *prefix)
{
    static const char suffix[] = ".record";
    size_t length = strlen(name);
    return length > strlen(prefix) + sizeof(suffix) &&
           memcmp(name, prefix, strlen(prefix)) == 0 &&
           strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}

bool spool_is_record(const char *name)
{
    return is_named(name, "crash-");
}

static bool spool_is_liveness(const char *name)
{
    return is_named(name, "life-");
}

void spool_liveness_name(uint64_t start_ticks, int32_t pid,
                         char out[static SPOOL_LIVENESS_NAME_SIZE])
{
    (void)snprintf(out, SPOOL_LIVENESS_NAME_SIZE,
                   "life-%016" PRIx64 "-%08" PRIx32 ".record", start_ticks,
                   (uint32_t)pid);
}

bool spool_is_words(const char *name)
{
    return is_named(name, "last-");
}

bool spool_words_process(const char *name, uint64_t *out_start_ticks, int32_t *out_pid)
{
    const char *at = name + strlen("last-");
    char *end;
    if (!spool_is_words(name))
        return false;
    uint64_t start = strtoull(at, &end, 16);
    if (end == at || *end != '-')
        return false;
    at = end + 1;
    unsigned long pid = strtoul(at, &end, 16);
    if (end == at || *end != '.' || pid == 0 || pid > INT32_MAX)
        return false;
    *out_start_ticks = start;
    *out_pid = (int32_t)pid;
    return true;
}

void spool_words_name(uint64_t start_ticks, int32_t pid,
                      char out[static SPOOL_LIVENESS_NAME_SIZE])
{
    (void)snprintf(out, SPOOL_LIVENESS_NAME_SIZE,
                   "last-%016" PRIx64 "-%08" PRIx32 ".record", start_ticks,
                   (uint32_t)pid);
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

bool spool_take_record(const struct spool *spool, const char *name,
                       spool_record_fn *take, void *context)
{
    int fd = -1;
    if (spool_open_file(spool, name, &fd) != CH_OK)
        return false;
    bool held = hold_record(spool, name, fd);
    if (held && take(context, name, fd))
        (void)unlinkat(spool->folder_fd, name, 0);
    (void)close(fd);
    return held;
}

static enum ch_status take_named(const struct spool *spool,
                                 bool (*wanted)(const char *name),
                                 spool_record_fn *take, void *context)
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
        if (wanted(found->d_name))
            (void)spool_take_record(spool, found->d_name, take, context);
    }
    (void)closedir(directory);
    return CH_OK;
}

enum ch_status spool_take_records(const struct spool *spool, spool_record_fn *take,
                                  void *context)
{
    enum ch_status status = take_named(spool, spool_is_record, take, context);
    if (status == CH_OK)
        status = take_named(spool, spool_is_words, take, context);
    return status == CH_OK ? take_named(spool, spool_is_liveness, take, context)
                           : status;
}
