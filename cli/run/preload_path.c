// SPDX-License-Identifier: Apache-2.0
#include "cli/run/preload_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

// OTHERS_WRITE: whoever can change the folder, or replace it, decides what is loaded.
enum { OTHERS_WRITE = S_IWGRP | S_IWOTH };

// preload_parent_is_safe says whether others cannot move or remove what we create in
// parent.
static bool preload_parent_is_safe(const char *parent)
{
    struct stat status;
    return lstat(parent, &status) == 0 && S_ISDIR(status.st_mode) &&
           (status.st_uid == 0 || status.st_uid == geteuid()) &&
           ((status.st_mode & OTHERS_WRITE) == 0 || (status.st_mode & S_ISVTX) != 0);
}

// preload_folder_make creates folder, or accepts the one that an earlier run created.
static bool preload_folder_make(const char *folder)
{
    struct stat status;
    // A child that became another user loads the library too, so our umask must not
    // matter.
    if (mkdir(folder, 0755) == 0)
        (void)chmod(folder, 0755);
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & OTHERS_WRITE) == 0;
}

static bool preload_link_leads_to(const char *link, const char *target)
{
    char found[PATH_MAX];
    ssize_t length = readlink(link, found, sizeof(found));
    return length > 0 && (size_t)length == strlen(target) &&
           memcmp(found, target, (size_t)length) == 0;
}

// preload_link_make makes link point to target. A link to something else is replaced
// atomically, because other processes of this user may be starting programs through it.
static bool preload_link_make(const char *link, const char *target)
{
    struct text CH_CLEANUP(text_deinit) other = { 0 };
    if (symlink(target, link) == 0 || preload_link_leads_to(link, target))
        return true;
    text_appendf(&other, "%s.%ld", link, (long)getpid());
    return text_ok(&other) && symlink(target, other.bytes) == 0 &&
           rename(other.bytes, link) == 0;
}

// preload_link_below makes a link to the library's folder in this user's folder below
// parent. It links the folder because the handler finds the agent relative to the
// library. The link's name is the inode of its target.
static bool preload_link_below(const char *parent, const char *library,
                               char out_path[static PATH_MAX])
{
    char target[PATH_MAX];
    struct stat status;
    struct text CH_CLEANUP(text_deinit) folder = { 0 };
    struct text CH_CLEANUP(text_deinit) link = { 0 };
    const char *name = strrchr(library, '/');
    (void)snprintf(target, sizeof(target), "%.*s", (int)(name - library), library);
    text_appendf(&folder, "%s/crashhook-preload-%u", parent, (unsigned)geteuid());
    if (stat(target, &status) != 0 || !text_ok(&folder) ||
        !preload_parent_is_safe(parent) || !preload_folder_make(folder.bytes))
        return false;
    text_appendf(&link, "%s/%" PRIx64 "-%" PRIx64, folder.bytes,
                 (uint64_t)status.st_dev, (uint64_t)status.st_ino);
    if (!text_ok(&link) || !preload_link_make(link.bytes, target))
        return false;
    int size = snprintf(out_path, PATH_MAX, "%s%s", link.bytes, name);
    return size > 0 && size < PATH_MAX;
}

enum ch_status preload_path_make(const char *library, char out_path[static PATH_MAX])
{
    static const char *const parents[] = { "/tmp", "/var/tmp" };
    if (strpbrk(library, ": ") == NULL) {
        (void)snprintf(out_path, PATH_MAX, "%s", library);
        return CH_OK;
    }
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (preload_link_below(parents[i], library, out_path))
            return CH_OK;
    }
    return CH_ERR_IO;
}
