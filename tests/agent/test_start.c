// SPDX-License-Identifier: Apache-2.0
//
// What it takes to start the agent, counted instruction by instruction: it has no
// request to read here, so it ends right after its own beginning.
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

// Some are liblzma's, which libunwind brings along: two of 5.4, four of 5.8.
enum { CPUID = 0xa20f, TRAPPED_MAX = 4, INSTRUCTIONS_MAX = 50000 };

static pid_t start_agent(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        close_range(3, ~0u, 0);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execle(AGENT, AGENT, (char *)NULL, (char *[]){ NULL });
        _exit(127);
    }
    return pid;
}

static void
the_agent_begins_with_hardly_an_instruction_that_hypervisors_trap(void **state)
{
    int status = 0;
    int trapped = 0;
    int executed = 0;
    pid_t pid = start_agent();
    (void)state;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    while (WIFSTOPPED(status) && executed < INSTRUCTIONS_MAX) {
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, pid, NULL, &registers);
        errno = 0;
        long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)registers.rip, NULL);
        trapped += (word & 0xffff) == CPUID;
        executed++;
        ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
    }
    if (WIFSTOPPED(status))
        kill(pid, SIGKILL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1); // it has read the settings and asked
    assert_in_range(executed, 1000, INSTRUCTIONS_MAX);
    assert_in_range(trapped, 0, TRAPPED_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_agent_begins_with_hardly_an_instruction_that_hypervisors_trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
