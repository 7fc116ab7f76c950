// SPDX-License-Identifier: Apache-2.0
//
// LD_PRELOAD separates its paths by spaces and colons and has no way to quote either.
// An installation below such a path is preloaded through a link: it lies in a folder of
// the user's own in /tmp or /var/tmp, which everybody may pass and nobody else may
// change.
#pragma once
#include <limits.h>

#include "base/status.h"

// preload_path_make writes a path of library, which is absolute, that LD_PRELOAD takes:
// the path itself, or one through a link. CH_ERR_IO: neither folder can be had. A link
// stays, since the program may outlive whoever started it: one for each installation
// and user.
CH_CHECKED enum ch_status preload_path_make(const char *library,
                                            char out_path[static PATH_MAX]);
