// SPDX-License-Identifier: Apache-2.0
#include "agent/images/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum ch_status read_file(const char *path, size_t limit_bytes, struct text *out)
{
    // musl's open sets O_CLOEXEC a second time, by a call of its own.
    int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return CH_ERR_IO;
    enum ch_status status = text_read(out, fd, limit_bytes);
    int error = errno;
    close(fd);
    errno = error;
    return status;
}

enum ch_status read_process_file(int pid, const char *name, size_t limit_bytes,
                                 struct text *out)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return read_file(path, limit_bytes, out);
}

enum ch_status read_process_link(int pid, const char *name, struct text *out)
{
    char path[64];
    char target[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    ssize_t length = readlink(path, target, sizeof(target));
    if (length < 0)
        return CH_ERR_IO;
    text_append(out, target, (size_t)length);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
