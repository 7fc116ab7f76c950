// SPDX-License-Identifier: Apache-2.0
//
// A library to be preloaded into a program that is not ours (FAULT_IN names it): a
// thread writes through a null pointer as soon as the program's runtime has set its
// handler for SIGSEGV, or has had the time to. With FAULT_FORKED a child of the program
// does, one that it has made without executing another; FAULT_ONCE is a
// file that the first of its children makes, and the others do not crash;
// FAULT_UNLESS is an argument that the program does not have.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void wait_ms(long ms)
{
    const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
    nanosleep(&time, NULL);
}

__attribute__((noinline)) static void faulty_thread_bug(volatile int *pointer)
{
    *pointer = 1; // crashes here
}

static void *run(void *unused)
{
    struct sigaction action = { .sa_handler = SIG_DFL };
    for (int i = 0; i < 100 && action.sa_handler == SIG_DFL; i++) {
        wait_ms(10);
        sigaction(SIGSEGV, NULL, &action);
    }
    wait_ms(300);
    faulty_thread_bug(NULL);
    return unused;
}

// is_again: another process has made the file already.
static int is_again(void)
{
    const char *once = getenv("FAULT_ONCE");
    if (once == NULL)
        return 0;
    int fd = open(once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return 1;
    close(fd);
    return 0;
}

static void start(void)
{
    pthread_t thread;
    if (is_again())
        return;
    if (pthread_create(&thread, NULL, run, NULL) == 0)
        pthread_detach(thread);
}

// has_argument: one of the program's arguments contains text.
static int has_argument(const char *text)
{
    char words[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t length = fd >= 0 ? read(fd, words, sizeof(words)) : 0;
    if (fd >= 0)
        close(fd);
    return length > 0 && memmem(words, (size_t)length, text, strlen(text)) != NULL;
}

__attribute__((constructor)) static void start_where_wanted(void)
{
    const char *name = getenv("FAULT_IN");
    const char *unless = getenv("FAULT_UNLESS");
    if (name == NULL || strcmp(name, program_invocation_short_name) != 0 ||
        (unless != NULL && has_argument(unless)))
        return;
    if (getenv("FAULT_FORKED") != NULL)
        pthread_atfork(NULL, NULL, start);
    else
        start();
}
