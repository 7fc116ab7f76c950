// SPDX-License-Identifier: Apache-2.0
//
// fork_cost: for each byte that it reads from standard input, it forks a child that
// ends at once, waits for it, and writes as a 64-bit number how many nanoseconds that
// took. HEAP_MB as an argument: the process has that much memory for the child to
// share.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

int main(int argc, char **argv)
{
    size_t heap = argc > 1 ? strtoul(argv[1], NULL, 10) << 20 : 0;
    char *bytes = malloc(heap + 1);
    char asked;
    if (bytes == NULL)
        return 2;
    memset(bytes, 1, heap + 1);
    while (read(STDIN_FILENO, &asked, 1) == 1) {
        int64_t took = now_ns();
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        if (child < 0 || waitpid(child, NULL, 0) != child)
            return 1;
        took = now_ns() - took;
        if (write(STDOUT_FILENO, &took, sizeof(took)) != (ssize_t)sizeof(took))
            return 1;
    }
    free(bytes);
    return 0;
}
