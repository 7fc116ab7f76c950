// SPDX-License-Identifier: Apache-2.0
#include "agent/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static enum ch_status read_all(int fd, size_t limit_bytes, struct text *out)
{
    char buffer[8192];
    size_t done = 0;
    for (;;) {
        ssize_t count = read(fd, buffer, sizeof(buffer));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return CH_ERR_IO;
        if (count == 0)
            return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
        size_t room = limit_bytes - done;
        text_append(out, buffer, (size_t)count < room ? (size_t)count : room);
        if ((size_t)count > room)
            return CH_ERR_LIMIT;
        done += (size_t)count;
    }
}

enum ch_status read_file(const char *path, size_t limit_bytes, struct text *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return CH_ERR_IO;
    enum ch_status status = read_all(fd, limit_bytes, out);
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
