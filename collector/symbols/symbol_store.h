// SPDX-License-Identifier: Apache-2.0
//
// Debug files and bundles of sources, wherever their content is.
//
// The folder (symbol_folder.h) is where they are read. Without --symbol-store it has
// all of them. With it their content is in objects: compressed (zstd), under the hash
// of it, once however many builds have it; and the folder is a cache, filled when a
// file is wanted and emptied by last use. Users: requests for files, symbolization,
// pages.
//
// A file is a project's, or (project "") everybody's. Reports and clients of a project
// get its own file of a build, else everybody's, and learn nothing of other projects'.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collector/store/store.h"
#include "collector/symbols/symbol_folder.h"

struct symbol_store;

struct symbol_store_options {
    struct store *store;
    const char *folder;
    const char *place;   // of the objects (object_store.h); NULL: the folder has all
    bool reading;        // the store is only read
    int64_t cache_bytes; // that files with an object may take in the folder
    int64_t keep_ms;     // since a file was used last; 0: for ever
};

// symbol_kept is what is known of a file that came.
struct symbol_kept {
    enum symbol_kind kind;
    const char *build_id;
    const char *project; // empty: none
    const char *release; // empty: it was not said
};

enum { SYMBOL_STORE_KEY_SIZE = ENTRY_PROJECT_SIZE + SYMBOL_FOLDER_ID_SIZE + 16 };

// symbol_store_key writes the build key of a file (store_symbolization.h).
void symbol_store_key(const char *project, enum symbol_kind kind, const char *build_id,
                      char out[SYMBOL_STORE_KEY_SIZE]);

// symbol_store_create opens the place. error gets one line on failure.
CH_CHECKED enum ch_status
symbol_store_create(const struct symbol_store_options *options,
                    struct symbol_store **out, char error[STORE_ERROR_SIZE]);
void symbol_store_destroy(struct symbol_store *symbols);

// symbol_store_give_up ends the waits of all calls.
void symbol_store_give_up(struct symbol_store *symbols);

// symbol_store_folder is the path of the folder.
const char *symbol_store_folder(const struct symbol_store *symbols);

// symbol_store_has returns true if a project may have a file of that kind for a build
// ID; of one that another collector removed or added it may know a few seconds later.
// symbol_store_owns returns true if that file is its own. Here and below, Breakpad's
// symbols or the program stand in for a debug file that is not there.
bool symbol_store_has(struct symbol_store *symbols, const char *project,
                      enum symbol_kind kind, const char *id);
bool symbol_store_owns(struct symbol_store *symbols, const char *project,
                       enum symbol_kind kind, const char *id);

// symbol_store_prefers_own returns true if names of a build come from the project's own
// file: a debug file, or a program of which nobody has shared a debug file.
bool symbol_store_prefers_own(struct symbol_store *symbols, const char *project,
                              const char *id);

// symbol_store_found_key writes the build key of the file that a project gets. false:
// id is no build ID.
bool symbol_store_found_key(struct symbol_store *symbols, const char *project,
                            enum symbol_kind kind, const char *id,
                            char out[SYMBOL_STORE_KEY_SIZE]);

// symbol_store_open opens it for reading, and fetches it first if needed; -1: there is
// none, or it cannot be fetched now. The file is used then.
int symbol_store_open(struct symbol_store *symbols, const char *project,
                      enum symbol_kind kind, const char *id);

// symbol_store_open_now is for requests: few of them fetch at once. CH_ERR_NOT_FOUND:
// there is no such file, or its object is damaged. CH_ERR_LIMIT: others have been
// fetching for too long; CH_ERR_IO: it cannot be had now.
CH_CHECKED enum ch_status symbol_store_open_now(struct symbol_store *symbols,
                                                const char *project,
                                                enum symbol_kind kind, const char *id,
                                                int *out);

// symbol_store_room finds out whether a file of a project leaves it within quota bytes
// (0: no limit).
CH_CHECKED enum ch_status symbol_store_room(struct symbol_store *symbols,
                                            const struct symbol_kept *file,
                                            uint64_t size, int64_t quota,
                                            bool *out_room);

// symbol_store_keep stores the content of a file that is in the folder by now.
CH_CHECKED enum ch_status symbol_store_keep(struct symbol_store *symbols,
                                            const struct symbol_kept *file,
                                            char error[STORE_ERROR_SIZE]);

// symbol_store_remove removes files that were not used since a time, or those of a
// release (NULL: of any), of a project (empty: of all); at most some at once, and
// returns how many.
CH_CHECKED enum ch_status symbol_store_remove(struct symbol_store *symbols,
                                              int64_t used_ms, const char *release,
                                              const char *project, size_t *out_removed,
                                              char error[STORE_ERROR_SIZE]);

// symbol_store_tidy removes what is too old and what the folder has no room for, and
// says whether there is more to do.
CH_CHECKED enum ch_status symbol_store_tidy(struct symbol_store *symbols,
                                            bool *out_more,
                                            char error[STORE_ERROR_SIZE]);
