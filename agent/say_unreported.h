// SPDX-License-Identifier: Apache-2.0
//
// One line for a crash that nothing is left of, where no handler is there to say it
// (handler/crash_say.c): of a program that is traced. User: main.
#pragma once
#include <sys/types.h>

// say_unreported says on error_fd, unless that is negative, and in the system's log
// that the crash of process pid by that signal is not reported, and why; why ends the
// line.
void say_unreported(pid_t pid, int signal, int error_fd, const char *why);
