// SPDX-License-Identifier: Apache-2.0
//
// kills_children: ends three children by SIGKILL, one of them after a SIGTERM that it
// ignores, and crashes then.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void live_until_killed(int ready)
{
    (void)signal(SIGTERM, SIG_IGN);
    (void)!write(ready, "", 1);
    for (;;)
        pause();
}

int main(void)
{
    for (int i = 0; i < 3; i++) {
        int ready[2];
        char byte;
        if (pipe(ready) != 0)
            return 2;
        pid_t child = fork();
        if (child == 0)
            live_until_killed(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
            return 2;
        if (i == 1)
            (void)kill(child, SIGTERM);
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
        (void)close(ready[0]);
        (void)close(ready[1]);
    }
    *(volatile int *)24 = 1;
    return 0;
}
