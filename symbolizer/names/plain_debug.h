// SPDX-License-Identifier: Apache-2.0
//
// A plain debug file is a debug file's entries, places and strings, decompressed: a
// file that is mapped and used as it lies, where its original takes tens of
// milliseconds to decompress for one value. It lies among the symbol caches
// (symbol_cache_folder.h).
//
// It has no lines and no symbols: names have a cache of their own. Files that need
// another one beside them (`.gnu_debugaltlink`) have no plain form.
#pragma once
#include <stdbool.h>

#include "base/status.h"
#include "base/text.h"
#include "symbolizer/names/debug_elf.h"

// PLAIN_DEBUG_MAX is the largest one that is written.
#define PLAIN_DEBUG_MAX ((size_t)64 << 20)

// plain_debug_wanted is whether file has what a plain one would save decompressing.
bool plain_debug_wanted(const struct debug_elf *file);

// plain_debug_write appends the plain form of file to the empty out. CH_ERR_LIMIT: it
// is too large for out. CH_ERR_MALFORMED: it cannot be decompressed.
CH_CHECKED enum ch_status plain_debug_write(const struct debug_elf *file,
                                            struct text *out);
