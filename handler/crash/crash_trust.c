// SPDX-License-Identifier: Apache-2.0
//
// Whether a file may be executed as the agent, in crash context (see crash.c). A
// variable that another user has set may name it, since variables survive setuid
// programs; and a folder that others can write may have got another file since the
// start. So the file and every folder that leads to it must belong to root or to our
// user, and no other user may be able to write them.
//
// Two allowances: in a sticky folder, such as /tmp, others cannot replace what is not
// theirs. A group whose number is that of the owner is the owner's private group, which
// a umask of 002 lets write; root's group is as good as root.
#include "handler/crash/crash_trust.h"

#include <linux/limits.h>

#include "handler/machine/file_syscalls.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

enum { OVERFLOW_USER = 65534 };

const char *crash_distrusted;

// is_unmapped returns true if the kernel shows a user for which our user namespace has
// no number as OVERFLOW_USER: there most of the system's files belong to such users.
static bool is_unmapped(void)
{
    char map[1024];
    int fd = sys_open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    long size = sys_read(fd, map, sizeof(map) - 1);
    sys_close(fd);
    if (size <= 0)
        return false;
    map[size] = 0;
    for (const char *at = map; *at != 0; at++) {
        uint64_t first = sys_read_number(&at);
        (void)sys_read_number(&at); // which it is outside
        uint64_t count = sys_read_number(&at);
        if (first <= OVERFLOW_USER && OVERFLOW_USER - first < count)
            return false;
        if (*at != '\n')
            break;
    }
    return true;
}

static bool trusts_owner(uint32_t owner)
{
    return owner == 0 || owner == sys_geteuid() ||
           (owner == OVERFLOW_USER && is_unmapped());
}

static bool is_private(const struct stat *file)
{
    if (S_ISDIR(file->st_mode) && (file->st_mode & S_ISVTX) != 0)
        return true;
    bool group_is_owner = file->st_gid == file->st_uid || file->st_gid == 0;
    return (file->st_mode & S_IWOTH) == 0 &&
           ((file->st_mode & S_IWGRP) == 0 || group_is_owner);
}

// trusts_part checks one folder, link or file. What cannot be looked at, because a
// filter refuses that or it is not there, is left to the kernel, which then mostly does
// not execute it either.
static bool trusts_part(const char *part, bool *out_linked)
{
    struct stat file;
    if (sys_status_at(part, &file, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (!S_ISLNK(file.st_mode))
        return trusts_owner(file.st_uid) && is_private(&file);
    *out_linked = true; // its owner can lead it elsewhere
    return trusts_owner(file.st_uid);
}

// trusts_parts checks every part of the path.
static bool trusts_parts(const char *path, bool *out_linked)
{
    char part[PATH_MAX];
    for (size_t i = 0; i < sizeof(part); i++) {
        bool ends = path[i] == 0;
        part[i] = 0;
        if ((ends || path[i] == '/' || i == 1) && i != 0 &&
            !trusts_part(part, out_linked))
            return false;
        if (ends)
            return true;
        part[i] = path[i];
    }
    return false;
}

// find_target writes the path that the kernel has for the file. False: without /proc
// it is not known.
static bool find_target(const char *path, char to[static PATH_MAX])
{
    char name[] = "/proc/self/fd/0000000000";
    char *digit = name + sizeof(name) - 1;
    int fd = sys_open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (unsigned left = (unsigned)fd; left != 0; left /= 10)
        *--digit = (char)('0' + left % 10);
    char *start = name + sizeof("/proc/self/fd/") - 1;
    while (*digit != 0)
        *start++ = *digit++;
    *start = 0;
    long size = sys_readlink(name, to, PATH_MAX - 1);
    sys_close(fd);
    to[size > 0 ? size : 0] = 0;
    return to[0] == '/';
}

bool crash_trusts(const char *path)
{
    char target[PATH_MAX];
    struct stat file;
    bool linked = false;
    if (sys_status_at(path, &file, 0) != 0)
        return true; // of several places most have none
    if (!trusts_parts(path, &linked))
        return false;
    return !linked || !find_target(path, target) || trusts_parts(target, &linked);
}
