// SPDX-License-Identifier: Apache-2.0
//
// An agent that is killed: it becomes the agent that CRASHHOOK_TEST_AGENT names, having
// left a child that kills it after CRASHHOOK_TEST_KILL_US microseconds.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    const char *agent = getenv("CRASHHOOK_TEST_AGENT");
    const char *us = getenv("CRASHHOOK_TEST_KILL_US");
    pid_t self = getpid();
    if (agent == NULL || us == NULL)
        return 2;
    if (fork() == 0) {
        close(3);
        usleep((useconds_t)strtoul(us, NULL, 10));
        kill(self, SIGKILL);
        _exit(0);
    }
    execl(agent, "crashhook-agent", (char *)NULL);
    return 127;
}
