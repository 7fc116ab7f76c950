// SPDX-License-Identifier: Apache-2.0
//
// lives HOW [FILE]: a program that tells of itself, says "ready" and then lives until
// it is killed, or ends in a way that is no kill.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crashhook/crashhook.h"

enum { PIECE = 1 << 20 };

static char *page;

static void tell(void)
{
    char message[32];
    (void)crashhook_set_tag("shard", "8");
    (void)crashhook_set_data("query", "select 1");
    for (int i = 0; i < 200; i++) {
        (void)snprintf(message, sizeof(message), "step %d", i);
        crashhook_breadcrumb(message);
    }
}

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(98);
}

// fill takes memory until somebody ends that, slowly enough to be watched.
static void fill(void)
{
    for (;;) {
        char *piece = malloc(PIECE);
        if (piece == NULL)
            return;
        memset(piece, 1, PIECE);
        usleep(8000);
    }
}

// take_time is a handler of SIGTERM that does not end the program yet.
static void take_time(int signal)
{
    (void)signal;
}

// fall is a handler of SIGTERM that crashes.
static void fall(int signal)
{
    *(volatile int *)page = signal;
}

// make_file hangs where the disk is frozen.
static void make_file(const char *path)
{
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        _exit(96);
    (void)close(fd);
}

static void use_processor(void)
{
    const struct rlimit second = { 1, 1 };
    (void)setrlimit(RLIMIT_CPU, &second);
    for (volatile unsigned long i = 0;; i++)
        ;
}

// outlive forks a child that tells something else and ends, and then waits itself.
static void outlive(void)
{
    pid_t child = fork();
    if (child == 0) {
        (void)crashhook_set_tag("shard", "9");
        exit(0);
    }
    (void)waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0)
        _exit(3);
    (void)waitpid(child, NULL, 0);
}

// work tells of itself for long enough to be looked at, as its child does.
static void work(void)
{
    (void)!fork();
    for (int i = 0; i < 40; i++) {
        tell();
        usleep(2500);
    }
    (void)waitpid(-1, NULL, 0);
}

// hang feeds its watchdog no more.
static void hang(void)
{
    crashhook_watchdog_end_after(3);
    if (crashhook_watchdog_start(100) != 0)
        _exit(97);
    for (;;)
        (void)pause();
}

static void open_page(int number)
{
    (void)number;
    (void)mprotect(page, 1, PROT_READ | PROT_WRITE);
}

// recover has a fault whose handler lets the program go on.
static void recover(void)
{
    page = mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)signal(SIGSEGV, open_page);
    *(volatile char *)page = 1;
    (void)signal(SIGSEGV, SIG_DFL);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    tell();
    if (strcmp(how, "forks") == 0)
        outlive();
    if (strcmp(how, "deaf") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    if (strcmp(how, "slow") == 0 || strcmp(how, "writes") == 0)
        (void)signal(SIGTERM, take_time);
    if (strcmp(how, "falls") == 0)
        (void)signal(SIGTERM, fall);
    if (strcmp(how, "recovers") == 0)
        recover();
    say("ready\n");
    if (strcmp(how, "fills") == 0)
        fill();
    if (strcmp(how, "spins") == 0)
        use_processor();
    if (strcmp(how, "writes") == 0)
        make_file(argv[2]);
    if (strcmp(how, "hangs") == 0)
        hang();
    if (strcmp(how, "works") == 0)
        work();
    if (strcmp(how, "exits") == 0 || strcmp(how, "works") == 0)
        exit(3);
    if (strcmp(how, "raises") == 0)
        (void)raise((int)strtol(argv[2], NULL, 10));
    if (strcmp(how, "leaves") == 0)
        _exit(4);
    if (strcmp(how, "crashes") == 0)
        crashhook_test_crash(CRASHHOOK_TEST_NULL_WRITE);
    if (strcmp(how, "becomes") == 0)
        (void)execl("/bin/true", "true", (char *)NULL);
    for (;;)
        (void)pause();
}
