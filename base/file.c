// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void file_close(const int *fd)
{
    int error = errno;
    if (*fd >= 0)
        (void)close(*fd);
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

const char *file_name(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    return slash != NULL ? slash + 1 : path;
}
