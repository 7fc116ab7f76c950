// SPDX-License-Identifier: Apache-2.0
#include "agent/finish.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// find_command writes the path of crashhook: the agent is PREFIX/libexec/crashhook/
// crashhook-agent, the command PREFIX/bin/crashhook; or both lie side by side.
static bool find_command(char path[static PATH_MAX])
{
    static const char *const places[] = { "../../bin/crashhook", "crashhook" };
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0)
        return false;
    self[length] = 0;
    char *slash = strrchr(self, '/');
    if (slash == NULL)
        return false;
    slash[1] = 0;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int size = snprintf(path, PATH_MAX, "%s%s", self, places[i]);
        if (size > 0 && size < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    return false;
}

bool finish_is_possible(void)
{
    char path[PATH_MAX];
    return find_command(path);
}

void finish_keep(struct finish *finish, const struct text *held)
{
    if (finish->held_fd >= 0 || held->size == 0 || !text_ok(held))
        return;
    int fd = memfd_create("crashhook", MFD_CLOEXEC);
    size_t done = 0;
    while (fd >= 0 && done < held->size) {
        ssize_t count = write(fd, held->bytes + done, held->size - done);
        if (count <= 0) {
            close(fd);
            return;
        }
        done += (size_t)count;
    }
    finish->held_fd = fd;
}

void finish_exec(const struct finish *finish)
{
    char path[PATH_MAX];
    char lock[16];
    char held[16];
    sigset_t none;

    if (!find_command(path))
        return;
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fcntl(finish->lock_fd, F_SETFD, 0);
    if (finish->held_fd >= 0)
        fcntl(finish->held_fd, F_SETFD, 0);
    snprintf(lock, sizeof(lock), "%d", finish->lock_fd);
    snprintf(held, sizeof(held), "%d", finish->held_fd);
    execl(path, "crashhook", "finish", "--spool", finish->spool, "--id", finish->id,
          "--lock-fd", lock, "--held-fd", held, (char *)NULL);
}

void finish_run(const struct finish *finish)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        finish_exec(finish);
        _exit(127);
    }
    if (pid > 0)
        waitpid(pid, &status, 0);
}
