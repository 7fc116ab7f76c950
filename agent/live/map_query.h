// SPDX-License-Identifier: Apache-2.0
//
// The mappings of a process, queried from the kernel one by one (PROCMAP_QUERY, since
// Linux 6.11) instead of read as lines of /proc/PID/maps.
//
// The kernel writes the path of a file's mapping only on request. That is most of what
// a line costs it, and the mappings of a library have one path: with many libraries the
// list takes half the time. The page of vsyscall is no mapping here.
#pragma once
#include <sys/types.h>

#include "images/images.h"

// map_query_read lists the mappings of the process of pid, which may be any of its
// threads that has not exited, in out, whose other members become empty. On failure all
// of out is empty: the text has to be read. CH_ERR_UNSUPPORTED: the kernel does not
// know the query, or answers it otherwise than expected.
CH_CHECKED enum ch_status map_query_read(struct target_images *out, pid_t pid);
