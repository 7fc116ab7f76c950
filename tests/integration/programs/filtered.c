// SPDX-License-Identifier: Apache-2.0
//
// filtered CALL ANSWER THREADS MB: a program of so many threads and MB of memory that
// says when it is, in nanoseconds of CLOCK_MONOTONIC, has a seccomp filter answer the
// system call of that number, in all its threads, and crashes in crash_here without
// having made another call. ANSWER is EPERM, ENOSYS, TRAP, KILL_THREAD, KILL_PROCESS,
// or NONE: there is no filter.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int *volatile nothing;
static pthread_barrier_t all_there;

static const struct {
    const char *name;
    unsigned action;
} answers[] = {
    { "EPERM", SECCOMP_RET_ERRNO | EPERM },
    { "ENOSYS", SECCOMP_RET_ERRNO | ENOSYS },
    { "TRAP", SECCOMP_RET_TRAP },
    { "KILL_THREAD", SECCOMP_RET_KILL_THREAD },
    { "KILL_PROCESS", SECCOMP_RET_KILL_PROCESS },
};

// answer_call has the kernel answer call; it is the last call that succeeds for
// certain.
static void answer_call(unsigned call, unsigned action)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = { sizeof(filter) / sizeof(filter[0]), filter };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        write(STDOUT_FILENO, &ns, sizeof(ns)) != sizeof(ns) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                &all) != 0)
        _exit(3);
}

static void *wait_here(void *argument)
{
    pthread_barrier_wait(&all_there);
    for (;;)
        pause();
    return argument;
}

__attribute__((noinline)) static void crash_here(void)
{
    *nothing = 1;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    size_t bytes = strtoul(argv[4], NULL, 10) << 20;
    char *filled = malloc(bytes + 1);
    if (filled == NULL)
        return 3;
    memset(filled, 1, bytes + 1);
    unsigned threads = (unsigned)strtoul(argv[3], NULL, 10);
    pthread_barrier_init(&all_there, NULL, threads);
    for (unsigned i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_here, NULL) != 0)
            return 3;
    }
    pthread_barrier_wait(&all_there);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (strcmp(answers[i].name, argv[2]) == 0)
            answer_call((unsigned)strtoul(argv[1], NULL, 10), answers[i].action);
    }
    crash_here();
    return 0;
}
