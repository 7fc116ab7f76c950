// SPDX-License-Identifier: Apache-2.0
//
// The calls that execute another program, in this process or in a child, and
// quick_exit: interposed before libc's by the shared library. Those that end this
// program wait while another thread's crash is being reported. Without a crash they
// make few system calls of ours, none that a filter refuses: getpid where an agent is
// the supervisor, and those for a signal that the program ignores and we handle. So
// they may be called wherever libc's may: in the child of a vfork, under a filter.
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/interpose/actions.h"
#include "handler/prepare/liveness_record.h"
#include "handler/prepare/next_call.h"

typedef int exec_path_fn(const char *, char *const *);
typedef int exec_environment_fn(const char *, char *const *, char *const *);
typedef int exec_descriptor_fn(int, char *const *, char *const *);
typedef int exec_at_fn(int, const char *, char *const *, char *const *, int);
typedef void quick_exit_fn(int);
typedef int spawn_fn(pid_t *, const char *, const posix_spawn_file_actions_t *,
                     const posix_spawnattr_t *, char *const *, char *const *);
typedef FILE *popen_fn(const char *, const char *);

enum end_call {
    EXECVE,
    EXECV,
    EXECVP,
    EXECVPE,
    FEXECVE,
    EXECVEAT,
    QUICK_EXIT,
    POSIX_SPAWN,
    POSIX_SPAWNP,
    POPEN,
};

static const char end_names[][13] = { "execve",     "execv",       "execvp",
                                      "execvpe",    "fexecve",     "execveat",
                                      "quick_exit", "posix_spawn", "posix_spawnp",
                                      "popen" };
enum { END_CALLS = sizeof(end_names) / sizeof(end_names[0]) };
static void *found_end[END_CALLS];

void end_calls_find(void)
{
    for (size_t i = 0; i < END_CALLS; i++)
        found_end[i] = next_symbol(end_names[i]);
}

// begin_call gives libc's own function, for an exec after the signals in *out_left were
// left to it. NULL, with errno set: there is none.
static void *begin_call(enum end_call call, uint64_t *out_left)
{
    if (found_end[call] == NULL)
        found_end[call] = next_symbol(end_names[call]);
    if (found_end[call] == NULL)
        errno = ENOSYS;
    else if (call != QUICK_EXIT)
        *out_left = actions_leave_to_exec();
    return found_end[call];
}

// await_crash waits for the crash before it begins the call.
static void *await_crash(enum end_call call, uint64_t *out_left)
{
    crash_claim_await();
    liveness_record_note_exec(false);
    return begin_call(call, out_left);
}

// resume_after takes back what both did, as this program continues.
static int resume_after(int result, uint64_t left)
{
    const int error = errno;
    actions_keep(left);
    liveness_record_note_exec(true);
    errno = error;
    return result;
}

// execute_path and execute_in are called by the exported functions, which do not call
// each other: the program may define one of them.
static int execute_path(enum end_call call, const char *path, char *const argv[])
{
    uint64_t left = 0;
    exec_path_fn *next = (exec_path_fn *)await_crash(call, &left);
    return next != NULL ? resume_after(next(path, argv), left) : -1;
}

static int execute_in(enum end_call call, const char *path, char *const argv[],
                      char *const envp[])
{
    uint64_t left = 0;
    exec_environment_fn *next = (exec_environment_fn *)await_crash(call, &left);
    return next != NULL ? resume_after(next(path, argv, envp), left) : -1;
}

CRASHHOOK_API int execve(const char *path, char *const argv[], char *const envp[])
{
    return execute_in(EXECVE, path, argv, envp);
}

CRASHHOOK_API int execv(const char *path, char *const argv[])
{
    return execute_path(EXECV, path, argv);
}

CRASHHOOK_API int execvp(const char *file, char *const argv[])
{
    return execute_path(EXECVP, file, argv);
}

CRASHHOOK_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return execute_in(EXECVPE, file, argv, envp);
}

