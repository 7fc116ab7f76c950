// SPDX-License-Identifier: Apache-2.0
//
// What each main of ours calls first: for its stack, and for its standard files.
//
// Our programs inherit the limit of the stack (RLIMIT_STACK) of the program that they
// watch or report, and may be forbidden to raise it.
#pragma once

// ample_stack_run returns run(argc, argv). Under a limit that run may exceed, it runs
// on a mapping in place of the process's stack.
int ample_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

// The parent process may have closed standard input, output or error. The next file or
// socket to be opened would then become, say, standard error and receive messages meant
// for people.

// standard_files_hold fills the closed ones with descriptors opened for the opposite
// direction, so that using one still fails. They are close-on-exec.
void standard_files_hold(void);
