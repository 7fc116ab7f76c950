// SPDX-License-Identifier: Apache-2.0
//
// A folder for files that a command needs while it runs. No other user may enter it,
// and it is removed with its content.
#pragma once
#include <limits.h>
#include <stdbool.h>

// TEMPORARY_FOLDER_SIZE leaves room for the names of what is in it.
enum { TEMPORARY_FOLDER_SIZE = PATH_MAX - 64 };

// temporary_folder_make makes a new folder for the caller alone in $TMPDIR, or in /tmp
// where that is no absolute path, and writes its path, which begins with
// crashhook-NAME. False: errno is set.
bool temporary_folder_make(const char *name, char path[static TEMPORARY_FOLDER_SIZE]);

// temporary_folder_remove removes it with all that is in it, without following links.
// What cannot be removed is left.
void temporary_folder_remove(const char *path);
