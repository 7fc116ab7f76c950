// SPDX-License-Identifier: Apache-2.0
//
// Does not crash: starts a thread, then a child, then prints its own mappings. A call
// of getppid stands before each, so that a trace of its system calls can be cut there.
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void *quiet_thread(void *argument)
{
    return argument;
}

static int quiet_print_mappings(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return 1;
    while (fgets(line, sizeof(line), maps) != NULL)
        (void)fputs(line, stdout);
    return fclose(maps);
}

int main(void)
{
    pthread_t thread;
    getppid(); // a thread
    if (pthread_create(&thread, NULL, quiet_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    getppid(); // a child
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (waitpid(child, NULL, 0) != child)
        return 1;
    getppid(); // the end
    return quiet_print_mappings();
}