CRASHHOOK_API int fexecve(int fd, char *const argv[], char *const envp[])
{
    uint64_t left = 0;
    exec_descriptor_fn *next = (exec_descriptor_fn *)await_crash(FEXECVE, &left);
    return next != NULL ? resume_after(next(fd, argv, envp), left) : -1;
}

// execveat is not declared by every libc.
int execveat(int folder, const char *path, char *const argv[], char *const envp[],
             int flags);

CRASHHOOK_API int execveat(int folder, const char *path, char *const argv[],
                           char *const envp[], int flags)
{
    uint64_t left = 0;
    exec_at_fn *next = (exec_at_fn *)await_crash(EXECVEAT, &left);
    return next != NULL ? resume_after(next(folder, path, argv, envp, flags), left)
                        : -1;
}

// execute_list gathers the arguments from first to the NULL that ends them. EXECVE: the
// environment is after that.
static int execute_list(enum end_call call, const char *path, const char *first,
                        va_list *rest)
{
    size_t count = 1;
    va_list copy;
    va_copy(copy, *rest);
    for (const char *next = first; next != NULL; next = va_arg(copy, const char *))
        count++;
    va_end(copy);
    char *argv[count];
    argv[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i < count; i++)
        argv[i] = va_arg(*rest, char *);
    if (call == EXECVE)
        return execute_in(call, path, argv, va_arg(*rest, char *const *));
    return execute_path(call, path, argv);
}

CRASHHOOK_API int execl(const char *path, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int result = execute_list(EXECV, path, first, &rest);
    va_end(rest);
    return result;
}

CRASHHOOK_API int execlp(const char *file, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int result = execute_list(EXECVP, file, first, &rest);
    va_end(rest);
    return result;
}

CRASHHOOK_API int execle(const char *path, const char *first, ...)
{
    va_list rest;
    va_start(rest, first);
    int result = execute_list(EXECVE, path, first, &rest);
    va_end(rest);
    return result;
}

CRASHHOOK_API void quick_exit(int status)
{
    quick_exit_fn *next = (quick_exit_fn *)await_crash(QUICK_EXIT, NULL);
    if (next == NULL)
        _exit(status);
    next(status);
    __builtin_unreachable();
}

// While a program is executed in a child, this one ignores what it wants to be ignored,
// because libc's child is not seen. Nearly no program ignores such a signal: then these
// are a jump. system is left alone: it lasts as long as its command.

CRASHHOOK_API int posix_spawn(pid_t *restrict pid, const char *restrict path,
                              const posix_spawn_file_actions_t *files,
                              const posix_spawnattr_t *restrict attributes,
                              char *const argv[restrict], char *const envp[restrict])
{
    uint64_t left = 0;
    spawn_fn *next = (spawn_fn *)begin_call(POSIX_SPAWN, &left);
    if (next == NULL)
        return ENOSYS;
    if (left == 0)
        return next(pid, path, files, attributes, argv, envp);
    return resume_after(next(pid, path, files, attributes, argv, envp), left);
}

CRASHHOOK_API int posix_spawnp(pid_t *restrict pid, const char *restrict file,
                               const posix_spawn_file_actions_t *files,
                               const posix_spawnattr_t *restrict attributes,
                               char *const argv[restrict], char *const envp[restrict])
{
    uint64_t left = 0;
    spawn_fn *next = (spawn_fn *)begin_call(POSIX_SPAWNP, &left);
    if (next == NULL)
        return ENOSYS;
    if (left == 0)
        return next(pid, file, files, attributes, argv, envp);
    return resume_after(next(pid, file, files, attributes, argv, envp), left);
}

// call_popen is popen, a name that is banned here.
FILE *call_popen(const char *command, const char *mode) __asm__("popen");

CRASHHOOK_API FILE *call_popen(const char *command, const char *mode)
{
    uint64_t left = 0;
    popen_fn *next = (popen_fn *)begin_call(POPEN, &left);
    if (next == NULL || left == 0)
        return next != NULL ? next(command, mode) : NULL;
    FILE *stream = next(command, mode);
    (void)resume_after(0, left);
    return stream;
}
