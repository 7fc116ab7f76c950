// SPDX-License-Identifier: Apache-2.0
#include "ruins.h"

#include <signal.h>
#include <stdio.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int *volatile nowhere;

enum { PLACES_MAX = 8192, WRITES_MAX = 64 };

static struct {
    uint64_t at;
    uint64_t size;
} places[PLACES_MAX];
static size_t place_count;
static uint64_t rng_state;

static uint64_t rng(void)
{
    rng_state += 0x9e3779b97f4a7c15;
    uint64_t z = rng_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

void ruin_add_place(uint64_t at, uint64_t size)
{
    at &= ~(uint64_t)7;
    for (size_t i = 0; i < place_count; i++) {
        if (places[i].at == at)
            return;
    }
    if (place_count == PLACES_MAX || at == 0)
        return;
    places[place_count].at = at;
    places[place_count++].size = size;
}

uint64_t ruin_peek(uint64_t at)
{
    uint64_t word = 0;
    struct iovec to = { &word, sizeof(word) };
    struct iovec from = { (void *)(uintptr_t)at, sizeof(word) };
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof(word) ? word : 0;
}

static uint64_t ruin_value(void)
{
    static const uint64_t values[] = { 0, 1, UINT64_MAX, UINT64_C(1) << 63,
                                       0x4141414141414141 };
    uint64_t choice = rng() % 16;
    if (choice < 5)
        return values[choice];
    if (choice < 10)
        return places[rng() % place_count].at;
    return rng();
}

void ruin_and_crash(const uint64_t *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct iovec from = { (void *)(uintptr_t)&pairs[2 * i + 1], sizeof(*pairs) };
        struct iovec to = { (void *)(uintptr_t)pairs[2 * i], sizeof(*pairs) };
        ssize_t written = process_vm_writev(getpid(), &from, 1, &to, 1, 0);
        (void)written;
    }
    *nowhere = 1; // crashes here
}

static long ruin_clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void ruin_in_child(long number, const uint64_t *pairs, size_t count)
{
    long begin = ruin_clock_us();
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        ruin_and_crash(pairs, count);
    }
    (void)waitpid(child, &status, 0);
    printf("ruin %ld %d %d %ld\n", number, child, status, ruin_clock_us() - begin);
    (void)fflush(stdout);
}

void ruin_cases(int64_t seed, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t pairs[2 * WRITES_MAX];
        rng_state = (uint64_t)(seed + i);
        size_t writes = 1 + rng() % WRITES_MAX;
        for (size_t k = 0; k < writes; k++) {
            size_t chosen = rng() % place_count;
            pairs[2 * k] = places[chosen].at + 8 * (rng() % (places[chosen].size / 8));
            pairs[2 * k + 1] = ruin_value();
        }
        ruin_in_child((long)(seed + i), pairs, writes);
    }
}
