// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/file.h"
#include "cli/render/pen.h"
#include "cli/session/command.h"
#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/files/dpkg_packages.h"
#include "symbolizer/names/image_cache.h"
#include "symbolizer/search/guarded_child.h"

enum {
    DEBUG_DIRS_MAX = 64,
    // Debug information of a gigabyte takes a minute.
    FILE_SECONDS = 600,
};

// indexing is a file whose caches are written.
struct indexing {
    struct debug_search search;
    const char *path;
    struct build_id id;
    bool everybody; // may read one of the files
};

// write_index is a guarded_child_fn: a damaged file must not end the command.
static enum ch_status write_index(void *context, int to_parent)
{
    const struct indexing *indexing = context;
    (void)to_parent;
    enum ch_status status =
        image_cache_write_names(indexing->path, &indexing->id, &indexing->search);
    if (status == CH_OK || status == CH_ERR_NOT_FOUND) // it is there already
        image_cache_write_plain(indexing->path, &indexing->id, &indexing->search);
    return status;
}

static const char *why_not_indexed(enum ch_status status)
{
    switch (status) {
    case CH_ERR_UNSUPPORTED:
        return "no debug information of it was found, or not all of it";
    case CH_ERR_LIMIT:
        return "it takes too long, or too much room";
    case CH_ERR_FAULT:
    case CH_ERR_MALFORMED:
        return "its debug information is damaged";
    case CH_ERR_NO_MEMORY:
        return "out of memory";
    default:
        return "the folder for caches cannot be written";
    }
}

static void say_indexed(const char *path, const char *what)
{
    const struct pen pen = { .to = stdout };
    pen_text(&pen, path);
    pen_plain(&pen, ": %s\n", what);
    (void)fflush(stdout);
}

// index_build reads the build ID of the file, which must be a regular one. NULL, or why
// not.
static const char *index_build(const char *path, struct build_id *out_id,
                               bool *out_everybody)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is no plain file";
    *out_everybody = (status.st_mode & S_IROTH) != 0;
    return image_cache_build(path, out_id) ? NULL : "it is no ELF file with a build ID";
}

static int index_file(struct indexing *indexing)
{
    const char *folder = indexing->search.cache_folder;
    struct text CH_CLEANUP(text_deinit) nothing = { .limit_bytes = 1 };
    bool everybody = false;
    const char *why = index_build(indexing->path, &indexing->id, &everybody);
    if (why != NULL)
        return command_fail("cannot index '%s': %s", indexing->path, why);
    // Whoever tried before and did not finish does not keep us from it.
    symbol_cache_folder_release(folder, &indexing->id, SYMBOL_CACHE_OF_NAMES);
    symbol_cache_folder_release(folder, &indexing->id, SYMBOL_CACHE_OF_DEBUG);
    int64_t deadline_ms = guarded_child_now_ms() + FILE_SECONDS * 1000;
    enum ch_status status =
        guarded_child_run(write_index, indexing, deadline_ms, &nothing);
    bool known =
        status == CH_ERR_NOT_FOUND && !symbol_cache_folder_lacks(folder, &indexing->id);
    if (status != CH_OK && !known)
        return command_fail("cannot index '%s': %s", indexing->path,
                            why_not_indexed(status));
    if (everybody)
        symbol_cache_folder_share(folder, &indexing->id);
    indexing->everybody = indexing->everybody || everybody;
    say_indexed(indexing->path, known ? "it is indexed already" : "indexed");
    return COMMAND_DONE;
}

static int run_symbols_index(const struct options *options)
{
    const char *debug_dirs[DEBUG_DIRS_MAX];
    char folder[PATH_MAX];
    size_t count = 0;
    const char *dir;
    while ((dir = options_value_at(options, "debug-dir", count)) != NULL) {
        if (count == DEBUG_DIRS_MAX)
            return command_misused("symbols index: more than %d --debug-dir",
                                   DEBUG_DIRS_MAX);
        debug_dirs[count++] = dir;
    }
    struct indexing indexing = { .search = { .debug_dirs = debug_dirs,
                                             .debug_dir_count = count,
                                             .cache_folder =
                                                 options_value(options, "cache") } };
    if (indexing.search.cache_folder == NULL)
        indexing.search.cache_folder = symbol_cache_folder_default(folder);
    if (indexing.search.cache_folder == NULL)
        return command_fail("cannot index: there is no folder for caches; --cache "
                            "names one");
    int result = COMMAND_DONE;
    for (size_t i = 0; i < options->argument_count; i++) {
        indexing.path = options->arguments[i];
        result |= index_file(&indexing);
    }
    dpkg_packages_index(indexing.search.cache_folder, indexing.everybody);
    return result;
}

static const struct option symbols_index_options[] = {
    { "debug-dir", "DIR", "look for debug files in DIR first; may be repeated", 0 },
    { "cache", "DIR", "write to DIR instead of the folder for symbol caches", 0 },
    { 0 },
};

const struct command symbols_index_command = {
    .name = "symbols index",
    .arguments = "FILE...",
    .summary = "Make the symbol caches of programs and libraries before any crash",
    .options = symbols_index_options,
    .run = run_symbols_index,
    .arguments_min = 1,
    .arguments_max = SIZE_MAX,
};
