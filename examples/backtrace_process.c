// SPDX-License-Identifier: Apache-2.0
//
// What is that process doing? backtrace_process PID prints its main thread; without an
// argument it prints a child of its own.
#include <crashhook/backtrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int print_process(pid_t pid)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    int error = crashhook_backtrace_capture_process(pid, 0, NULL, &backtrace);
    if (error != 0) {
        fprintf(stderr, "cannot look at process %d: %s\n", pid, strerror(error));
        return 77;
    }
    error = crashhook_backtrace_symbolicate(backtrace, NULL,
                                            CRASHHOOK_SYMBOLICATION_DEFAULT, &named);
    if (error != 0)
        return 1;
    char *text =
        crashhook_symbolicated_backtrace_format(named, CRASHHOOK_FORMAT_MEDIUM);
    puts(text != NULL ? text : "");
    free(text);
    crashhook_symbolicated_backtrace_destroy(named);
    crashhook_backtrace_destroy(backtrace);
    return 0;
}

__attribute__((noinline)) static void sleep_for_ever(int ready)
{
    if (write(ready, "r", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int ready[2];
    char byte;
    if (argc > 1)
        return print_process((pid_t)strtol(argv[1], NULL, 10));
    if (pipe(ready) != 0)
        return 1;
    pid_t child = fork();
    if (child == 0)
        sleep_for_ever(ready[1]);
    if (child < 0 || read(ready[0], &byte, 1) != 1)
        return 1;
    int status = print_process(child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return status;
}
