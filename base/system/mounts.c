// SPDX-License-Identifier: Apache-2.0
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // pipe2
#endif
#include "base/system/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/rights.h"

enum { MOUNTS_BYTES_MAX = 4 << 20 };

enum ch_status mounts_read(struct mounts *out, pid_t pid)
{
    char path[40];
    *out = (struct mounts){ { 0 } };
    (void)snprintf(path, sizeof(path),
                   pid != 0 ? "/proc/%d/mountinfo" : "/proc/self/mountinfo", pid);
    CH_CLEANUP(file_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return CH_ERR_IO;
    enum ch_status status = text_read(&out->lines, fd, MOUNTS_BYTES_MAX);
    if (status != CH_OK)
        mounts_deinit(out);
    return status;
}

void mounts_deinit(struct mounts *mounts)
{
    text_deinit(&mounts->lines);
}

// next_escaped returns the next byte of a field, in which the kernel writes white space
// and backslashes as three octal digits.
static char next_escaped(const char **at)
{
    const char *from = *at;
    if (from[0] != '\\' || from[1] < '0' || from[1] > '3' || from[2] < '0' ||
        from[2] > '7' || from[3] < '0' || from[3] > '7') {
        ++*at;
        return from[0];
    }
    *at += 4;
    return (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
}

// covered_bytes returns how many bytes of path the mount point covers; 0: it does not
// hold the path.
static size_t covered_bytes(const char *mount, const char *path, size_t path_size)
{
    size_t count = 0;
    while (*mount != ' ' && *mount != '\n' && *mount != 0) {
        char byte = next_escaped(&mount);
        if (count == path_size || path[count] != byte)
            return 0;
        count++;
    }
    bool root = count == 1;
    return root || count == path_size || path[count] == '/' ? count : 0;
}

// skip_fields returns the start of the field after count others, or the line's end.
static const char *skip_fields(const char *line, size_t count)
{
    for (; count > 0 && *line != '\n' && *line != 0; line++)
        count -= *line == ' ';
    return line;
}

static bool is_local(const char *type)
{
    static const char *const local[] = {
        "bcachefs", "btrfs",   "cramfs", "devtmpfs", "erofs",    "exfat", "ext2",
        "ext3",     "ext4",    "f2fs",   "iso9660",  "jfs",      "msdos", "nilfs2",
        "ntfs3",    "overlay", "proc",   "ramfs",    "reiserfs", "romfs", "rootfs",
        "squashfs", "sysfs",   "tmpfs",  "udf",      "vfat",     "xfs",   "zfs",
    };
    size_t size = strcspn(type, " \n");
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        if (strlen(local[i]) == size && memcmp(local[i], type, size) == 0)
            return true;
    }
    return false;
}

bool mounts_may_block(const struct mounts *mounts, const char *path, size_t path_size,
                      size_t *out_mount)
{
    enum { MOUNT_POINT = 4 }; // fields before it
    const char *type = "";
    size_t most = 0;
    const char *line = mounts->lines.size != 0 ? mounts->lines.bytes : "";
    while (*line != 0) {
        size_t covered = covered_bytes(skip_fields(line, MOUNT_POINT), path, path_size);
        size_t size = strcspn(line, "\n");
        // Optional fields end with a hyphen. A later mount hides an earlier one.
        const char *end = strstr(line, " - ");
        if (covered >= most && covered != 0 && end != NULL && end < line + size) {
            most = covered;
            type = end + 3;
        }
        line += size + (line[size] == '\n');
    }
    *out_mount = most;
    return !is_local(type);
}

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
