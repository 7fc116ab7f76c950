// SPDX-License-Identifier: Apache-2.0
//
// A library to preload that notices when something on an alternate signal stack, where
// handlers of crashes run, allocates, takes a lock, forks, or asks the loader: it says
// so on standard error. Its calls go on to the C library's.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library's own, under the names it has them by.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *piece, size_t size);
extern void __libc_free(void *piece);

static void notice(const char *call)
{
    // The kernel's answer is about the handler's stack, the library's about the
    // program's.
    stack_t now = { .ss_flags = 0 };
    stack_t theirs = { .ss_flags = 0 };
    (void)syscall(SYS_sigaltstack, NULL, &now);
    (void)sigaltstack(NULL, &theirs);
    if (((now.ss_flags | theirs.ss_flags) & SS_ONSTACK) == 0)
        return;
    (void)!write(STDERR_FILENO, "in a crash: ", 12);
    (void)!write(STDERR_FILENO, call, strlen(call));
    (void)!write(STDERR_FILENO, "\n", 1);
}

void *malloc(size_t size)
{
    notice("malloc");
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    notice("calloc");
    return __libc_calloc(count, size);
}

void *realloc(void *piece, size_t size)
{
    notice("realloc");
    return __libc_realloc(piece, size);
}

void free(void *piece)
{
    notice("free");
    __libc_free(piece);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    static int (*lock)(pthread_mutex_t *);
    notice("pthread_mutex_lock");
    if (lock == NULL)
        *(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    return lock(mutex);
}

pid_t fork(void)
{
    static pid_t (*make)(void);
    notice("fork");
    if (make == NULL)
        *(void **)&make = dlsym(RTLD_NEXT, "fork");
    return make();
}

char *getenv(const char *name)
{
    static char *(*get)(const char *);
    notice("getenv");
    if (get == NULL)
        *(void **)&get = dlsym(RTLD_NEXT, "getenv");
    return get(name);
}
