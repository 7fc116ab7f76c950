// SPDX-License-Identifier: Apache-2.0
//
// What core_pattern was before the node agent keeps working: a program gets the core on
// its standard input, a file is written as the kernel would write it, as the user of
// the process and within its RLIMIT_CORE. The process is held until that has read the
// core.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "agent/live/facts.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "cli/node/node.h"
#include "images/read_file.h"

enum { PATTERN_SIZE = 256, WORDS_MAX = 32, NUMBER_BYTES = 16 };

void node_then_prepare(struct node_then *then)
{
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct rlimit limit;
    char path[40];
    rights_read(then->pid, &then->rights);
    (void)snprintf(path, sizeof(path), "/proc/%d/cwd", then->pid);
    then->folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/%d/root", then->pid);
    then->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (facts_read_limit(then->pid, RLIMIT_CORE, "Max core file size", &lines, &limit))
        then->limit_bytes = limit.rlim_cur; // UINT64_MAX: unlimited
    if (read_process_file(then->pid, "comm", sizeof(then->comm) - 1, &name) !=
        CH_ERR_IO)
        (void)snprintf(then->comm, sizeof(then->comm), "%.*s",
                       (int)strcspn(name.bytes, "\n"), name.bytes);
}

// append_core_name appends a name as the kernel does: with ! for each slash.
static void append_core_name(struct text *out, const char *name)
{
    for (; *name != 0; name++)
        text_append(out, *name == '/' ? "!" : name, 1);
}

// append_specifier appends what the letter after a % stands for (core(5)).
static void append_specifier(const struct node_then *then, char letter,
                             struct text *out)
{
    struct text CH_CLEANUP(text_deinit) exe = { 0 };
    struct utsname host;
    switch (letter) {
    case '%':
        text_append_string(out, "%");
        break;
    case 'p':
    case 'P':
    case 'i':
    case 'I':
        text_appendf(out, "%d", then->pid);
        break;
    case 'u':
        text_appendf(out, "%u", then->rights.real_user);
        break;
    case 'g':
        text_appendf(out, "%u", then->rights.group);
        break;
    case 's':
        text_appendf(out, "%d", then->signal != NULL ? *then->signal : 0);
        break;
    case 't':
        text_appendf(out, "%lld", (long long)time(NULL));
        break;
    case 'c':
        text_appendf(out, "%" PRIu64, then->limit_bytes);
        break;
    case 'd':
        text_append_string(out, then->rights.mixed ? "2" : "1");
        break;
    case 'h':
        if (uname(&host) == 0)
            append_core_name(out, host.nodename);
        break;
    case 'e':
    case 'f':
        append_core_name(out, then->comm);
        break;
    case 'E':
        if (read_process_link(then->pid, "exe", &exe) == CH_OK)
            append_core_name(out, exe.bytes);
        break;
    default:
        break; // the kernel leaves out what it does not know
    }
}

static void expand(const struct node_then *then, const char *word, struct text *out)
{
    for (; *word != 0; word++) {
        if (*word != '%')
            text_append(out, word, 1);
        else if (*++word != 0)
            append_specifier(then, *word, out);
        else
            break;
    }
    text_append(out, "", 1);
}

uint64_t node_copy_start(int head, int to)
{
    struct stat info;
    off_t at = 0;
    if (head < 0 || fstat(head, &info) != 0)
        return 0;
    while (at < info.st_size &&
           sendfile(to, head, &at, (size_t)(info.st_size - at)) > 0)
        continue;
    return (uint64_t)at;
}

bool node_copy_rest(int stream, int to)
{
    static char piece[64 << 10];
    for (ssize_t size; (size = read(stream, piece, sizeof(piece))) != 0;) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 || !file_write_all(to, piece, (size_t)size))
            return false;
    }
    return true;
}

// run_before has the program of the pattern read the core.
static void run_before(const struct node_then *then, char *pattern, int stream,
                       int head)
{
    struct text words[WORDS_MAX] = { 0 };
    char *argv[WORDS_MAX + 1];
    char *rest = NULL;
    size_t count = 0;
    int ends[2];
    for (char *word = strtok_r(pattern, " ", &rest); word != NULL && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        expand(then, word, &words[count]);
        argv[count] = words[count].bytes;
        count++;
    }
    argv[count] = NULL;
    if (count == 0 || argv[0][0] != '/' || pipe2(ends, O_CLOEXEC) != 0)
        return;
    pid_t child = fork();
    if (child == 0) {
        (void)dup2(ends[0], STDIN_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)node_copy_start(head, ends[1]);
    (void)node_copy_rest(stream, ends[1]);
    (void)close(ends[1]);
    if (child > 0)
        (void)waitpid(child, NULL, 0);
    for (size_t i = 0; i < count; i++)
        text_deinit(&words[i]);
}

// open_core_file opens the file of the pattern as the process would have: below its
// folder, or its root, without links.
static int open_core_file(const struct node_then *then, const char *path)
{
    const bool absolute = *path == '/';
    struct open_how how = {
        .flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
        .mode = 0600,
        .resolve = absolute ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS
                            : RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    struct stat info;
    int fd = (int)syscall(SYS_openat2, absolute ? then->root : then->folder, path, &how,
                          sizeof(how));
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
        info.st_nlink == 1 && info.st_uid == geteuid() && ftruncate(fd, 0) == 0)
        return fd;
    file_close(&fd);
    return -1;
}

static bool core_uses_pid(void)
{
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    return read_file("/proc/sys/kernel/core_uses_pid", NUMBER_BYTES, &value) == CH_OK &&
           value.size != 0 && value.bytes[0] == '1';
}

// write_core_file writes the core, in a child that has become the process's user.
// Programs that changed their user get no file, as by default from the kernel.
static void write_core_file(const struct node_then *then, const char *pattern,
                            int stream, int head)
{
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    if (then->limit_bytes == 0 || then->rights.mixed || *pattern == 0)
        return;
    expand(then, pattern, &path);
    if (core_uses_pid() && strstr(pattern, "%p") == NULL) {
        path.size--; // the NUL
        text_appendf(&path, ".%d", then->pid);
    }
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && !confine_become(&then->rights))
            _exit(1);
        int fd = open_core_file(then, path.bytes);
        struct core_input input = { .fd = fd, .limit_bytes = then->limit_bytes };
        if (fd < 0)
            _exit(1);
        input.start = node_copy_start(head, fd);
        _exit(core_input_fill(&input, stream) == CH_OK ? 0 : 1);
    }
    if (child > 0)
        (void)waitpid(child, NULL, 0);
}

bool node_then(void *context, int stream, int head)
{
    struct node_then *then = context;
    char pattern[PATTERN_SIZE];
    if (!node_before(then->node->root, "core_pattern", pattern, sizeof(pattern)))
        return false;
    if (pattern[0] == '|')
        run_before(then, pattern + 1, stream, head);
    else if (pattern[0] != '@')
        write_core_file(then, pattern, stream, head);
    return true;
}
