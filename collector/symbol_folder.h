// SPDX-License-Identifier: Apache-2.0
//
// The folder of debug files, laid out as debuggers expect it:
// FOLDER/.build-id/ab/cdef….debug for build ID abcdef…, and beside it, as
// cdef….sources, the source bundle of that build.
//
// A file is written beside its place under a name of its own, checked (to be an ELF
// file of that very build, a whole bundle), synced and renamed: what is visible is
// whole. Names come from a build ID that is hexadecimal digits alone, so no request
// names a path.
//
// Beside them, in FOLDER/cache, are symbol caches (docs/formats/symbol-cache.md): what
// a view needs of a debug file without the file. The folder of them is bounded.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

enum { SYMBOL_FOLDER_ID_SIZE = 129, SYMBOL_FOLDER_PATH_SIZE = 4096 };

// What the folder keeps of a build.
enum symbol_kind { SYMBOL_DEBUG_FILE, SYMBOL_SOURCES };

// A file on its way in.
struct symbol_upload {
    const char *folder; // borrowed
    enum symbol_kind kind;
    int fd;
    char build_id[SYMBOL_FOLDER_ID_SIZE];
    char temporary[SYMBOL_FOLDER_PATH_SIZE];
    char final[SYMBOL_FOLDER_PATH_SIZE];
    bool existed;
};

// symbol_folder_id_ok says whether id is an even number of lower-case hexadecimal
// digits, 4 to 128 of them.
bool symbol_folder_id_ok(const char *id);

// symbol_folder_has says whether there is one of build ID id.
bool symbol_folder_has(const char *folder, enum symbol_kind kind, const char *id);

// symbol_folder_open opens what there is of build ID id for reading; -1: nothing.
int symbol_folder_open(const char *folder, enum symbol_kind kind, const char *id);

// symbol_folder_cache writes where the symbol caches of folder are, and returns out, or
// NULL where that does not fit.
const char *symbol_folder_cache(const char *folder, char out[SYMBOL_FOLDER_PATH_SIZE]);

// symbol_folder_lacks_cache says whether build ID id has no cache yet and nobody is at
// writing it.
bool symbol_folder_lacks_cache(const char *folder, const char *id);

// symbol_upload_begin makes the file that is written to. CH_ERR_MALFORMED: no build ID.
CH_CHECKED enum ch_status symbol_upload_begin(const char *folder, enum symbol_kind kind,
                                              const char *build_id,
                                              struct symbol_upload *out);

// symbol_upload_write adds bytes.
CH_CHECKED enum ch_status symbol_upload_write(struct symbol_upload *upload,
                                              const void *bytes, size_t size);

// symbol_upload_finish checks the file and makes it visible, durably, in place of an
// earlier one and of what was cached of that.
// CH_ERR_MALFORMED: it is no ELF file, or no whole bundle. CH_ERR_NOT_FOUND: it is of
// another build, or says nothing about its build.
CH_CHECKED enum ch_status symbol_upload_finish(struct symbol_upload *upload);

// symbol_upload_abandon removes what symbol_upload_finish did not make visible.
void symbol_upload_abandon(struct symbol_upload *upload);
