// SPDX-License-Identifier: Apache-2.0
#include "handler/starts.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/auxv.h>

#include "crashhook/crashhook.h"
#include "handler/context.h"
#include "handler/crash.h"
#include "handler/file_syscalls.h"
#include "handler/syscalls.h"

enum { START_RELEASE = 93, START_NAME = 255, DAY_S = 86400 };

static int32_t counted; // the process whose start was; 0: none

// open_start opens the file at path: by its whole path, because opening the folder
// first takes longer than all the rest. Negative: it cannot.
static int open_start(const char *path)
{
    enum {
        FLAGS = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    };
    return (int)machine_call4(SYS_openat, AT_FDCWD, (long)path, FLAGS, 0600);
}

// put_start appends a record to the file of its day. A release whose name does not fit
// is not counted.
static void put_start(enum start_kind kind)
{
    static const char variable[] = "CRASHHOOK_RELEASE=";
    char path[PATH_MAX + START_NAME];
    struct stat file;
    const char *release = "";
    for (size_t i = 0; i < CRASH_KEPT_VARIABLES && crash_plan->kept[i] != NULL; i++) {
        if (strncmp(crash_plan->kept[i], variable, sizeof(variable) - 1) == 0)
            release = crash_plan->kept[i] + sizeof(variable) - 1;
    }
    if (strlen(release) > START_RELEASE || crash_plan->spool == NULL)
        return;
    uint64_t now_s = sys_clock_ns(CLOCK_REALTIME) / 1000000000;
    size_t folder = strlen(crash_plan->spool);
    memcpy(path, crash_plan->spool, folder);
    memcpy(path + folder, "/" START_PREFIX, sizeof(START_PREFIX));
    char *at = path + folder + sizeof(START_PREFIX);
    at = crash_write_hex(at, now_s / DAY_S, 8);
    *at++ = '-';
    while (*release != 0)
        at = crash_write_hex(at, (unsigned char)*release++, 2);
    memcpy(at, START_SUFFIX, sizeof(START_SUFFIX));
    const struct start_record record = { context_current->session, (uint32_t)now_s,
                                         kind };
    int fd = open_start(path);
    if (fd == -ENOENT) {
        sys_close(crash_open_spool()); // makes it
        fd = open_start(path);
    }
    // Where others may write to the folder, it may be a link to a file of ours.
    if (sys_status(fd, &file) == 0 && file.st_nlink == 1)
        sys_write(fd, &record, sizeof(record));
    sys_close(fd);
}

void starts_begin(void)
{
    struct context_page *context = context_current;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (counted != 0 || context == NULL || random == NULL)
        return;
    counted = sys_getpid();
    memcpy(&context->session, random, sizeof(context->session));
    put_start(START_BEGUN);
}

void starts_end(void)
{
    if (counted == 0 || counted != sys_getpid())
        return;
    put_start(START_ENDED);
    counted = -1;
}

int crashhook_session_begin(void)
{
    if (crash_plan == NULL)
        return ECANCELED;
    starts_begin();
    return 0;
}

void crashhook_session_end(void)
{
    starts_end();
}
