// SPDX-License-Identifier: Apache-2.0
//
// Completion of the crashhook command for bash and zsh, generated from the table of
// commands, so that new commands and options need no further code.
//
// An option's value is completed where the table says what it is: FILE and DIR are
// paths, `no|yes|tty` is one of its words.
#pragma once

// completion_write_bash prints a script that bash sources; it returns COMMAND_DONE.
int completion_write_bash(void);

// completion_write_zsh prints the function file _crashhook for zsh and returns
// COMMAND_DONE.
int completion_write_zsh(void);
