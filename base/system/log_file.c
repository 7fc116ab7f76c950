// SPDX-License-Identifier: Apache-2.0
#include "base/system/log_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/own_user.h"

int log_file_open(const char *log)
{
    // O_NONBLOCK: a FIFO without a reader must not block.
    enum {
        FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    };
    struct stat file;
    if (log == NULL)
        return -1;
    if (strcmp(log, "stderr") == 0)
        return STDERR_FILENO;
    int fd = open(log, FLAGS, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, &file) == 0 && (file.st_uid == 0 || file.st_uid == own_user()) &&
        (!S_ISREG(file.st_mode) || file.st_nlink == 1))
        return fd;
    (void)close(fd);
    return -1;
}
