// SPDX-License-Identifier: Apache-2.0
//
// The stack of our own programs. They inherit the limit of the program that they watch
// or report (RLIMIT_STACK), and may be forbidden to raise it.
#pragma once

// ample_stack_run returns run(argc, argv). Under a limit that run may exceed, it runs
// on a mapping in place of the process's stack.
int ample_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);
