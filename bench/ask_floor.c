// SPDX-License-Identifier: Apache-2.0
//
// ask_floor FOLDER RUNS: what a crash costs at least that a waiting process reports.
// Prints medians of microseconds from the fault until the parent has waited for the
// program, in turn: without a handler; with one that asks a waiting process, which
// answers at once; and with one that is answered after that process has created,
// written and renamed a file of 4 KB in FOLDER. Before each fault the program sleeps
// for 0.1 s.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum way { WAY_NONE, WAY_ASKS, WAY_FILE, WAYS };
enum { RUNS_MAX = 1000, REPORT_BYTES = 4096, BEFORE_MS = 100 };

static int channel = -1; // of the program, for its handler
static volatile long *volatile nowhere;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void ask_on_fault(int number)
{
    char byte = 0;
    if (write(channel, &byte, 1) != 1 || read(channel, &byte, 1) != 1)
        _exit(1);
    (void)signal(number, SIG_DFL);
}

// crash_program is the program; it writes the time before the fault to when.
static void crash_program(enum way way, int64_t *when)
{
    if (way != WAY_NONE)
        (void)signal(SIGSEGV, ask_on_fault);
    (void)poll(NULL, 0, BEFORE_MS);
    *when = now_ns();
    *nowhere = 1;
}

static bool write_floor_file(int folder)
{
    static const char bytes[REPORT_BYTES];
    int fd = openat(folder, ".floor.tmp", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) &&
           renameat(folder, ".floor.tmp", folder, "floor") == 0;
}

// answer_program is the process that waits.
static int answer_program(enum way way, int end, int folder)
{
    char byte;
    if (way == WAY_NONE)
        return 0;
    if (read(end, &byte, 1) != 1 || (way == WAY_FILE && !write_floor_file(folder)) ||
        write(end, &byte, 1) != 1)
        return 1;
    // What is tidied up must not be in the way of the program's end.
    (void)poll(NULL, 0, BEFORE_MS / 2);
    return way == WAY_FILE ? unlinkat(folder, "floor", 0) : 0;
}

// run_floor measures one fault in nanoseconds; -1: that failed.
static int64_t run_floor(enum way way, int folder, int64_t *when)
{
    int ends[2];
    int status;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return -1;
    pid_t waits = fork();
    if (waits == 0)
        _exit(answer_program(way, ends[1], folder));
    pid_t program = fork();
    if (program == 0) {
        channel = ends[0];
        crash_program(way, when);
    }
    bool crashed = program > 0 && waitpid(program, &status, 0) == program &&
                   WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
    int64_t took = now_ns() - *when;
    close(ends[0]);
    close(ends[1]);
    bool answered = waits > 0 && waitpid(waits, &status, 0) == waits && status == 0;
    return crashed && answered ? took : -1;
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "no handler", "asks", "asks, and a file" };
    static int64_t took[WAYS][RUNS_MAX];
    size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    int folder = argc > 1 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int64_t *when = mmap(NULL, sizeof(*when), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (folder < 0 || runs == 0 || runs > RUNS_MAX || when == MAP_FAILED)
        return 2;
    for (size_t i = 0; i < runs; i++) {
        for (enum way way = WAY_NONE; way < WAYS; way++) {
            took[way][i] = run_floor(way, folder, when);
            if (took[way][i] < 0)
                return 1;
        }
    }
    for (enum way way = WAY_NONE; way < WAYS; way++) {
        qsort(took[way], runs, sizeof(took[way][0]), compare_times);
        int64_t median = took[way][runs / 2];
        printf("%s: %.0f us\n", names[way], (double)median / 1000);
    }
    return 0;
}
