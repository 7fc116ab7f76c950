// SPDX-License-Identifier: Apache-2.0
//
// races HOW DELAY [IDLE]: one thread crashes, and DELAY microseconds later the process
// is ended in another way, while IDLE more threads wait. Alone it dies of the crash,
// which takes the kernel a few microseconds. HOW shutdown: main returns, and a worker
// crashes while destructors run, the last of which takes DELAY microseconds.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile int *crashing; // shared with the process that sends from outside

static void *crash_worker(void *unused)
{
    volatile int *volatile nowhere = NULL;
    (void)unused;
    *crashing = 1;
    *nowhere = 1;
    return NULL;
}

static void *wait_idle(void *unused)
{
    (void)unused;
    for (;;)
        pause();
    return NULL;
}

// What a destructor unmaps while a worker uses it.
static volatile int *table;
static long delay_at_exit_us;

static void *use_table(void *unused)
{
    (void)unused;
    for (;;) {
        table[3]++;
        *crashing = 1;
    }
    return NULL;
}

static long now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

static void wait_after_crash(long delay_us)
{
    while (*crashing == 0)
        continue;
    for (long end = now_us() + delay_us; now_us() < end;)
        continue;
}

// These two are called in the reverse order.
static void spin_at_exit(void)
{
    for (long end = now_us() + delay_at_exit_us; now_us() < end;)
        continue;
}

static void unmap_table(void)
{
    munmap((void *)(uintptr_t)table, 4096);
    usleep(0);
}

static void end_by_handler(int number)
{
    (void)number;
    _exit(0);
}

static void end_as_vfork_child_does(void)
{
    pid_t child = vfork();
    if (child == 0)
        execl("/bin/echo", "echo", "child", (char *)NULL);
    waitpid(child, NULL, 0);
    _exit(0);
}

static void end_program(const char *how)
{
    static char word[] = "echo";
    static char *const words[] = { word, word, word, NULL };
    static char *const nothing[] = { NULL };
    if (strcmp(how, "exit") == 0)
        exit(0);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "_Exit") == 0)
        _Exit(0);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(how, "vfork") == 0)
        end_as_vfork_child_does();
    if (strcmp(how, "execve") == 0)
        execve("/bin/echo", words, nothing);
    if (strcmp(how, "execv") == 0)
        execv("/bin/echo", words);
    if (strcmp(how, "execvp") == 0)
        execvp("echo", words);
    if (strcmp(how, "execl") == 0)
        execl("/bin/echo", "echo", "a", "b", "c", "d", "e", "f", (char *)NULL);
    if (strcmp(how, "execlp") == 0)
        execlp("echo", "echo", "by", "path", (char *)NULL);
    if (strcmp(how, "execle") == 0)
        execle("/bin/echo", "echo", "with", "environment", (char *)NULL, nothing);
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(how, "sigkill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "raise") == 0)
        raise(SIGUSR1);
    if (strcmp(how, "pthread_kill") == 0)
        pthread_kill(pthread_self(), SIGHUP);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "handler") == 0)
        raise(SIGTERM);
    if (strcmp(how, "raw_kill") == 0)
        syscall(SYS_kill, getpid(), SIGTERM);
    if (strcmp(how, "raw_exec") == 0)
        syscall(SYS_execve, "/bin/echo", words, nothing);
    if (strcmp(how, "raw_exit") == 0)
        syscall(SYS_exit_group, 0);
}

int main(int count, char **arguments)
{
    const char *how = arguments[1];
    const long delay_us = count > 2 ? strtol(arguments[2], NULL, 10) : 0;
    const int idle = count > 3 ? (int)strtol(arguments[3], NULL, 10) : 0;
    pthread_t thread;
    if (count < 2)
        return 2;
    crashing = mmap(NULL, sizeof(*crashing), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (crashing == MAP_FAILED)
        return 2;
    if (strcmp(how, "handler") == 0)
        signal(SIGTERM, end_by_handler);
    if (strcmp(how, "outside") == 0 && fork() == 0) {
        wait_after_crash(delay_us);
        kill(getppid(), SIGTERM);
        _exit(0);
    }
    if (strcmp(how, "shutdown") == 0) {
        table = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);
        delay_at_exit_us = delay_us;
        atexit(spin_at_exit);
        atexit(unmap_table);
        pthread_create(&thread, NULL, use_table, NULL);
        wait_after_crash(1000);
        return 0;
    }
    for (int i = 0; i < idle; i++)
        pthread_create(&thread, NULL, wait_idle, NULL);
    if (delay_us >= 0)
        pthread_create(&thread, NULL, crash_worker, NULL);
    if (delay_us >= 0 && strcmp(how, "outside") != 0)
        wait_after_crash(delay_us);
    if (strcmp(how, "return") == 0)
        return 0;
    end_program(how);
    wait_idle(NULL);
}
