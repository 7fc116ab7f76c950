// SPDX-License-Identifier: Apache-2.0
//
// deadlocks HOW: threads that wait for one another, or for something else, for ever.
// They say so by a line once the locks are taken.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t ledger;
static pthread_mutex_t journal;
static pthread_rwlock_t pages = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t lines = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t paid = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static sem_t copies;
static const char *how;

static int is(const char *name)
{
    return strcmp(how, name) == 0;
}

static void lock_pages(int mine)
{
    pthread_rwlock_wrlock(mine ? &pages : &lines);
    pthread_barrier_wait(&both);
    if (mine)
        pthread_rwlock_rdlock(&lines);
    else
        pthread_rwlock_wrlock(&pages);
}

// Each takes its own lock and then wants the other's.
static void lock_both(int mine)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    pthread_mutex_lock(mine ? &ledger : &journal);
    pthread_barrier_wait(&both);
    if (is("timeout") && mine)
        pthread_mutex_timedlock(&journal, &until);
    else
        pthread_mutex_lock(mine ? &journal : &ledger);
}

static void *write_pages(void *unused)
{
    pthread_setname_np(pthread_self(), "writer");
    if (is("rwlock"))
        lock_pages(1);
    else
        lock_both(1);
    return unused;
}

static void *read_pages(void *unused)
{
    pthread_setname_np(pthread_self(), "reader");
    if (is("rwlock"))
        lock_pages(0);
    else if (is("join")) {
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&ledger);
    } else
        lock_both(0);
    return unused;
}

static void make_locks(void)
{
    static const struct {
        const char *name;
        int type;
    } types[] = {
        { "recursive", PTHREAD_MUTEX_RECURSIVE },
        { "errorcheck", PTHREAD_MUTEX_ERRORCHECK },
    };
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (is(types[i].name))
            pthread_mutexattr_settype(&attributes, types[i].type);
    if (is("robust"))
        pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&ledger, &attributes);
    pthread_mutex_init(&journal, &attributes);
    pthread_barrier_init(&both, NULL, 2);
    sem_init(&copies, 0, 0);
}

static void say_ready(void)
{
    puts("ready");
    fflush(stdout);
}

static void *leave(void *unused)
{
    pthread_mutex_lock(&ledger);
    return unused;
}

// wait_alone waits for what no thread will give.
static void wait_alone(void)
{
    pthread_t other;
    if (is("left") && pthread_create(&other, NULL, leave, NULL) == 0)
        pthread_join(other, NULL);
    else
        pthread_mutex_lock(&ledger);
    say_ready();
    if (is("self") || is("left"))
        pthread_mutex_lock(&ledger);
    if (is("semaphore"))
        sem_wait(&copies);
    if (is("condition"))
        pthread_cond_wait(&paid, &ledger);
}

int main(int argc, char **argv)
{
    pthread_t writer;
    pthread_t reader;
    how = argc == 2 ? argv[1] : "";
    make_locks();
    if (is("self") || is("left") || is("semaphore") || is("condition"))
        wait_alone();
    if (is("join"))
        pthread_mutex_lock(&ledger);
    pthread_create(&reader, NULL, read_pages, NULL);
    if (is("join")) {
        pthread_barrier_wait(&both);
        say_ready();
        pthread_join(reader, NULL);
    }
    pthread_create(&writer, NULL, write_pages, NULL);
    say_ready();
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    return 0;
}
