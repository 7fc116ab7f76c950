// SPDX-License-Identifier: Apache-2.0
//
// The file that CRASHHOOK_LOG names. A variable may be another user's, and the folder
// writable by others, so not every file is written to. Users: agent, finish.
#pragma once

// log_file_open opens it for appending, and makes it if it is missing. A file of a
// user other than root and ours, or with a second name, is not. Negative: no log.
int log_file_open(const char *log);
