// SPDX-License-Identifier: Apache-2.0
#include "images/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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

// A kept_file was opened before it is read.
struct kept_file {
    const char *name;
    int pid;
    int fd;
};

enum { KEPT_FILES = 8 };
static struct kept_file kept_files[KEPT_FILES];
static size_t kept_count;

void read_process_file_keep(int pid, const char *name)
{
    char path[64];
    if (kept_count == KEPT_FILES)
        return;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    int fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0)
        kept_files[kept_count++] = (struct kept_file){ name, pid, fd };
}

// find_kept gives the descriptor of a kept file, at its beginning; -1: none is kept.
static int find_kept(int pid, const char *name)
{
    for (size_t i = 0; i < kept_count; i++) {
        const struct kept_file *kept = &kept_files[i];
        if (kept->pid == pid && strcmp(kept->name, name) == 0)
            return lseek(kept->fd, 0, SEEK_SET) == 0 ? kept->fd : -1;
    }
    return -1;
}

enum ch_status read_process_file(int pid, const char *name, size_t limit_bytes,
                                 struct text *out)
{
    char path[64];
    int kept = find_kept(pid, name);
    // A process with the number of one that is gone has other files.
    enum ch_status status = kept >= 0 ? text_read(out, kept, limit_bytes) : CH_ERR_IO;
    if (status != CH_ERR_IO)
        return status;
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
