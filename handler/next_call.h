// SPDX-License-Identifier: Apache-2.0
//
// libc's own functions, which ours interpose: for signals that are not ours, and
// to end the process. If a sanitizer's runtime comes next in the search order, its
// functions are used.
#pragma once
#include <signal.h>

// next_call_find looks them up, so that no later call has to.
void next_call_find(void);

// next_sigaction is libc's sigaction: -1, with errno set, where it fails.
int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

// next_sigmask is libc's pthread_sigmask once it has been looked up, or the kernel's.
int next_sigmask(int how, const sigset_t *set, sigset_t *old);

// next_exit_now is libc's _exit.
__attribute__((noreturn)) void next_exit_now(int status);
