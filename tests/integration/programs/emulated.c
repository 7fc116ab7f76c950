// SPDX-License-Identifier: Apache-2.0
//
// What Valgrind's tools have something to say about, ended as the letters of the first
// argument say: f writes to 0x8, d divides by zero, a aborts, j jumps to 0x10, o
// overflows the stack; t leaves a second thread behind; w prints "ready" and waits for
// a signal. Without any the program exits with 3.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *work(void *forever)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&lock);
        count++;
        pthread_mutex_unlock(&lock);
    }
    while (forever != NULL)
        pause();
    return NULL;
}

// NOLINTNEXTLINE(misc-no-recursion): its stack is to overflow
static __attribute__((noinline)) int overflow_stack(int depth)
{
    volatile char frame[4096];
    memset((void *)frame, depth, sizeof(frame));
    return overflow_stack(depth + 1) + frame[7];
}

static __attribute__((noinline)) int end_program(const char *how)
{
    volatile int zero = 0;
    if (strchr(how, 'f') != NULL)
        *(volatile int *)8 = 1;
    if (strchr(how, 'd') != NULL)
        count /= zero; // NOLINT(clang-analyzer-core.DivideZero): it is to fault
    if (strchr(how, 'a') != NULL)
        abort();
    if (strchr(how, 'j') != NULL)
        ((void (*)(void))16)();
    if (strchr(how, 'w') != NULL && write(STDOUT_FILENO, "ready\n", 6) == 6)
        pause();
    if (strchr(how, 'o') != NULL)
        return overflow_stack(0);
    return 3;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    char *kept = malloc(100);
    char *lost = malloc(33);
    memset(kept, 0, 100);
    memset(lost, 0, 33);
    lost = NULL;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (strchr(how, 't') != NULL) {
        pthread_create(&thread, NULL, work, kept);
        usleep(20000);
    }
    int status = end_program(how);
    free(kept);
    return status + (lost != NULL);
}
