// SPDX-License-Identifier: Apache-2.0
//
// vfork_child FOLDER: sets no handler, and has a child of vfork enter FOLDER as its
// root and set actions for what it would execute. Prints what the child has left,
// handles a signal itself, and crashes. `vfork_child FOLDER clone`: a child with memory
// and a pid namespace of its own, as sandboxes make it, enters FOLDER and prints
// whether LD_PRELOAD is left.
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say_handled(int number)
{
    (void)!write(STDOUT_FILENO, "handled\n", 8);
    (void)number;
}

static int enter_in_clone(const char *folder)
{
    int status = 0;
    long child = syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        if (chroot(folder) != 0)
            _exit(77);
        printf("%s\n", getenv("LD_PRELOAD") == NULL ? "none" : "left");
        _exit(0);
    }
    return child < 0 || waitpid((pid_t)child, &status, 0) < 0 ? 77
                                                              : WEXITSTATUS(status);
}

int main(int count, char **words)
{
    char before[4096] = "";
    const char *preload = getenv("LD_PRELOAD");
    int status = 0;
    if (count < 2)
        return 2;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (count > 2)
        return enter_in_clone(words[1]);
    if (preload != NULL)
        snprintf(before, sizeof(before), "%s", preload);
    pid_t child = vfork();
    if (child == 0) {
        if (chroot(words[1]) != 0)
            _exit(77);
        signal(SIGSEGV, SIG_IGN);
        signal(SIGABRT, say_handled);
        _exit(0);
    }
    waitpid(child, &status, 0);
    const char *after = getenv("LD_PRELOAD");
    printf("child %d, environment %d\n", WEXITSTATUS(status),
           strcmp(before, after != NULL ? after : ""));
    int is_first = signal(SIGABRT, say_handled) == SIG_DFL;
    int is_default = signal(SIGSEGV, SIG_DFL) == SIG_DFL;
    printf("actions %d %d\n", is_first, is_default);
    raise(SIGABRT);
    *(volatile int *)NULL = 1; // crashes here
    return 0;
}
