// SPDX-License-Identifier: Apache-2.0
#include "handler/next_call.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "handler/crash.h"
#include "handler/syscalls.h"

typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef void exit_fn(int);
typedef int sigmask_fn(int, const sigset_t *, sigset_t *);

// dlsym is missing in a static program. There, __sigaction is libc's own sigaction, in
// glibc and in musl; no other library defines it.
extern void *dlsym(void *restrict, const char *restrict) __attribute__((weak));
extern sigaction_fn __sigaction __attribute__((weak)); // libc's name

static sigaction_fn *found_sigaction;
static exit_fn *found_exit;
static sigmask_fn *found_sigmask;

static void *find_next_call(const char *name)
{
    return dlsym != NULL ? dlsym(RTLD_NEXT, name) : NULL;
}

void next_call_find(void)
{
    if (found_sigaction == NULL)
        found_sigaction = (sigaction_fn *)find_next_call("sigaction");
    if (found_sigaction == NULL)
        found_sigaction = __sigaction;
    if (found_exit == NULL)
        found_exit = (exit_fn *)find_next_call("_exit");
    if (found_sigmask == NULL)
        found_sigmask = (sigmask_fn *)find_next_call("pthread_sigmask");
}

// call_kernel is sigaction where libc's own cannot be reached: in a static program that
// does not otherwise link it.
static int call_kernel(int signal, const struct sigaction *action,
                       struct sigaction *old)
{
    struct sys_action wanted = { 0 };
    struct sys_action before = { 0 };
    if (action != NULL) {
        wanted.handler = (uintptr_t)action->sa_handler;
        wanted.flags = (uint32_t)action->sa_flags;
        memcpy(&wanted.mask, &action->sa_mask, sizeof(wanted.mask));
#if defined(__x86_64__)
        wanted.flags |= SYS_SA_RESTORER;
        wanted.restorer = (uintptr_t)crash_restore;
#endif
    }
    long result = sys_sigaction(signal, action != NULL ? &wanted : NULL, &before);
    if (result != 0) {
        errno = (int)-result;
        return -1;
    }
    if (old != NULL) {
        old->sa_handler = (void (*)(int))before.handler;
        old->sa_flags = (int)(before.flags & ~(uint64_t)SYS_SA_RESTORER);
        memcpy(&old->sa_mask, &before.mask, sizeof(before.mask));
    }
    return 0;
}

int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    next_call_find();
    if (found_sigaction == NULL)
        return call_kernel(signal, action, old);
    return found_sigaction(signal, action, old);
}

int next_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    if (found_sigmask != NULL)
        return found_sigmask(how, set, old);
    return (int)-machine_call4(SYS_rt_sigprocmask, how, (long)set, (long)old,
                               SYS_SIGSET_BYTES);
}

void next_exit_now(int status)
{
    next_call_find();
    if (found_exit != NULL)
        found_exit(status);
    sys_exit_group(status);
}
