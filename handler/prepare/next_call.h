// SPDX-License-Identifier: Apache-2.0
//
// libc's own functions, which ours interpose: for signals that are not ours, and
// to end the process. If a sanitizer's runtime comes next in the search order, its
// functions are used.
#pragma once
#include <signal.h>

#include "crashhook/crashhook.h"

#pragma GCC visibility push(hidden)

// INTERPOSED is for functions that come before libc's.
#define INTERPOSED CRASHHOOK_API __attribute__((weak))

// next_call_find looks them up, so that no later call has to.
void next_call_find(void);

// next_symbol is what the loader finds for name after this library. dlsym is not used:
// another library may wrap it, and then it looks from there. NULL: there is none.
void *next_symbol(const char *name);

// next_call_library is the path from which the loader has this library. NULL: it is
// part of the program.
const char *next_call_library(void);

// next_libc_sigaction is libc's sigaction, by a name that nobody interposes.
int next_libc_sigaction(int signal, const struct sigaction *action,
                        struct sigaction *old);

// next_sigaction is libc's sigaction: -1, with errno set, where it fails.
int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

// next_sigmask is libc's pthread_sigmask once it has been looked up, or the kernel's.
int next_sigmask(int how, const sigset_t *set, sigset_t *old);

// next_exit_now is libc's _exit.
__attribute__((noreturn)) void next_exit_now(int status);

#pragma GCC visibility pop
