// SPDX-License-Identifier: Apache-2.0
#include "base/system/bounded_write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
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
    errno = EPERM;
    return -1;
}

static void bounded_wake(int signal)
{
    (void)signal;
}

// bounded_alarm makes a write end after ms if it blocks after all, because another
// process used up the room or the terminal was stopped in between. 0: disables the
// alarm.
static void bounded_alarm(unsigned ms)
{
    const struct timeval first = { .tv_sec = ms / 1000,
                                   .tv_usec = (suseconds_t)(ms % 1000) * 1000 };
    // The alarm repeats, in case the first comes just before the write.
    const struct itimerval alarm = { .it_value = first, .it_interval = first };
    (void)setitimer(ITIMER_REAL, &alarm, NULL);
}

size_t bounded_write(int fd, const char *bytes, size_t size, unsigned stall_ms)
{
    const struct sigaction wake = { .sa_handler = bounded_wake };
    struct sigaction before;
    size_t done = 0;
    (void)sigaction(SIGALRM, &wake, &before);
    while (done < size) {
        struct pollfd room = { .fd = fd, .events = POLLOUT };
        // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
        size_t piece = size - done < PIPE_BUF ? size - done : PIPE_BUF;
        if (poll(&room, 1, (int)stall_ms) <= 0)
            break;
        bounded_alarm(stall_ms + 1); // 0 would disable it
        ssize_t count = write(fd, bytes + done, piece);
        bounded_alarm(0);
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    (void)sigaction(SIGALRM, &before, NULL);
    return done;
}
