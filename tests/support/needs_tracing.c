// SPDX-License-Identifier: Apache-2.0
//
// Ends a test program with 77 before its tests where a process may not trace its own
// child, as with a seccomp filter or Yama's scope 3: harness.main() of
// tests/integration, for tests of cmocka's.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void skip_where_no_process_is_traced(void)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    int error = child > 0 && ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0 ? 0 : errno;
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, __WALL);
    }
    if (error == 0)
        return;
    (void)printf("skipped: no process can be traced here: %s\n", strerror(error));
    (void)fflush(stdout);
    _exit(77);
}
