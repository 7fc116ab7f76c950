// SPDX-License-Identifier: Apache-2.0
#include "cli/render/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int pager_terminal = -1; // where the pager writes; -1: there is none
static pid_t pager_process;

// has_less looks for less in PATH: without it output goes straight to the terminal.
static bool has_less(void)
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != 0) {
        char file[PATH_MAX];
        size_t length = strcspn(path, ":");
        int size = snprintf(file, sizeof(file), "%.*s/less", (int)length, path);
        if (size > 0 && (size_t)size < sizeof(file) && access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

// wanted_pager is the command to run, or NULL.
static const char *wanted_pager(void)
{
    const char *pager = getenv("PAGER");
    const char *term = getenv("TERM");
    if (isatty(STDOUT_FILENO) == 0 || term == NULL || strcmp(term, "dumb") == 0)
        return NULL;
    if (pager != NULL)
        return pager[0] != 0 && strcmp(pager, "cat") != 0 ? pager : NULL;
    return has_less() ? "less" : NULL;
}

static void end_pager(void)
{
    int status = 0;
    (void)fflush(stdout);
    (void)dup2(pager_terminal,
               STDOUT_FILENO); // closes the pipe: the pager sees its end
    while (waitpid(pager_process, &status, 0) < 0 && errno == EINTR)
        ;
}

static void run_pager(const char *pager, const int pipe_fds[2])
{
    (void)dup2(pipe_fds[0], STDIN_FILENO);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    (void)setenv("LESS", "FRX", 0);
    (void)execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(127);
}

void pager_begin(void)
{
    int pipe_fds[2];
    const char *pager = wanted_pager();
    int terminal = pager != NULL ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3) : -1;
    if (terminal < 0 || pipe(pipe_fds) != 0)
        return;
    (void)fflush(stdout);
    pager_process = fork();
    if (pager_process == 0)
        run_pager(pager, pipe_fds);
    (void)close(pipe_fds[0]);
    if (pager_process > 0) {
        pager_terminal = terminal;
        (void)dup2(pipe_fds[1], STDOUT_FILENO);
        // Who leaves the pager early has seen enough.
        (void)signal(SIGPIPE, SIG_DFL);
        (void)atexit(end_pager);
    }
    (void)close(pipe_fds[1]);
}

int pager_descriptor(FILE *to)
{
    return to == stdout && pager_terminal >= 0 ? pager_terminal : fileno(to);
}
