// SPDX-License-Identifier: Apache-2.0
//
// A record as text, for a machine that has the agent and nothing else: what happened,
// and the stack of the thread that crashed, with the names that the symbol tables of
// the files give. `crashhook show` says more, and needs an installation.
#pragma once

// record_text_print prints the record at path to standard output. It returns the exit
// status: 1 with a line on standard error where the file cannot be read as a record.
int record_text_print(const char *path);
