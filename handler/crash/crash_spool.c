// SPDX-License-Identifier: Apache-2.0
//
// Writing a record of a crash without a report into the spool, in crash context (see
// crash.c): the folder is chosen in the order of report/spool/spool.h and by the
// rules of report/spool/spool.h, and the file appears whole or not at all.
#include "handler/crash/crash.h"

#include <fcntl.h>
#include <linux/errno.h>
#include <sys/stat.h>

#include "base/settings/settings.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

enum { NAME_SIZE = 48 };

static char *write_hex(char *to, uint64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--)
        *to++ = "0123456789abcdef"[value >> (4 * i) & 15];
    return to;
}

static char *write_name_text(char *to, const char *text)
{
    while (*text != 0)
        *to++ = *text++;
    return to;
}

static void write_record_name(char *to, const char *prefix, const char *suffix)
{
    to = write_name_text(to, prefix);
    to = write_hex(to, crash_plan->page->crash_realtime_ns, 16);
    *to++ = '-';
    to = write_hex(to, (uint32_t)crash_plan->page->crashed_tid, 8);
    *write_name_text(to, suffix) = 0;
}

// make_record_folders makes path and every missing folder above it.
static void make_record_folders(const char *path)
{
    char *prefix = crash_plan->scratch;
    for (size_t i = 0; i < CRASH_SCRATCH - 1; i++) {
        prefix[i] = 0;
        if (i != 0 && (path[i] == '/' || path[i] == 0))
            sys_make_folder(prefix);
        if (path[i] == 0)
            return;
        prefix[i] = path[i];
    }
}

// is_safe returns true if the folder is ours and only we may write to it, or is a drop
// folder (report/spool/spool.h), where others cannot touch our files.
static bool is_safe(const struct stat *folder)
{
    enum { DROP = S_ISVTX | S_IWOTH | S_IXOTH };
    if (folder->st_uid == 0 && (folder->st_mode & (S_ISVTX | S_IRWXO)) == DROP)
        return true;
    return folder->st_uid == sys_geteuid() &&
           (folder->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// open_folder opens the folder as a place for files; it need not be readable.
static int open_folder(const char *path, bool make)
{
    enum { FLAGS = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    struct stat folder = { 0 };
    int fd = sys_open(path, FLAGS);
    if (fd == -ENOENT && make) {
        make_record_folders(path);
        fd = sys_open(path, FLAGS);
    }
    if (fd < 0)
        return fd;
    if (sys_status(fd, &folder) == 0 && is_safe(&folder))
        return fd;
    sys_close(fd);
    return -EPERM;
}

// open_record_place opens the place at index in report/spool/spool.h.
static int open_record_place(int index)
{
    static char own[sizeof(SETTINGS_OWN_FOLDER) + 10];
    char digits[10];
    size_t count = 0;
    crash_state.record_folder = index == 0 ? crash_plan->spool : SETTINGS_DROP_FOLDER;
    if (crash_state.record_folder == NULL)
        return -ENOENT;
    if (index <= 1)
        return open_folder(crash_state.record_folder, index == 0);
    uint32_t user = sys_geteuid();
    if (user >= UINT32_MAX - 4095) // an error number: a filter refused the call
        return -EPERM;
    do {
        digits[count++] = (char)('0' + user % 10);
    } while ((user /= 10) != 0);
    char *end = write_name_text(own, SETTINGS_OWN_FOLDER);
    while (count != 0)
        *end++ = digits[--count];
    *end = 0;
    crash_state.record_folder = own;
    return open_folder(own, true);
}

// write_record_in writes the record into folder. False: it cannot.
static bool write_record_in(int folder, enum record_reason reason)
{
    char temporary[NAME_SIZE];
    char name[NAME_SIZE];
    write_record_name(temporary, "." RECORD_PREFIX, ".tmp");
    write_record_name(name, RECORD_PREFIX, RECORD_SUFFIX);
    int fd = sys_create(folder, temporary);
    if (fd < 0)
        return false;
    bool written =
        crash_put_contents(fd, reason) && sys_rename(folder, temporary, name) == 0;
    if (!written)
        sys_unlink(folder, temporary);
    sys_close(fd);
    return written;
}

bool crash_write_record(enum record_reason reason)
{
    enum { PLACES = 3 };
    struct rlimit before = { 0, 0 };
    bool written = false;
    crash_state.record_due = 0;
    sys_limit(RLIMIT_FSIZE, NULL, &before);
    const struct rlimit wider = { before.rlim_max, before.rlim_max };
    sys_limit(RLIMIT_FSIZE, &wider, NULL);
    for (int i = 0; i < PLACES && !written; i++) {
        int folder = open_record_place(i);
        if (folder < 0)
            continue;
        written = write_record_in(folder, reason);
        sys_close(folder);
    }
    sys_limit(RLIMIT_FSIZE, &before, NULL);
    return written;
}
