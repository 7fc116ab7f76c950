// SPDX-License-Identifier: Apache-2.0
//
// asks_for_others WAY ARGUMENT...: a program of root whose worker has fewer rights, and
// asks for what it may not have.
//
// attach PATH...: attaches these files, and crashes. waits: prints its pid and waits.
// threads PATH: it gives up its rights to files alone, in the thread that crashes.
// capabilities PATH: it stays root, without capabilities over files; filtered, sealed
// and denied PATH: below a seccomp filter too, which ends whoever takes another's
// rights to files if sealed, and refuses to say which capabilities a process has if
// denied. forged PID TID PAGE: sends the waiting agent a request
// with these numbers, 0 for its own ones, and prints the answer before it crashes; PAGE
// is the address of a request page. becomes PROGRAM: gives itself root's ids, as a
// setuid program does, and executes it.
#include <crashhook/crashhook.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/request_page.h"

enum { NOBODY = 65534, AGENT_FROM = 512, AGENT_TO = 1024 };

static void serve_request(volatile int *request)
{
    *request = 1; // crashes here
}

static void drop_user(void)
{
    if (setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 || setuid(NOBODY) != 0)
        _exit(2);
}

static void drop_capabilities(void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
    if (syscall(SYS_capset, &head, sets) != 0)
        _exit(2);
}

// filter_calls is done by root, so that programs may still gain rights.
static void filter_calls(const char *way)
{
    bool denied = strcmp(way, "denied") == 0;
    bool sealed = strcmp(way, "sealed") == 0;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied ? SYS_capget : SYS_setfsuid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, denied   ? SECCOMP_RET_ERRNO | EPERM
                                  : sealed ? SECCOMP_RET_KILL_PROCESS
                                           : SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
        _exit(2);
}

static int agent_socket(void)
{
    for (int fd = AGENT_FROM; fd < AGENT_TO; fd++) {
        int type;
        socklen_t size = sizeof(type);
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
            return fd;
    }
    return -1;
}

static void send_channel(int agent, int channel)
{
    char byte = 'C';
    struct iovec piece = { &byte, 1 };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { 0 };
    struct msghdr message = { .msg_iov = &piece,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &channel, sizeof(int));
    if (sendmsg(agent, &message, 0) < 0)
        _exit(3);
}

static void forge(char **numbers)
{
    static struct request_page page;
    struct timespec now;
    int ends[2];
    char answer = '-';
    long pid = strtol(numbers[0], NULL, 0);
    long tid = strtol(numbers[1], NULL, 0);
    unsigned long address = strtoul(numbers[2], NULL, 0);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    page =
        (struct request_page){ .magic = REQUEST_MAGIC,
                               .version = REQUEST_VERSION,
                               .size = sizeof(page),
                               .crashed_tid = gettid(),
                               .live = 1,
                               .crash_monotonic_ns = (uint64_t)now.tv_sec * 1000000000,
                               .crash_realtime_ns = (uint64_t)time(NULL) * 1000000000,
                               .deadline_monotonic_ns =
                                   (uint64_t)(now.tv_sec + 600) * 1000000000,
                               .exit_status = -1 };
    struct request_message message = {
        .magic = REQUEST_MAGIC,
        .page_address = address != 0 ? address : (uint64_t)(uintptr_t)&page,
        .pid = pid != 0 ? (int32_t)pid : getpid(),
        .tid = tid != 0 ? (int32_t)tid : gettid(),
    };
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        _exit(3);
    send_channel(agent_socket(), ends[1]);
    close(ends[1]);
    (void)!write(ends[0], &message, sizeof(message));
    while (read(ends[0], &answer, 1) == 1 && answer != REQUEST_RELEASE)
        continue;
    printf("answer %c\n", answer);
    (void)fflush(stdout);
}

static void work(int count, char **words)
{
    if (strcmp(words[0], "threads") == 0)
        (void)(setfsgid(NOBODY), setfsuid(NOBODY));
    else if (strcmp(words[0], "capabilities") == 0)
        drop_capabilities();
    else if (strcmp(words[0], "filtered") == 0 || strcmp(words[0], "sealed") == 0 ||
             strcmp(words[0], "denied") == 0) {
        filter_calls(words[0]);
        drop_capabilities();
    } else
        drop_user();
    if (strcmp(words[0], "waits") == 0) {
        printf("%d\n", getpid());
        (void)fflush(stdout);
        pause();
    }
    if (strcmp(words[0], "forged") == 0)
        forge(words + 1);
    else
        for (int i = 1; i < count; i++)
            (void)crashhook_attach_file(words[i], 4096);
    serve_request(NULL);
}

int main(int argc, char **argv)
{
    int status = 0;
    if (argc < 2)
        return 2;
    if (strcmp(argv[1], "becomes") == 0) {
        if (setgid(0) == 0 && setuid(0) == 0)
            execv(argv[2], argv + 2);
        return 2;
    }
    pid_t worker = fork();
    if (worker == 0) {
        work(argc - 1, argv + 1);
        _exit(0);
    }
    if (waitpid(worker, &status, 0) != worker)
        return 2;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
