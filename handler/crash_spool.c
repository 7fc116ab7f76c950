// SPDX-License-Identifier: Apache-2.0
//
// Writing a record of a crash that no agent has reported into the spool, in crash
// context (see crash.c): the folder, under the rules of report/spool.h, and a file that
// is there whole or not at all.
#include "handler/crash.h"

#include <fcntl.h>
#include <linux/errno.h>
#include <sys/stat.h>

#include "handler/file_syscalls.h"
#include "handler/machine.h"
#include "handler/syscalls.h"

#include "handler/poison.h"

enum { NAME_SIZE = 48 };

static char *write_hex(char *to, uint64_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--)
        *to++ = "0123456789abcdef"[value >> (4 * i) & 15];
    return to;
}

static char *write_text(char *to, const char *text)
{
    while (*text != 0)
        *to++ = *text++;
    return to;
}

static void write_name(char *to, const char *prefix, const char *suffix)
{
    to = write_text(to, prefix);
    to = write_hex(to, crash_plan->page->crash_realtime_ns, 16);
    *to++ = '-';
    to = write_hex(to, (uint32_t)crash_plan->page->crashed_tid, 8);
    *write_text(to, suffix) = 0;
}

// make_folders makes every missing folder on the way to the spool.
static void make_folders(void)
{
    const char *path = crash_plan->spool;
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

// open_spool: the folder is ours, and nobody else may write to it.
static int open_spool(void)
{
    enum { FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    struct stat folder = { 0 };
    int fd = sys_open(crash_plan->spool, FLAGS);
    if (fd == -ENOENT) {
        make_folders();
        fd = sys_open(crash_plan->spool, FLAGS);
    }
    if (fd < 0)
        return fd;
    if (sys_status(fd, &folder) == 0 && folder.st_uid == sys_geteuid() &&
        (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return fd;
    sys_close(fd);
    return -EPERM;
}

static bool write_in(int folder, enum record_reason reason)
{
    char temporary[NAME_SIZE];
    char name[NAME_SIZE];
    write_name(temporary, "." RECORD_PREFIX, ".tmp");
    write_name(name, RECORD_PREFIX, RECORD_SUFFIX);
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
    struct rlimit before = { 0, 0 };
    crash_state.record_due = 0;
    int folder = crash_plan->spool != NULL ? open_spool() : -1;
    if (folder < 0)
        return false;
    // A file over the limit would raise a signal of its own.
    sys_limit(RLIMIT_FSIZE, NULL, &before);
    const struct rlimit wider = { before.rlim_max, before.rlim_max };
    sys_limit(RLIMIT_FSIZE, &wider, NULL);
    bool written = write_in(folder, reason);
    sys_limit(RLIMIT_FSIZE, &before, NULL);
    sys_take_signal(SIGXFSZ);
    sys_close(folder);
    return written;
}
