// SPDX-License-Identifier: Apache-2.0
//
// A plain debug file has a debug file's entries, locations and strings decompressed. It
// is mapped and used directly, where decompressing the original takes tens of
// milliseconds for one value. It is kept with the symbol caches
// (symbol_cache_folder.h).
//
// It has no lines and no symbols, as names have their own cache. Files that refer to
// another file (`.gnu_debugaltlink`) have no plain form.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "symbolizer/names/debug_elf.h"

// PLAIN_DEBUG_MAX is the size of the largest one that is written.
#define PLAIN_DEBUG_MAX ((size_t)64 << 20)

// plain_debug_wanted says whether file has compressed sections that a plain one would
// contain.
bool plain_debug_wanted(const struct debug_elf *file);

// plain_debug_write appends the plain form of file to the empty out. CH_ERR_LIMIT: it
// exceeds out's limit. CH_ERR_MALFORMED: it cannot be decompressed.
CH_CHECKED enum ch_status plain_debug_write(const struct debug_elf *file,
                                            struct text *out);
