// SPDX-License-Identifier: Apache-2.0
//
// First faults that other signals follow: of the program's own handlers, or of whoever
// ends it; and threads that wait for one another.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone)) static

static volatile int sink;
static int *volatile nothing;

OWN void bug(int *at)
{
    at[6] = 1;
    sink++;
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaction(number, &action, NULL);
}

static void raise_again(int number)
{
    signal(number, SIG_DFL);
    raise(number);
}

// case raised_again
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void raised_again(void)
{
    handle(SIGSEGV, raise_again, 0);
    bug(nothing);
}

static void return_to_default(int number)
{
    signal(number, SIG_DFL);
}

// case returned_to
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void returned_to(void)
{
    handle(SIGSEGV, return_to_default, 0);
    bug(nothing);
}

static void abort_in_handler(int number)
{
    sink = number;
    abort();
}

// case aborted_in_handler
//   signal: ABRT
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void aborted_in_handler(void)
{
    handle(SIGSEGV, abort_in_handler, 0);
    bug(nothing);
}

// case on_another_stack
//   signal: ABRT
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void on_another_stack(void)
{
    stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
    sigaltstack(&stack, NULL);
    handle(SIGSEGV, abort_in_handler, SA_ONSTACK);
    bug(nothing);
}

static void kill_in_handler(int number)
{
    signal(number, SIG_DFL);
    kill(getpid(), number);
}

// case killed_in_handler
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void killed_in_handler(void)
{
    handle(SIGSEGV, kill_in_handler, 0);
    bug(nothing);
}

static void fault_in_handler(int number)
{
    signal(SIGBUS, SIG_DFL);
    *(volatile int *)(uintptr_t)UINT64_C(0x123456789abc) = number;
}

// case second_fault
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void second_fault(void)
{
    handle(SIGSEGV, fault_in_handler, SA_NODEFER | SA_RESETHAND);
    bug(nothing);
}

static void bug_in_handler(int number)
{
    sink = number;
    bug(nothing);
}

// case within_another
//   kind: null-dereference
//   says: Write to 0x18, through a null pointer
//   cause: null-offset
//   in: bug
OWN void within_another(void)
{
    handle(SIGUSR1, bug_in_handler, 0);
    raise(SIGUSR1);
    sink++;
}

// case raised_segv
//   kind: sent-by-process
//   says: SIGSEGV raised by the program itself
OWN void raised_segv(void)
{
    raise(SIGSEGV);
    sink++;
}

// case raised_bus
//   signal: BUS
//   kind: sent-by-process
//   says: SIGBUS raised by the program itself
OWN void raised_bus(void)
{
    kill(getpid(), SIGBUS);
    sink++;
}

// case killed_by_child
//   kind: sent-by-process
//   says: SIGSEGV sent by process \d+
OWN void killed_by_child(void)
{
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        kill(parent, SIGSEGV);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sink++;
}

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t paid = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;

// wait_until_blocked returns once so many threads of the program sleep on a futex.
OWN void wait_until_blocked(int wanted)
{
    int blocked;
    do {
        DIR *folder = opendir("/proc/self/task");
        blocked = 0;
        for (struct dirent *task; (task = readdir(folder)) != NULL;) {
            char path[300];
            char text[8] = "";
            snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", task->d_name);
            int fd = open(path, O_RDONLY);
            blocked +=
                fd >= 0 && read(fd, text, 4) == 4 && memcmp(text, "202 ", 4) == 0;
            close(fd);
        }
        closedir(folder);
        sched_yield();
    } while (blocked < wanted);
}

static void *watch(void *wanted)
{
    wait_until_blocked((int)(intptr_t)wanted);
    abort();
}

static void *take_journal(void *unused)
{
    pthread_setname_np(pthread_self(), "writer");
    pthread_mutex_lock(&journal);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&ledger);
    return unused;
}

// case deadlock
//   signal: ABRT
//   kind: deadlock
//   says: Deadlock: thread \d+( '[^']+')? holds (ledger|journal) and waits for
//     (ledger|journal), which thread \d+ holds
//   in: watch
OWN void deadlock(void)
{
    pthread_t thread, watchdog;
    pthread_barrier_init(&both, NULL, 2);
    pthread_mutex_lock(&ledger);
    pthread_create(&thread, NULL, take_journal, NULL);
    pthread_barrier_wait(&both);
    pthread_create(&watchdog, NULL, watch, (void *)2);
    pthread_mutex_lock(&journal);
    sink++;
}

// case own_lock
//   signal: ABRT
//   kind: deadlock
//   says: Deadlock: thread \d+( '[^']+')? waits for ledger, which it holds itself
//   in: watch
OWN void own_lock(void)
{
    pthread_t watchdog;
    pthread_mutex_lock(&ledger);
    pthread_create(&watchdog, NULL, watch, (void *)1);
    pthread_mutex_lock(&ledger);
    sink++;
}

static void *take_ledger(void *unused)
{
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&ledger);
    return unused;
}

// case joins_a_waiter
//   signal: ABRT
//   kind: deadlock
//   says: Deadlock: thread \d+( '[^']+')? (holds ledger and )?waits for (the end of
//     thread|ledger)
//   in: watch
OWN void joins_a_waiter(void)
{
    pthread_t thread, watchdog;
    pthread_barrier_init(&both, NULL, 2);
    pthread_mutex_lock(&ledger);
    pthread_create(&thread, NULL, take_ledger, NULL);
    pthread_barrier_wait(&both);
    pthread_create(&watchdog, NULL, watch, (void *)2);
    pthread_join(thread, NULL);
    sink++;
}

// case waits_alone
//   signal: ABRT
//   kind: abort
//   says: The program aborted$
//   in: watch
OWN void waits_alone(void)
{
    pthread_t watchdog;
    pthread_mutex_lock(&ledger);
    pthread_create(&watchdog, NULL, watch, (void *)1);
    pthread_cond_wait(&paid, &ledger);
    sink++;
}

#define CASE(name)                                                                     \
    if (count > 1 && strcmp(arguments[1], #name) == 0)                                 \
        name();

int main(int count, char **arguments)
{
    CASE(raised_again)
    CASE(returned_to)
    CASE(aborted_in_handler)
    CASE(on_another_stack)
    CASE(killed_in_handler)
    CASE(second_fault)
    CASE(within_another)
    CASE(raised_segv)
    CASE(raised_bus)
    CASE(killed_by_child)
    CASE(deadlock)
    CASE(own_lock)
    CASE(joins_a_waiter)
    CASE(waits_alone)
    return 0;
}
