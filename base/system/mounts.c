// SPDX-License-Identifier: Apache-2.0
#include "base/system/mounts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/system/file.h"

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
