// SPDX-License-Identifier: Apache-2.0
#include "agent/live/process_file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/system/rights.h"
#include "images/read_file.h"

enum { PROCESS_PATH_BYTES = 64, PROCESS_STATUS_BYTES = 16384 };

// open_in_root opens a path below the process's root. Where the kernel cannot keep
// symbolic links inside of that, it opens nothing.
static int open_in_root(pid_t pid, const char *path)
{
    char name[PROCESS_PATH_BYTES];
    snprintf(name, sizeof(name), "/proc/%d/root", pid);
    int root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    // A fifo must not block, nor a device be opened for long.
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
                            .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
    bool assumed = rights_assume();
    int fd = assumed ? (int)syscall(SYS_openat2, root, path, &how, sizeof(how)) : -1;
    if (assumed)
        rights_resume();
    close(root);
    return fd;
}

enum ch_status process_file_read(pid_t pid, const char *path, uid_t uid,
                                 size_t limit_bytes, struct text *out)
{
    struct stat facts;
    int fd = open_in_root(pid, path);
    if (fd < 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = CH_ERR_NOT_FOUND;
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) &&
        (uid == PROCESS_FILE_ANY || facts.st_uid == uid))
        status = text_read(out, fd, limit_bytes);
    close(fd);
    return status;
}

pid_t process_file_number(pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) facts = { 0 };
    if (read_process_file(pid, "status", PROCESS_STATUS_BYTES, &facts) != CH_OK ||
        facts.size == 0)
        return 0;
    // The last number of the line is that of the innermost namespace.
    const char *line = strstr(facts.bytes, "\nNSpid:");
    if (line == NULL)
        return 0;
    size_t length = strcspn(line + 1, "\n");
    const char *tab = memrchr(line + 1, '\t', length);
    return tab != NULL ? (pid_t)strtol(tab + 1, NULL, 10) : 0;
}
