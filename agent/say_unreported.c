// SPDX-License-Identifier: Apache-2.0
#include "agent/say_unreported.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/read_file.h"
#include "base/bounded_write.h"
#include "report/signal_name.h"

#define PRIORITY "<11>" // LOG_USER, LOG_ERR

// is_for_lines: a descriptor that can only be for messages, as the handler knows it.
static bool is_for_lines(int fd)
{
    struct stat file;
    if (fd < 0 || fstat(fd, &file) != 0)
        return false;
    if (S_ISREG(file.st_mode))
        return (fcntl(fd, F_GETFL) & O_APPEND) != 0;
    return S_ISCHR(file.st_mode) || S_ISFIFO(file.st_mode);
}

static bool say_to_daemon(const struct text *line)
{
    const struct sockaddr_un place = { AF_UNIX, "/dev/log" };
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool said =
        fd >= 0 && sendto(fd, line->bytes, line->size, MSG_NOSIGNAL | MSG_DONTWAIT,
                          (const struct sockaddr *)&place, sizeof(place)) > 0;
    if (fd >= 0)
        close(fd);
    return said;
}

static void say_to_kernel(const struct text *line)
{
    int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return;
    (void)!write(fd, line->bytes, line->size);
    close(fd);
}

void say_unreported(pid_t pid, int signal, int error_fd, const char *why)
{
    enum { STALL_MS = 100 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    const char *program = "program";
    if (read_process_link(pid, "exe", &path) == CH_OK && text_ok(&path)) {
        const char *slash = strrchr(path.bytes, '/');
        program = slash != NULL ? slash + 1 : path.bytes;
    }
    const char *name = signal_name(signal);
    text_appendf(&line, PRIORITY "crashhook: %s: %s is not reported: %s", program,
                 name != NULL ? name : "a signal", why);
    if (!text_ok(&line))
        return;
    size_t start = strlen(PRIORITY);
    if (is_for_lines(error_fd))
        (void)bounded_write(error_fd, line.bytes + start, line.size - start, STALL_MS);
    if (!say_to_daemon(&line))
        say_to_kernel(&line);
}
