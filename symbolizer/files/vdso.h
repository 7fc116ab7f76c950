// SPDX-License-Identifier: Apache-2.0
//
// The vDSO is an image without a file. The running kernel's is mapped into our own
// process, and is the one of the report if the build IDs are equal.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "symbolizer/files/debug_elf.h"

// vdso_is_path says whether path is one of the names that a vDSO has in place of a
// path.
bool vdso_is_path(const char *path);

// vdso_open opens a copy of our own. CH_ERR_NOT_FOUND: the kernel gave us none.
CH_CHECKED enum ch_status vdso_open(struct debug_elf *out);
