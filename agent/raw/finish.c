// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/finish.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void default_signals_unblock(void)
{
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void default_signals_restore(void)
{
    for (int number = 1; number <= SIGRTMAX; number++)
        (void)signal(number, SIG_DFL);
    default_signals_unblock();
}

// find_self_above writes the agent's path up to the last but some slash, and returns
// its size; -1: there is none.
static ssize_t find_self_above(int slashes, char path[static PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
    for (int i = 0; i < slashes; i++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return -1;
        *slash = 0;
    }
    return (ssize_t)strlen(path);
}

// find_finish_command writes the path of crashhook. Either the agent is in
// PREFIX/libexec/crashhook and the command in PREFIX/bin, or both are in one folder.
static bool find_finish_command(char path[static PATH_MAX])
{
    // A path without links, so the folder above is the one before the last slash.
    static const struct {
        int slashes;
        const char *name;
    } places[] = { { 3, "/bin/crashhook" }, { 1, "/crashhook" } };
    static char found[PATH_MAX]; // before
    if (found[0] != 0 && access(found, X_OK) == 0) {
        memcpy(path, found, strlen(found) + 1);
        return true;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        size_t size = strlen(places[i].name) + 1;
        ssize_t above = find_self_above(places[i].slashes, path);
        if (above < 0 || (size_t)above + size > PATH_MAX)
            continue;
        memcpy(path + above, places[i].name, size);
        if (access(path, X_OK) == 0) {
            memcpy(found, path, (size_t)above + size);
            return true;
        }
    }
    return false;
}

void finish_keep_images(struct finish *finish, const struct target_images *images)
{
    for (size_t i = 0; i < images->count && finish->image_count < FINISH_IMAGES; i++) {
        int fd = images->images[i].owns_file
                     ? fcntl(images->images[i].file_fd, F_DUPFD_CLOEXEC, 3)
                     : -1;
        if (fd >= 0)
            finish->image_fds[finish->image_count++] = fd;
    }
}

bool finish_is_possible(void)
{
    char path[PATH_MAX];
    return find_finish_command(path);
}

bool finish_may_ask(pid_t pid)
{
    // What follows the name and the state: the process's parent, group, session,
    // terminal, and the group in the foreground of that.
    enum { GROUP = 1, FOREGROUND = 4, FIELDS };
    char path[32];
    char line[512];
    long fields[FIELDS] = { 0 };
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = isatty(STDERR_FILENO) != 0 ? fopen(path, "re") : NULL;
    if (file == NULL)
        return false;
    size_t size = fread(line, 1, sizeof(line) - 1, file);
    (void)fclose(file);
    line[size] = 0;
    char *at = strrchr(line, ')');
    if (at == NULL || strlen(at) < sizeof(") S "))
        return false;
    at += sizeof(") S ") - 1;
    for (int i = 0; i < FIELDS; i++)
        fields[i] = strtol(at, &at, 10);
    return fields[GROUP] > 0 && fields[GROUP] == fields[FOREGROUND];
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
    char images[FINISH_IMAGES * 12] = "";

    if (!find_finish_command(path))
        return;
    setsid();
    default_signals_restore();
    fcntl(finish->lock_fd, F_SETFD, 0);
    if (finish->held_fd >= 0)
        fcntl(finish->held_fd, F_SETFD, 0);
    for (size_t i = 0, at = 0; i < finish->image_count; i++) {
        fcntl(finish->image_fds[i], F_SETFD, 0);
        at += (size_t)snprintf(images + at, sizeof(images) - at, "%d,",
                               finish->image_fds[i]);
    }
    snprintf(lock, sizeof(lock), "%d", finish->lock_fd);
    snprintf(held, sizeof(held), "%d", finish->held_fd);
    execl(path, "crashhook", "finish", "--spool", finish->spool, "--id", finish->id,
          "--lock-fd", lock, "--held-fd", held, "--image-fds", images,
          finish->asks ? "--ask" : NULL, (char *)NULL);
}

void finish_sweep(const char *command)
{
    char path[PATH_MAX];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (!find_finish_command(path) || null < 0)
        return;
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    execl(path, "crashhook", command, (char *)NULL);
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
