// SPDX-License-Identifier: Apache-2.0
//
// The folder of debug files, laid out as debuggers expect it. Of build ID abcdef… it
// has FOLDER/.build-id/ab/cdef….debug with the debug information, cdef… with the
// program, cdef….sym with what was made of Breakpad's symbols, and cdef….sources with
// the source bundle.
//
// A file is written beside its final place under a unique name, checked (to be an ELF
// file of that very build, or a complete bundle), synced and renamed: any visible file
// is complete. Names are made from a build ID that has only hexadecimal digits, so no
// request can name a path.
//
// FOLDER/cache holds symbol caches (docs/formats/symbol-cache.md): what a view needs of
// a debug file, without the file. The size of that folder is bounded.
//
// These files serve everybody. FOLDER/projects/PROJECT is such a folder too, with the
// files that the project sent and the caches made of them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum {
    SYMBOL_FOLDER_ID_SIZE = 129,
    SYMBOL_FOLDER_PATH_SIZE = 4096,
    SYMBOL_PART_SIZE = 32,
    SYMBOL_FILE_MAX = 2 << 29 // 1 GB
};

// symbol_kind is what the folder keeps of a build. An ELF file's content says which
// kind it is: one with debug information, otherwise one with code, otherwise one with
// symbols alone.
enum symbol_kind {
    SYMBOL_DEBUG_FILE,
    SYMBOL_SOURCES,
    SYMBOL_PROGRAM,
    SYMBOL_BREAKPAD,
    SYMBOL_KINDS
};

// symbol_part is what a client calls the content that it sends, so that an upload that
// breaks off can be resumed for a day.
struct symbol_part {
    // Size and CRC-32C in hexadecimal digits, `1f400-e3069283`; empty: none.
    char name[SYMBOL_PART_SIZE];
    uint32_t sender; // only the same one can resume it
    uint64_t offset; // how much has come
};

// symbol_upload is a file on its way in.
struct symbol_upload {
    struct symbol_part part; // set before it begins
    char folder[SYMBOL_FOLDER_PATH_SIZE];
    enum symbol_kind kind;
    int fd;
    char build_id[SYMBOL_FOLDER_ID_SIZE];
    char temporary[SYMBOL_FOLDER_PATH_SIZE];
    bool existed;  // known once the file was checked, as its kind
    bool has_code; // the same
};

// symbol_folder_of writes the folder of a project (empty: of everybody) and returns
// out. A folder's own path has at most SYMBOL_FOLDER_PATH_MAX bytes, so that each path
// fits.
enum { SYMBOL_FOLDER_PATH_MAX = SYMBOL_FOLDER_PATH_SIZE - 512 };
const char *symbol_folder_of(const char *folder, const char *project,
                             char out[SYMBOL_FOLDER_PATH_SIZE]);

// symbol_folder_move moves a file, if there is one, from a folder to another, and
// removes what was made of it.
CH_CHECKED enum ch_status symbol_folder_move(const char *from, const char *to,
                                             enum symbol_kind kind, const char *id);

// symbol_folder_id_ok returns true if id is an even number of lower-case hexadecimal
// digits, 4 to 128 of them.
bool symbol_folder_id_ok(const char *id);

// symbol_folder_has returns true if the folder has a file of that kind for build ID id.
bool symbol_folder_has(const char *folder, enum symbol_kind kind, const char *id);

// symbol_folder_has_names returns true if it has a file of the build that functions
// have names in.
bool symbol_folder_has_names(const char *folder, const char *id);

// symbol_folder_precedes returns true if names of a build come from a project's folder,
// and not from that of files which everybody shares.
bool symbol_folder_precedes(const char *folder, const char *shared, const char *id);

// symbol_folder_open opens the file of that kind for build ID id for reading; -1: none.
int symbol_folder_open(const char *folder, enum symbol_kind kind, const char *id);

// symbol_parts is what an ELF file has of its build; symbol_folder_parts finds out.
struct symbol_parts {
    bool code;
    bool debug; // information
};
struct symbol_parts symbol_folder_parts(int fd);

// symbol_folder_section finds where the bytes of a section are in an ELF file; false:
// it has no such section, or no bytes of it.
bool symbol_folder_section(int fd, const char *name, uint64_t *out_offset,
                           uint64_t *out_size);

// symbol_folder_remove removes the file of that kind for a build ID, and what was made
// of it.
void symbol_folder_remove(const char *folder, enum symbol_kind kind, const char *id);

// symbol_folder_cache writes the path of folder's symbol caches, and returns out, or
// NULL where the path does not fit.
const char *symbol_folder_cache(const char *folder, char out[SYMBOL_FOLDER_PATH_SIZE]);

// symbol_upload_offset returns how much has come of an upload with a name.
uint64_t symbol_upload_offset(const char *folder, const char *build_id,
                              const struct symbol_part *part);

// symbol_upload_begin makes the file to write to, or opens what has come of it.
// CH_ERR_MALFORMED: it is not a build ID. CH_ERR_FAULT: part names no content, or less
// than offset of it has come.
CH_CHECKED enum ch_status symbol_upload_begin(const char *folder, enum symbol_kind kind,
                                              const char *build_id,
                                              struct symbol_upload *out);

// symbol_upload_write adds bytes. CH_ERR_TRUNCATED: they are more than part names.
CH_CHECKED enum ch_status symbol_upload_write(struct symbol_upload *upload,
                                              const void *bytes, size_t size);

// symbol_upload_check checks the file and finds its kind. CH_ERR_MALFORMED: it is not
// an ELF file, or not a complete bundle. CH_ERR_TRUNCATED: it is not what part names.
// CH_ERR_NOT_FOUND: it is of another build, or has no build ID.
CH_CHECKED enum ch_status symbol_upload_check(struct symbol_upload *upload);

// symbol_upload_finish makes a checked file visible, durably. It replaces an earlier
// file of that kind, and the caches made of the build's files.
CH_CHECKED enum ch_status symbol_upload_finish(struct symbol_upload *upload);

// symbol_upload_abandon removes the file, unless symbol_upload_finish made it visible
// or it can be resumed.
void symbol_upload_abandon(struct symbol_upload *upload);

// The folder of debug files as a cache: files that can be fetched again leave it, those
// first that were used longest ago, when all together take too much.

// symbol_leave_fn returns whether a file can be fetched again.
typedef bool symbol_leave_fn(void *context, const char *project, enum symbol_kind kind,
                             const char *id);

// symbol_folder_trim removes files until the folder, with those of projects, takes at
// most size bytes, and what uploads that were killed left in it a day ago.
void symbol_folder_trim(const char *folder, int64_t size, symbol_leave_fn *may_leave,
                        void *context);
