// SPDX-License-Identifier: Apache-2.0
//
// The vDSO is an image without a file. The running kernel's is mapped into ourselves,
// and where the build IDs agree it is the one of the report.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "symbolizer/names/debug_elf.h"

// vdso_is_path is true for the names a vDSO goes by in place of a path.
bool vdso_is_path(const char *path);

// vdso_open opens a copy of our own. CH_ERR_NOT_FOUND: the kernel gave us none.
CH_CHECKED enum ch_status vdso_open(struct debug_elf *out);
