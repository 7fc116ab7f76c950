// SPDX-License-Identifier: Apache-2.0
//
// What the store knows of debug files and bundles of sources: where the content of each
// is kept, whose it is, when it was used last; and of which builds a server upstream
// was asked. Users: server/symbol_store.c and what removes files.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/store/store.h"

enum { STORE_SYMBOLS_STEP = 64 }; // most files that a listing for removal visits

// store_symbol_file is a file; strings live until a visitor returns.
struct store_symbol_file {
    const char *key;     // a build key (store_symbolization.h)
    const char *name;    // of the object that has it; empty: it is in the folder alone
    const char *project; // empty: none
    const char *release; // as its sender said; may be empty
    int64_t size;        // of the file
    int64_t kept;        // of what is kept of it, in bytes
    int64_t used_ms;
};

typedef void store_symbol_fn(void *context, const struct store_symbol_file *file);
typedef void store_build_name_fn(void *context, const char *build);

// store_unasked_fn is called with builds in their order; wanted: nobody has its debug
// file, and nobody was asked.
typedef void store_unasked_fn(void *context, const char *build, bool wanted);

// store_symbol_keep keeps a file's row, in the place of an earlier one.
CH_CHECKED enum ch_status store_symbol_keep(struct store *store,
                                            const struct store_symbol_file *file,
                                            int64_t now_ms,
                                            char error[STORE_ERROR_SIZE]);

// store_symbols_size sums up the sizes of a project's files, but for one.
CH_CHECKED enum ch_status store_symbols_size(struct store *store, const char *project,
                                             const char *key, int64_t *out);

// store_symbol_find visits a file, or returns CH_ERR_NOT_FOUND.
CH_CHECKED enum ch_status store_symbol_find(struct store *store, const char *key,
                                            store_symbol_fn *visit, void *context);

// store_symbol_used notes that a file is used, where that was not noted since the
// time given.
CH_CHECKED enum ch_status store_symbol_used(struct store *store, const char *key,
                                            int64_t now_ms, int64_t since_ms,
                                            char error[STORE_ERROR_SIZE]);

// store_fetch_enter waits for one of the few places that fetches for requests have, of
// bodies and debug files together (object_store.h); false: all are taken for too long.
bool store_fetch_enter(struct store *store);
void store_fetch_leave(struct store *store);

// store_symbol_forget removes a file's row; its object goes a day later.
CH_CHECKED enum ch_status store_symbol_forget(struct store *store, const char *key,
                                              char error[STORE_ERROR_SIZE]);

// store_list_symbols visits all files that an object has.
CH_CHECKED enum ch_status store_list_symbols(struct store *store,
                                             store_symbol_fn *visit, void *context);

// store_list_owned visits the keys of all files that came of a project, or (build not
// empty) those of a build.
CH_CHECKED enum ch_status store_list_owned(struct store *store, const char *build,
                                           store_build_name_fn *visit, void *context);

// store_list_removable visits files that were not used since a time, or, where release
// is given, those of that release, at most STORE_SYMBOLS_STEP. project NULL: of all.
CH_CHECKED enum ch_status store_list_removable(struct store *store, int64_t used_ms,
                                               const char *release, const char *project,
                                               store_symbol_fn *visit, void *context);

// store_list_lacking visits the builds whose names some reports lack.
CH_CHECKED enum ch_status store_list_lacking(struct store *store,
                                             const int64_t *reports, size_t count,
                                             store_build_name_fn *visit, void *context);

// store_list_unasked visits the builds whose names reports lack, at most
// STORE_SYMBOLS_STEP in their order after one of them, and returns which are wanted: no
// debug file of it came for everybody, and nobody upstream was asked for it since a
// time.
CH_CHECKED enum ch_status store_list_unasked(struct store *store, const char *after,
                                             int64_t since_ms, store_unasked_fn *visit,
                                             void *context);

// store_build_asked notes that somebody upstream was asked of a build.
CH_CHECKED enum ch_status store_build_asked(struct store *store, const char *build,
                                            int64_t now_ms,
                                            char error[STORE_ERROR_SIZE]);
