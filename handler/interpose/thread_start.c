// SPDX-License-Identifier: Apache-2.0
//
// pthread_create and thrd_create, interposed before libc's by the shared library, so
// that every thread starts with an alternate signal stack. The thread's function and
// argument are passed near the bottom of that stack, so nothing is allocated. Without
// memory for a stack, or if the handler is not installed, the thread is created as
// without us. And dlclose, which may unload one of the program's handlers.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <threads.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/interpose/actions.h"
#include "handler/prepare/next_call.h"
#include "handler/prepare/plan.h"
#include "handler/prepare/threads.h"

typedef int pthread_create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                              void *);
typedef int thrd_create_fn(thrd_t *, thrd_start_t, void *);
typedef int dlclose_fn(void *);

// A thread_start is what a new thread runs; it is on the alternate stack until that is
// used as one.
struct thread_start {
    void *(*run)(void *);
    thrd_start_t run_c11;
    void *argument;
};

static pthread_create_fn *next_pthread_create;
static thrd_create_fn *next_thrd_create;

static struct thread_start *thread_start_on(void *stack)
{
    return (struct thread_start *)((struct crash_own_stack *)stack + 1);
}

// find_next looks up libc's function, and what is to be known before there is a second
// thread.
static void *find_next(const char *name)
{
    end_calls_find();
    return next_symbol(name);
}

static void *start_thread(void *stack)
{
    struct thread_start what = *thread_start_on(stack);
    threads_adopt(stack);
    return what.run(what.argument);
}

static int start_c11(void *stack)
{
    struct thread_start what = *thread_start_on(stack);
    threads_adopt(stack);
    return what.run_c11(what.argument);
}

// pthread_create and the others are reserved names that libc declares.
CRASHHOOK_API int pthread_create(pthread_t *restrict thread,
                                 const pthread_attr_t *restrict attributes,
                                 void *(*run)(void *), void *restrict argument)
{
    if (next_pthread_create == NULL)
        next_pthread_create = (pthread_create_fn *)find_next("pthread_create");
    actions_take_back();
    void *stack = plan_is_in_force() ? threads_stack_create() : NULL;
    if (stack == NULL)
        return next_pthread_create(thread, attributes, run, argument);

    *thread_start_on(stack) = (struct thread_start){ .run = run, .argument = argument };
    int error = next_pthread_create(thread, attributes, start_thread, stack);
    if (error != 0)
        threads_stack_destroy(stack);
    return error;
}

CRASHHOOK_API int thrd_create(thrd_t *thread, thrd_start_t run, void *argument)
{
    if (next_thrd_create == NULL)
        next_thrd_create = (thrd_create_fn *)find_next("thrd_create");
    actions_take_back();
    void *stack = plan_is_in_force() ? threads_stack_create() : NULL;
    if (stack == NULL)
        return next_thrd_create(thread, run, argument);

    *thread_start_on(stack) =
        (struct thread_start){ .run_c11 = run, .argument = argument };
    int error = next_thrd_create(thread, start_c11, stack);
    if (error != thrd_success)
        threads_stack_destroy(stack);
    return error;
}

// dlclose may unload one of the program's handlers. The crash path checks a handler
// only once, so this makes it check again.
CRASHHOOK_API int dlclose(void *library)
{
    static dlclose_fn *next_dlclose;
    if (next_dlclose == NULL)
        next_dlclose = (dlclose_fn *)next_symbol("dlclose");
    int error = next_dlclose(library);
    crash_action_look_again();
    return error;
}
