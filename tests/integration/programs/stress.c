// SPDX-License-Identifier: Apache-2.0
//
// stress WAY SEED: threads that allocate, load libraries, fork, log and take locks,
// until one of them crashes in the given way at a moment that the seed decides.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, LONGEST_US = 4000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
static volatile int zero;
static const char *way;

// next is a step of xorshift, one state for each thread.
static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void crash(void)
{
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "divide") == 0)
        zero = (zero + 7) / zero;
    if (strcmp(way, "illegal") == 0)
        __builtin_trap();
    if (strcmp(way, "raise") == 0)
        raise(SIGBUS);
    if (strcmp(way, "heap") == 0) {
        void *piece = malloc(64);
        free(piece);
        free(piece);
    }
    *(volatile int *)(uintptr_t)(unsigned)zero = 1;
}

static void allocate(uint32_t *state)
{
    void *pieces[32];
    for (size_t i = 0; i < 32; i++)
        pieces[i] = malloc(next(state) % 5000);
    for (size_t i = 0; i < 32; i++)
        free(pieces[i]);
}

static void load(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL)
        dlclose(library);
}

static void make_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid(pid, NULL, 0);
}

static void take_lock(uint32_t *state)
{
    pthread_mutex_lock(&lock);
    for (volatile uint32_t i = next(state) % 1000; i != 0; i--)
        ;
    pthread_mutex_unlock(&lock);
}

static void work(uint32_t *state)
{
    switch (next(state) % 5) {
    case 0:
        allocate(state);
        break;
    case 1:
        load();
        break;
    case 2:
        make_child();
        break;
    case 3:
        fprintf(log_file, "working on %u\n", next(state));
        fflush(log_file);
        break;
    default:
        take_lock(state);
        break;
    }
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// What a thread does: the first one crashes when its time has come.
struct job {
    uint32_t state;
    uint64_t crash_at_us; // 0: never
};

static void *run(void *argument)
{
    struct job *job = argument;
    for (;;) {
        work(&job->state);
        if (job->crash_at_us != 0 && now_us() >= job->crash_at_us)
            crash();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static struct job jobs[THREADS];
    pthread_t thread;
    uint32_t seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    way = argc > 1 ? argv[1] : "";
    log_file = fopen("/dev/null", "w");
    if (log_file == NULL)
        return 2;
    uint32_t state = seed * 2654435761u + 1;
    jobs[next(&state) % THREADS].crash_at_us = now_us() + 1 + next(&state) % LONGEST_US;
    for (size_t i = 0; i < THREADS; i++)
        jobs[i].state = seed * 97 + (uint32_t)i * 7919 + 1;
    for (size_t i = 1; i < THREADS; i++)
        pthread_create(&thread, NULL, run, &jobs[i]);
    run(&jobs[0]);
    return 0;
}
