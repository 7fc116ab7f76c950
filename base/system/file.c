// SPDX-License-Identifier: Apache-2.0
#include "base/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"

void file_close(int *fd)
{
    int error = errno;
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
    errno = error;
}

bool file_write_all(int fd, const void *bytes, size_t size)
{
    for (const char *at = bytes; size != 0;) {
        ssize_t count = write(fd, at, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        at += count;
        size -= (size_t)count;
    }
    return true;
}

ssize_t file_read_all(int fd, void *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count = read(fd, (char *)to + done, size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -1;
        if (count == 0)
            break;
        done += (size_t)count;
    }
    return (ssize_t)done;
}

size_t file_read_at(int fd, void *to, size_t size, uint64_t offset)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count =
            pread(fd, (char *)to + done, size - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    return done;
}

const char *file_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

bool file_make_parents(const char *path, mode_t mode)
{
    char folder[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof(folder)) {
        errno = length == 0 ? ENOENT : ENAMETOOLONG;
        return false;
    }
    memcpy(folder, path, length + 1);
    for (char *at = folder + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = 0;
        if (mkdir(folder, mode) != 0 && errno != EEXIST)
            return false;
        *at = '/';
    }
    return true;
}

bool file_put(const char *path, int flags, const void *bytes, size_t size)
{
    int CH_CLEANUP(file_close) fd =
        open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    return fd >= 0 && file_write_all(fd, bytes, size);
}
