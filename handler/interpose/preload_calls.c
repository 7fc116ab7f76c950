// SPDX-License-Identifier: Apache-2.0
//
// chroot and setns, interposed before libc's by the shared library: the loader of a
// program that is then executed prints an error for each library of LD_PRELOAD that it
// does not find.
#include "handler/interpose/preload_calls.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash_filter.h"
#include "handler/interpose/actions.h"
#include "handler/machine/file_syscalls.h"
#include "handler/prepare/next_call.h"

typedef int chroot_fn(const char *);
typedef int setns_fn(int, int);

static const char preload[] = "LD_PRELOAD=";

// is_own_library returns true if the word is a library in the folder of ours.
static bool is_own_library(const char *word, size_t length, const char *library)
{
    static const char name[] = "libcrashhook";
    size_t folder = (size_t)(strrchr(library, '/') + 1 - library);
    return length > folder + sizeof(name) - 1 && memcmp(word, library, folder) == 0 &&
           memcmp(word + folder, name, sizeof(name) - 1) == 0;
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (at[length] != 0 && at[length] != ' ' && at[length] != ':')
        length++;
    return length;
}

// cut_ours takes ours out of the words, in place. It writes nothing before the first of
// ours: the program may have set a constant text. True: nothing is left.
static bool cut_ours(char *words, const char *library)
{
    char *to = NULL;
    for (char *at = words; *at != 0;) {
        size_t length = word_length(at);
        size_t whole = length + (at[length] != 0);
        if (is_own_library(at, length, library)) {
            to = to != NULL ? to : at;
        } else if (to != NULL) {
            memmove(to, at, whole);
            to += whole;
        }
        at += whole;
    }
    if (to != NULL)
        *to = 0;
    return to == words;
}

void preload_leave_out(void)
{
    const char *library = next_call_library();
    char **entry = environ;
    if (library == NULL || library[0] != '/')
        return;
    while (entry != NULL && *entry != NULL &&
           strncmp(*entry, preload, sizeof(preload) - 1) != 0)
        entry++;
    if (entry != NULL && *entry != NULL &&
        cut_ours(*entry + sizeof(preload) - 1, library)) {
        for (; *entry != NULL; entry++)
            entry[0] = entry[1];
    }
}

long preload_after_root(long result)
{
    const char *library = next_call_library();
    if (result == 0 && library != NULL && crash_may_call(CRASH_CALLS_START) &&
        !actions_are_shared() && !sys_exists(library))
        preload_leave_out();
    return result;
}

CRASHHOOK_API int chroot(const char *path)
{
    return (int)preload_after_root(((chroot_fn *)next_symbol("chroot"))(path));
}

CRASHHOOK_API int setns(int fd, int kind)
{
    return (int)preload_after_root(((setns_fn *)next_symbol("setns"))(fd, kind));
}
