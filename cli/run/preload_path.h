// SPDX-License-Identifier: Apache-2.0
//
// LD_PRELOAD separates its paths by spaces and colons and has no way to quote either.
// An installation below a path with such a character is preloaded through a symbolic
// link, in a folder of the user's own in /tmp or /var/tmp that everybody can search and
// nobody else can change.
#pragma once
#include <limits.h>

#include "base/status.h"

// preload_path_make writes a path to library, which is absolute, that LD_PRELOAD
// accepts: the path itself, or one through a link. CH_ERR_IO: neither folder is usable.
// The link stays, one per installation and user, because the program may outlive the
// process that started it.
CH_CHECKED enum ch_status preload_path_make(const char *library,
                                            char out_path[static PATH_MAX]);
