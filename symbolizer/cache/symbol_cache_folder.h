// SPDX-License-Identifier: Apache-2.0
//
// The folder of symbol caches: one file of each kind for a build ID, read and written
// by any number of processes at once.
//
// A file appears complete or not at all. Folder and files must be owned by the user and
// writable by no other user; others are ignored. What is not in the folder is looked
// for in root's, SYMBOL_CACHE_FOLDER_SHARED, where `crashhook symbols index` puts the
// caches of what is installed; its files must be root's, and readable by everybody. A
// file that is damaged or of another version is removed, so that it is written again.
// The size of a folder is limited: the least recently read files are removed first.
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "symbolizer/cache/symbol_cache.h"
#include "symbolizer/search/debug_search.h"

// SYMBOL_CACHE_FOLDER_BYTES limits the size of a folder of caches.
#define SYMBOL_CACHE_FOLDER_BYTES (2ull << 30)

// SYMBOL_CACHE_FOLDER_SHARED is the default folder of root.
#define SYMBOL_CACHE_FOLDER_SHARED "/var/cache/crashhook/symbols"

enum symbol_cache_kind {
    SYMBOL_CACHE_OF_NAMES,    // docs/formats/symbol-cache.md
    SYMBOL_CACHE_OF_DEBUG,    // debug information that was compressed
                              // (decompressed_debug.h)
    SYMBOL_CACHE_OF_PACKAGES, // the index of dpkg's lists (dpkg_packages.h); instead of
                              // a build ID it has their state
};

// symbol_cache_folder_default writes the default folder:
// $XDG_CACHE_HOME/crashhook/symbols; without the variable /var/cache/crashhook/symbols
// for root and ~/.cache/crashhook/symbols for others. It returns out, or NULL if there
// is no such folder.
const char *symbol_cache_folder_default(char out[PATH_MAX]);

// symbol_cache_folder_find maps the cache of id in folder. CH_ERR_NOT_FOUND: there is
// no usable one.
CH_CHECKED enum ch_status symbol_cache_folder_find(struct symbol_cache *out,
                                                   const char *folder,
                                                   const struct build_id *id);

// symbol_cache_folder_open opens a file of id that is no cache of names; the caller
// owns the descriptor. -1: there is none that can be trusted.
int symbol_cache_folder_open(const char *folder, const struct build_id *id,
                             enum symbol_cache_kind kind);

// symbol_cache_folder_forget removes the caches of id, including those being written,
// because what they were made from is no longer trusted.
void symbol_cache_folder_forget(const char *folder, const struct build_id *id);

// symbol_cache_folder_claim creates folder if it is missing and returns whether the
// caller is to write the cache of id: false if it exists, if another process is writing
// it, or if writing it failed within the last day.
bool symbol_cache_folder_claim(const char *folder, const struct build_id *id,
                               enum symbol_cache_kind kind);

// symbol_cache_folder_lacks says, with two system calls, whether claiming id is worth
// trying: there is neither a cache nor a claim of it.
bool symbol_cache_folder_lacks(const char *folder, const struct build_id *id);

// symbol_cache_folder_release gives up the claim on id without writing a cache.
void symbol_cache_folder_release(const char *folder, const struct build_id *id,
                                 enum symbol_cache_kind kind);

// symbol_cache_folder_share lets everybody read the caches of id, and enter folder.
void symbol_cache_folder_share(const char *folder, const struct build_id *id);

// symbol_cache_folder_await waits, at most timeout_ms, while another process writes the
// cache of id. False: none does.
bool symbol_cache_folder_await(const char *folder, const struct build_id *id,
                               enum symbol_cache_kind kind, int64_t timeout_ms);

// A symbol_cache_file is a cache being written: fd is empty at first.
struct symbol_cache_file {
    int folder_fd;
    int fd;
    struct build_id id;
    enum symbol_cache_kind kind;
};

// symbol_cache_folder_begin creates the file for the cache of id, which was claimed.
CH_CHECKED enum ch_status symbol_cache_folder_begin(struct symbol_cache_file *out,
                                                    const char *folder,
                                                    const struct build_id *id,
                                                    enum symbol_cache_kind kind);

// symbol_cache_folder_end makes it the cache of its build and removes old caches until
// the folder is within limit_bytes; or removes it, if status says that writing it
// failed, and returns that. CH_ERR_NOT_FOUND: the build was forgotten after the claim,
// and stays so.
CH_CHECKED enum ch_status symbol_cache_folder_end(struct symbol_cache_file *file,
                                                  enum ch_status status,
                                                  uint64_t limit_bytes);

// symbol_cache_folder_put makes the size bytes at bytes the cache of id, which was
// claimed, and removes old caches until the folder is within limit_bytes.
// CH_ERR_NOT_FOUND: id was forgotten after the claim, and stays so.
CH_CHECKED enum ch_status symbol_cache_folder_put(const char *folder,
                                                  const struct build_id *id,
                                                  enum symbol_cache_kind kind,
                                                  const void *bytes, size_t size,
                                                  uint64_t limit_bytes);
