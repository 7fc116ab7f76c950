// SPDX-License-Identifier: Apache-2.0
//
// Real processes for tests of what stops and reads them: a fork that says when it is
// where the test wants it, and is gone when the test is.
#pragma once
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct child {
    pid_t pid;
    int ready; // the child has written a byte here once it is ready
    int go;    // what the test writes here, the child can read
};

// A child_main_fn is all that the child does; what it returns is its exit status.
typedef int child_main_fn(int ready, int go);

// child_start forks and waits until the child has said that it is ready.
static inline struct child child_start(child_main_fn *child_main)
{
    int ready[2];
    int go[2];
    char byte;
    if (pipe(ready) != 0 || pipe(go) != 0)
        abort();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        close(go[1]);
        _exit(child_main(ready[1], go[0]));
    }
    close(ready[1]);
    close(go[0]);
    if (pid < 0 || read(ready[0], &byte, 1) != 1)
        abort();
    return (struct child){ .pid = pid, .ready = ready[0], .go = go[1] };
}

static inline void child_say_ready(int ready)
{
    if (write(ready, "r", 1) != 1)
        _exit(99);
}

// child_await_sleep waits until thread tid of the child sleeps in the kernel.
static inline void child_await_sleep(pid_t pid, pid_t tid)
{
    char path[64];
    char stat[512];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd >= 0 ? read(fd, stat, sizeof(stat) - 1) : -1;
        if (fd >= 0)
            close(fd);
        if (size <= 0)
            abort();
        stat[size] = 0;
        if (strstr(stat, ") S ") != NULL)
            return;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

// child_end kills the child if it still runs, and gives its wait status.
static inline int child_end(struct child *child, bool kill_it)
{
    int status = 0;
    if (kill_it)
        kill(child->pid, SIGKILL);
    waitpid(child->pid, &status, 0);
    close(child->ready);
    close(child->go);
    return status;
}
