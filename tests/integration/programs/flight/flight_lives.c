// SPDX-License-Identifier: Apache-2.0
//
// flight_lives HOW: a program compiled with -finstrument-functions that calls functions
// in two threads, says "ready" and waits to be killed; or first forks a child that
// calls another one, or makes so many calls that they fill a ring.
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crashhook/crashhook.h"

#define PLAIN __attribute__((no_instrument_function))

static int pipe_of_thread[2];
static int pages_to_count = 100;

__attribute__((noinline)) static void count_page(volatile int *pages)
{
    ++*pages;
}

__attribute__((noinline)) static void call_in_a_child(volatile int *pages)
{
    ++*pages;
}

// wait_for_pages says text when it has been called.
__attribute__((noinline)) static void wait_for_pages(int fd, const char *text)
{
    if (write(fd, text, strlen(text)) < 0)
        _exit(98);
    (void)pause();
}

__attribute__((noinline)) static void serve_pages(void)
{
    volatile int pages = 0;
    for (int i = 0; i < pages_to_count; i++)
        count_page(&pages);
    wait_for_pages(pipe_of_thread[1], "x");
}

static void *serve(void *unused)
{
    serve_pages();
    return unused;
}

PLAIN static void fork_a_child(void)
{
    volatile int pages = 0;
    pid_t child = fork();
    for (int i = 0; i < 10000 && child == 0; i++)
        call_in_a_child(&pages);
    if (child == 0)
        _exit(0);
    (void)waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char byte;
    crashhook_breadcrumb("serving");
    if (argc > 1 && strcmp(argv[1], "counts") == 0)
        pages_to_count = 20000;
    if (pipe(pipe_of_thread) != 0 || pthread_create(&thread, NULL, serve, NULL) != 0 ||
        read(pipe_of_thread[0], &byte, 1) != 1)
        return 1;
    if (argc > 1 && strcmp(argv[1], "forks") == 0)
        fork_a_child();
    wait_for_pages(STDOUT_FILENO, "ready\n");
    return 0;
}
