// SPDX-License-Identifier: Apache-2.0
//
// The folder of symbol caches: one file of each kind for a build ID, used and written
// by any number of processes at once.
//
// A file appears whole or not at all. Folder and files must belong to who uses them and
// be writable by nobody else; what does not is left alone. A file that turns out to be
// damaged or of another version is removed, so that the next one is right. Folders stay
// below a size: who was read longest ago goes first.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "symbolizer/names/debug_search.h"
#include "symbolizer/names/symbol_cache.h"

// SYMBOL_CACHE_FOLDER_BYTES is how large a folder of caches grows.
#define SYMBOL_CACHE_FOLDER_BYTES (512ull << 20)

enum symbol_cache_kind {
    SYMBOL_CACHE_OF_NAMES, // docs/formats/symbol-cache.md
    SYMBOL_CACHE_OF_DEBUG, // debug information that was compressed (plain_debug.h)
};

// symbol_cache_folder_default writes where caches are unless told otherwise:
// $XDG_CACHE_HOME/crashhook/symbols; without the variable /var/cache/crashhook/symbols
// for root and ~/.cache/crashhook/symbols for others. It returns out, or NULL when
// there is no such place.
const char *symbol_cache_folder_default(char out[PATH_MAX]);

// symbol_cache_folder_find maps the cache of id in folder. CH_ERR_NOT_FOUND: there is
// none that can be used.
CH_CHECKED enum ch_status symbol_cache_folder_find(struct symbol_cache *out,
                                                   const char *folder,
                                                   const struct build_id *id);

// symbol_cache_folder_debug opens the debug information of id; the descriptor is the
// caller's. -1: there is none that can be trusted.
int symbol_cache_folder_debug(const char *folder, const struct build_id *id);

// symbol_cache_folder_forget removes the caches of id, also what is being written: what
// they were made from is not to be believed any more.
void symbol_cache_folder_forget(const char *folder, const struct build_id *id);

// symbol_cache_folder_claim creates folder where it is missing and says whether the
// caller is to write the cache of id: false when it is there, when another process is
// at it, or when one failed to within the last day.
bool symbol_cache_folder_claim(const char *folder, const struct build_id *id,
                               enum symbol_cache_kind kind);

// symbol_cache_folder_lacks says, at the cost of two system calls, whether a claim on
// id is worth a try: neither a cache of it nor a claim is there.
bool symbol_cache_folder_lacks(const char *folder, const struct build_id *id);

// symbol_cache_folder_release gives the claim on id back without a cache.
void symbol_cache_folder_release(const char *folder, const struct build_id *id,
                                 enum symbol_cache_kind kind);

// symbol_cache_folder_put makes the size bytes at bytes the cache of id, which was
// claimed, and removes old caches until limit_bytes hold the rest. CH_ERR_NOT_FOUND: id
// was forgotten since it was claimed, and stays so.
CH_CHECKED enum ch_status symbol_cache_folder_put(const char *folder,
                                                  const struct build_id *id,
                                                  enum symbol_cache_kind kind,
                                                  const void *bytes, size_t size,
                                                  uint64_t limit_bytes);
