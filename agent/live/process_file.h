// SPDX-License-Identifier: Apache-2.0
//
// Files that a held process wrote for others to read, as it sees them: in its own mount
// namespace and root.
#pragma once
#include <sys/types.h>

#include "base/text.h"

// PROCESS_FILE_ANY stands for any user.
#define PROCESS_FILE_ANY ((uid_t)-1)

// process_file_read appends a file of the process of pid; the path is absolute and the
// process's. It has to be a regular file of user uid, and no symbolic link leads out of
// the process's root. It is opened with the rights that were applied (rights.h).
// CH_ERR_NOT_FOUND: there is no such file. CH_ERR_LIMIT: it has more than limit_bytes,
// and the first of them were read.
CH_CHECKED enum ch_status process_file_read(pid_t pid, const char *path, uid_t uid,
                                            size_t limit_bytes, struct text *out);

// process_file_number is the process's id in its own PID namespace; 0: not known.
pid_t process_file_number(pid_t pid);
