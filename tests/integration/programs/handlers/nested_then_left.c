// SPDX-License-Identifier: Apache-2.0
//
// nested_then_left [child|at-once]: a handler faults again, 200 deep, and is left by
// siglongjmp. With `child` it has made a child first, which compares its affinity with
// the program's at its start. The program waits until its own affinity is as at its
// start, unless it is to crash at once, and crashes. It prints how many processors it
// could use when the handler was left, and exits with 1 if the child's affinity was
// another, with 2 if its own remained so.
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 200, WAIT_S = 5 };

static sigjmp_buf outside;
static cpu_set_t at_start;
static volatile int depth;
static volatile int processors;
static volatile int makes_child;
static volatile int child_status;

static int is_as_at_start(void)
{
    cpu_set_t now;
    return sched_getaffinity(0, sizeof(now), &now) == 0 && CPU_EQUAL(&now, &at_start);
}

__attribute__((noinline)) static void fail_again(void)
{
    *(volatile int *)8 = 1;
}

static void handler(int number)
{
    cpu_set_t now;
    int status = 1;
    (void)number;
    if (++depth < DEPTH)
        fail_again();
    if (sched_getaffinity(0, sizeof(now), &now) == 0)
        processors = CPU_COUNT(&now);
    if (makes_child) {
        pid_t child = fork();
        if (child == 0)
            _exit(is_as_at_start() ? 0 : 1);
        (void)waitpid(child, &status, 0);
        child_status = status;
    }
    siglongjmp(outside, 1);
}

__attribute__((noinline)) static void crash(void)
{
    *(volatile int *)24 = 1;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_NODEFER };
    makes_child = argc == 2 && strcmp(argv[1], "child") == 0;
    int at_once = argc == 2 && strcmp(argv[1], "at-once") == 0;
    (void)sched_getaffinity(0, sizeof(at_start), &at_start);
    (void)sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(outside, 1) == 0)
        fail_again();
    if (child_status != 0)
        return 1;
    time_t end = time(NULL) + WAIT_S;
    while (!at_once && !is_as_at_start())
        if (time(NULL) > end)
            return 2;
    (void)dprintf(STDOUT_FILENO, "%d\n", processors);
    signal(SIGSEGV, SIG_DFL);
    crash();
    return 0;
}
