// SPDX-License-Identifier: Apache-2.0
//
// A library that puts itself before calls that ours puts itself before too. OF_SIGNALS,
// OF_THREADS, OF_DLSYM, OF_ENDS: of which.
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef OF_SIGNALS
typedef int sigaction_fn(int, const struct sigaction *, struct sigaction *);
typedef int sigaltstack_fn(const stack_t *, stack_t *);

int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    static sigaction_fn *next;
    if (next == NULL)
        next = (sigaction_fn *)dlsym(RTLD_NEXT, "sigaction");
    return next(number, action, old);
}

int sigaltstack(const stack_t *stack, stack_t *old)
{
    static sigaltstack_fn *next;
    if (next == NULL)
        next = (sigaltstack_fn *)dlsym(RTLD_NEXT, "sigaltstack");
    return next(stack, old);
}
#endif

#ifdef OF_THREADS
struct start {
    void *(*run)(void *);
    void *argument;
};

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static void *run_start(void *what)
{
    struct start start = *(struct start *)what;
    free(what);
    return start.run(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*run)(void *), void *argument)
{
    static create_fn *next;
    struct start *start = malloc(sizeof(*start));
    if (next == NULL)
        next = (create_fn *)dlsym(RTLD_NEXT, "pthread_create");
    *start = (struct start){ run, argument };
    return next(thread, attributes, run_start, start);
}
#endif

#ifdef OF_DLSYM
// It looks from this library on, for whoever calls it.
void *dlsym(void *handle, const char *name)
{
    static void *(*next)(void *, const char *);
    if (next == NULL)
        next =
            (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return next(handle, name);
}
#endif

#ifdef OF_ENDS
typedef int raise_fn(int);
typedef void exit_fn(int);

int raise(int number)
{
    raise_fn *next = (raise_fn *)dlsym(RTLD_NEXT, "raise");
    return next(number);
}

void _exit(int status)
{
    exit_fn *next = (exit_fn *)dlsym(RTLD_NEXT, "_exit");
    next(status);
    abort();
}
#endif
