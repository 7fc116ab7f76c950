// SPDX-License-Identifier: Apache-2.0
//
// Completion of the crashhook command for bash and zsh, written from the table of
// commands, so that a new command or option is completed without another line.
//
// An option's value is completed where the table says what it is: FILE and DIR are
// paths, `no|yes|tty` is one of its words.
#pragma once

// completion_write_bash prints a script that bash sources; it returns COMMAND_DONE.
int completion_write_bash(void);

// completion_write_zsh prints the function file _crashhook of zsh, likewise.
int completion_write_zsh(void);
