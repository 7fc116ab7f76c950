// SPDX-License-Identifier: Apache-2.0
//
// sandboxed HOW: one thread waits while the main thread crashes in crash_here, where
// some of what a reporter uses is refused. HOW lists it by commas: the system calls
// ptrace, process_vm_readv, pread64 (no reading of /proc/PID/mem), which fail, or with
// `kill` among the words kill the process, with `trap` raise SIGSYS; no_new_privs;
// undumpable; drop_root; vfork: the thread waits for a vforked child, where nothing
// stops it.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static int *volatile nothing;
static pthread_barrier_t all_there;
static int pipe_ends[2];

static void refuse(long call, unsigned answer)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = { sizeof(filter) / sizeof(filter[0]), filter };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        exit(3);
}

static pid_t waiting; // the thread that does

static void *wait_here(void *argument)
{
    (void)argument;
    waiting = gettid();
    pthread_barrier_wait(&all_there);
    for (;;)
        pause();
    return NULL;
}

// wait_for_child is in the kernel, uninterruptibly, until the child execs or ends.
static void *wait_for_child(void *argument)
{
    (void)argument;
    pthread_barrier_wait(&all_there);
    if (vfork() == 0) {
        char line[16];
        int length = snprintf(line, sizeof(line), "%d\n", getpid());
        (void)!write(STDOUT_FILENO, line, (size_t)length);
        (void)!write(pipe_ends[1], "x", 1);
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        for (;;)
            pause();
    }
    return NULL;
}

// await_asleep waits until the other thread, which has come from the barrier, sleeps.
static void await_asleep(void)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "/proc/self/task/%d/stat", waiting);
    int fd = open(text, O_RDONLY | O_CLOEXEC);
    for (;;) {
        ssize_t size = read(fd, text, sizeof(text) - 1);
        if (size <= 0)
            _exit(4);
        text[size] = 0;
        const char *name_end = strrchr(text, ')');
        if (name_end != NULL && strncmp(name_end, ") S", 3) == 0)
            break;
        (void)lseek(fd, 0, SEEK_SET);
        (void)sched_yield();
    }
    (void)close(fd);
}

static unsigned answer_named(const char *how)
{
    if (strstr(how, "kill") != NULL)
        return SECCOMP_RET_KILL_PROCESS;
    return strstr(how, "trap") != NULL ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM;
}

__attribute__((noinline)) static void crash_here(void)
{
    *nothing = 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        long call;
    } calls[] = {
        { "ptrace", SYS_ptrace },
        { "process_vm_readv", SYS_process_vm_readv },
        { "pread64", SYS_pread64 },
    };
    const char *how = argc > 1 ? argv[1] : "";
    int vforks = strstr(how, "vfork") != NULL;
    pthread_t thread;
    char byte;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strstr(how, calls[i].name) != NULL)
            refuse(calls[i].call, answer_named(how));
    }
    if (strstr(how, "no_new_privs") != NULL)
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (strstr(how, "drop_root") != NULL && (setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
                                             setresuid(NOBODY, NOBODY, NOBODY) != 0))
        return 3;
    if (strstr(how, "undumpable") != NULL)
        prctl(PR_SET_DUMPABLE, 0);
    pthread_barrier_init(&all_there, NULL, 2);
    if (pipe(pipe_ends) != 0 ||
        pthread_create(&thread, NULL, vforks ? wait_for_child : wait_here, NULL) != 0)
        return 3;
    pthread_barrier_wait(&all_there);
    if (vforks && read(pipe_ends[0], &byte, 1) != 1)
        return 3;
    if (!vforks)
        await_asleep();
    crash_here();
    return 0;
}
