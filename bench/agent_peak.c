// SPDX-License-Identifier: Apache-2.0
//
// agent_peak FILE AGENT...: stands in for the agent, runs the real one as its child,
// and writes to FILE how many KB of memory it had at most. The kernel counts the memory
// of the crashed process for whom that process started, so the agent's own figure would
// say nothing.
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
    fprintf(file, "%ld\n", used.ru_maxrss);
    return fclose(file);
}
