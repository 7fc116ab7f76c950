// SPDX-License-Identifier: Apache-2.0
//
// The whole core next to a report. The kernel holds the process until it is written, so
// it is written as fast as the disk takes it: the program zstd compresses it, as a user
// that owns nothing, and the kernel ends that at the size limit (RLIMIT_FSIZE). Where
// there is no zstd the core is written as it comes, with holes for pages of zeros.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "cli/node/node.h"

static const char *find_zstd(void)
{
    static const char *const places[] = { "/usr/bin/zstd", "/usr/local/bin/zstd",
                                          "/bin/zstd" };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (access(places[i], X_OK) == 0)
            return places[i];
    }
    return NULL;
}

static int create_core(const struct node_full_core *core, const char *ending)
{
    char name[REPORT_ID_SIZE + sizeof(SPOOL_FULL_CORE)];
    (void)snprintf(name, sizeof(name), "%s%s", core->id, ending);
    return openat(core->node->session.spool.folder_fd, name,
                  O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static _Noreturn void become_zstd(const char *program, uint64_t limit_bytes)
{
    const struct rlimit limit = { .rlim_cur = limit_bytes, .rlim_max = limit_bytes };
    // As in what the kernel starts for a core: it passes none of ours on then, unlike
    // with a limit of 0 (core(5)).
    const struct rlimit no_core = { 1, 1 };
    (void)signal(SIGXFSZ, SIG_IGN); // to write more fails instead
    if (setrlimit(RLIMIT_FSIZE, &limit) == 0 && setrlimit(RLIMIT_CORE, &no_core) == 0 &&
        (geteuid() != 0 || confine_become_nobody()))
        execl(program, "zstd", "-qq", "-1", "-T2", "-c", (char *)NULL);
    _exit(127);
}

// compress_core has zstd write the core. False: it is not whole.
static bool compress_core(const struct node_full_core *core, const char *program,
                          int stream, int head)
{
    int ends[2];
    int status = -1;
    CH_CLEANUP(file_close) int fd = create_core(core, SPOOL_FULL_CORE);
    if (fd < 0 || pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[0], STDIN_FILENO);
        (void)dup2(fd, STDOUT_FILENO);
        become_zstd(program, core->node->core_bytes);
    }
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    (void)node_copy_start(head, ends[1]);
    bool whole = node_copy_rest(stream, ends[1]);
    (void)close(ends[1]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && whole;
}

bool node_full_core_keep(void *context, int stream, int head)
{
    const struct node_full_core *core = context;
    const char *zstd = find_zstd();
    char next;
    if (zstd != NULL)
        return compress_core(core, zstd, stream, head);
    struct core_input input = { .fd = create_core(core, SPOOL_CORE),
                                .limit_bytes = core->node->core_bytes };
    if (input.fd < 0)
        return false;
    input.start = node_copy_start(head, input.fd);
    bool done = core_input_fill(&input, stream) == CH_OK;
    (void)close(input.fd);
    return done && read(stream, &next, 1) == 0;
}

bool node_core_name(const struct node *node, const char *id, char *out, size_t size)
{
    static const char *const endings[] = { SPOOL_CORE, SPOOL_FULL_CORE };
    struct stat info;
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        (void)snprintf(out, size, "%s%s", id, endings[i]);
        if (fstatat(node->session.spool.folder_fd, out, &info, AT_SYMLINK_NOFOLLOW) ==
            0)
            return true;
    }
    return false;
}
