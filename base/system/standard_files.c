// SPDX-License-Identifier: Apache-2.0
#include "base/system/standard_files.h"

#include <fcntl.h>
#include <unistd.h>

void standard_files_hold(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int useless = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        // open returns the lowest free number, which is this one.
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", useless | O_CLOEXEC) < 0)
            return;
    }
}
