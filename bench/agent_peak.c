// SPDX-License-Identifier: Apache-2.0
//
// agent_peak FILE AGENT...: takes the agent's place, runs the real one as its child,
// and writes the child's peak memory in KB and its processor time in microseconds to
// FILE. The kernel charges the crashed process's memory to the process that it starts,
// so that one's own figure would say nothing.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage used;
    int status;

    if (argc < 3)
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    getrusage(RUSAGE_CHILDREN, &used);
    FILE *file = fopen(argv[1], "w");
    if (file == NULL)
        return 1;
    fprintf(file, "%ld %ld\n", used.ru_maxrss,
            (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    return fclose(file);
}
