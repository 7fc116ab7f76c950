// SPDX-License-Identifier: Apache-2.0
//
// waits_for_children: one thread waits for any child there is, as supervisors do, and
// prints what it gets; SIGCHLD is counted. Then the main thread crashes, without ever
// having had a child.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text, size_t length)
{
    if (write(STDOUT_FILENO, text, length) < 0)
        _exit(1);
}

static void on_child(int number)
{
    (void)number;
    say("SIGCHLD\n", 8);
}

static void *wait_for_anybody(void *argument)
{
    (void)argument;
    for (;;) {
        if (waitpid(-1, NULL, 0) > 0)
            say("child\n", 6);
        else if (errno != ECHILD && errno != EINTR)
            say("error\n", 6);
    }
    return NULL;
}

int main(void)
{
    pthread_t waiter;
    volatile int *nothing = NULL;

    signal(SIGCHLD, on_child);
    if (pthread_create(&waiter, NULL, wait_for_anybody, NULL) != 0)
        return 1;
    say("waiting\n", 8);
    *nothing = 1;
    return 0;
}
