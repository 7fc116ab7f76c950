// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // pipe2
#endif
#include "base/system/reachable.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/mounts.h"
#include "base/system/rights.h"

enum {
    ANSWER_MS = 1000,
    PROBED_MAX = 16, // mounts whose answer is known; later ones are refused
    OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
};

struct probed_mount {
    char path[256]; // its mount point
    bool answers;
};

struct known_mounts {
    struct mounts mounts;
    struct probed_mount probed[PROBED_MAX];
    size_t count;
};

// What a thread knows is on the heap: a library that is loaded while a program runs has
// little room for thread-local variables. NULL: the mounts were not read.
static _Thread_local struct known_mounts *known;

static bool read_mounts(void)
{
    if (known != NULL)
        return true;
    struct known_mounts *made = calloc(1, sizeof(*made));
    if (made == NULL || mounts_read(&made->mounts, 0) != CH_OK) {
        free(made);
        return false;
    }
    known = made;
    return true;
}

// probe_mount opens path in a child. One that does not return is abandoned: it may be
// in a wait that no signal ends.
static bool probe_mount(const char *path)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        (void)rights_open(path, OPEN_FLAGS);
        _exit(0);
    }
    (void)close(ends[1]);
    struct pollfd ended = { .fd = ends[0], .events = POLLIN };
    bool answers = child > 0 && poll(&ended, 1, ANSWER_MS) == 1;
    (void)close(ends[0]);
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, answers ? 0 : WNOHANG);
    }
    return answers;
}

bool reachable_check(const char *path)
{
    size_t size;
    if (!read_mounts() || path[0] != '/' ||
        !mounts_may_block(&known->mounts, path, strlen(path), &size))
        return true;
    for (size_t i = 0; i < known->count; i++) {
        const struct probed_mount *mount = &known->probed[i];
        if (strncmp(mount->path, path, size) == 0 && mount->path[size] == 0)
            return mount->answers;
    }
    struct probed_mount *mount = &known->probed[known->count];
    if (known->count == PROBED_MAX || size >= sizeof(mount->path))
        return false;
    known->count++;
    memcpy(mount->path, path, size);
    mount->path[size] = 0;
    mount->answers = probe_mount(path);
    return mount->answers;
}

int reachable_open(const char *path)
{
    if (reachable_check(path))
        return rights_open(path, OPEN_FLAGS);
    errno = ETIMEDOUT;
    return -1;
}

void reachable_forget(void)
{
    if (known != NULL)
        mounts_deinit(&known->mounts);
    free(known);
    known = NULL;
}
