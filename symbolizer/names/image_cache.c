// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/image_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbolizer/cache/symbol_cache_folder.h"
#include "symbolizer/files/debug_files.h"
#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/names/symbol_cache_write.h"
#include "symbolizer/search/guarded_child.h"

// WRITING_SECONDS is the processor time of one run. A run that does not finish leaves
// its claim behind, so that no process tries that build again for a day.
enum { WRITING_SECONDS = 60, LEAST_URGENT = 19 };

enum ch_status image_cache_write_names(const char *path, const struct build_id *id,
                                       const struct debug_search *search)
{
    struct debug_search files = *search;
    struct symbol_image *image;
    struct text CH_CLEANUP(text_deinit) cache = { 0 };
    files.anew = true;
    if (!symbol_cache_folder_claim(search->cache_folder, id, SYMBOL_CACHE_OF_NAMES))
        return CH_ERR_NOT_FOUND;
    enum ch_status status = symbol_image_open(&image, path, id, &files, false);
    if (status != CH_OK)
        return status;
    status = symbol_cache_write(image, id, &cache);
    symbol_image_close(image);
    if (status == CH_ERR_UNSUPPORTED) // fast to find out again, and may change
        symbol_cache_folder_release(search->cache_folder, id, SYMBOL_CACHE_OF_NAMES);
    if (status != CH_OK)
        return status;
    return symbol_cache_folder_put(search->cache_folder, id, SYMBOL_CACHE_OF_NAMES,
                                   cache.bytes, cache.size, SYMBOL_CACHE_FOLDER_BYTES);
}

void image_cache_write_plain(const char *path, const struct build_id *id,
                             const struct debug_search *search)
{
    struct debug_files files;
    struct symbol_cache_file file;
    struct debug_search where = *search;
    const char *folder = search->cache_folder;
    if (!symbol_cache_folder_claim(folder, id, SYMBOL_CACHE_OF_DEBUG))
        return;
    where.cache_folder = NULL; // it is ours to write
    debug_files_open(&files, path, id, &where);
    const struct debug_elf *from = debug_files_dwarf(&files);
    if (from == NULL || decompressed_debug_size(from) == 0)
        symbol_cache_folder_release(folder, id, SYMBOL_CACHE_OF_DEBUG);
    else if (symbol_cache_folder_begin(&file, folder, id, SYMBOL_CACHE_OF_DEBUG) ==
             CH_OK)
        (void)!symbol_cache_folder_end(
            &file, decompressed_debug_write(from, file.fd, SYMBOL_CACHE_FOLDER_BYTES),
            SYMBOL_CACHE_FOLDER_BYTES);
    debug_files_close(&files);
}

bool image_cache_build(const char *path, struct build_id *out)
{
    struct debug_elf file;
    if (debug_elf_open(&file, path) != CH_OK)
        return false;
    *out = debug_elf_build_id(&file);
    debug_elf_close(&file);
    return out->size != 0;
}

static void close_everything(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        (void)dup2(null, fd);
    (void)close_range(3, ~0u, 0); // locks of reports are among them
}

bool image_cache_leave(void)
{
    pid_t child = fork();
    if (child > 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        return false;
    }
    if (child < 0)
        return false;
    (void)setsid();
    if (fork() != 0)
        _exit(0);
    close_everything();
    guarded_child_enter(WRITING_SECONDS);
    (void)!nice(LEAST_URGENT);
    return true;
}

void image_cache_begin(const char *path, const struct build_id *id,
                       const struct debug_search *search)
{
    if (search->cache_folder == NULL || id->size == 0 || !image_cache_leave())
        return;
    _exit((int)image_cache_write_names(path, id, search));
}
