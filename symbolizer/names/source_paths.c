// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/names/source_paths.h"

#include <stdint.h>

#include "symbolizer/files/debug_elf.h"
#include "symbolizer/files/decompressed_debug.h"
#include "symbolizer/names/unit_index.h"
#include "symbolizer/search/guarded_child.h"

enum { ANSWER_BYTES_MAX = 64 << 20 };

static void add_paths(json_t *paths, struct line_table *table)
{
    // Up to DWARF 4 count is itself the number of the last file (line_table_file).
    for (size_t i = 0; i <= table->files.count; i++) {
        const char *path = line_table_file(table, i);
        if (path == NULL || json_object_size(paths) >= SOURCE_PATHS_MAX)
            continue;
        // A path that is not UTF-8 is not added, as no report can name it.
        (void)json_object_set_new(paths, path, json_true());
    }
}

// list_paths lists those of file, whose code is at text.
static enum ch_status list_paths(const struct debug_elf *file, const uint64_t text[2],
                                 json_t *paths)
{
    struct unit_index units;
    Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
    if (dwarf == NULL)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = unit_index_init(&units, dwarf, text, false);
    for (size_t i = 0; status == CH_OK && i < units.count; i++) {
        struct line_table files;
        unit_files(&units, &units.units[i], &files);
        add_paths(paths, &files);
        line_table_deinit(&files);
    }
    if (status == CH_OK)
        unit_index_deinit(&units);
    dwarf_end(dwarf);
    return status;
}

static enum ch_status find_source_paths(void *context, int to_parent)
{
    const char *path = context;
    struct debug_elf file = { 0 };
    struct debug_elf plain;
    uint64_t base;
    uint64_t text[2];
    json_auto_t *paths = json_object();
    enum ch_status status = debug_elf_open(&file, path);
    if (status != CH_OK)
        return status;
    status = debug_elf_layout(&file, &base, text);
    if (status == CH_OK && decompressed_debug_load_foreign(&plain, &file) == CH_OK) {
        status = list_paths(&plain, text, paths);
        debug_elf_close(&plain);
    } else if (status == CH_OK) {
        status = list_paths(&file, text, paths);
    }
    debug_elf_close(&file);
    return status == CH_OK ? guarded_child_answer(paths, to_parent) : status;
}

enum ch_status source_paths_read(const char *path, json_t **out)
{
    struct text CH_CLEANUP(text_deinit) answer = { .limit_bytes = ANSWER_BYTES_MAX };
    enum ch_status status =
        guarded_child_run(find_source_paths, (void *)(uintptr_t)path,
                          guarded_child_now_ms() + SOURCE_PATHS_TIMEOUT_MS, &answer);
    if (status != CH_OK)
        return status;
    json_t *paths = guarded_child_read(&answer);
    if (!json_is_object(paths)) {
        json_decref(paths);
        return CH_ERR_MALFORMED;
    }
    if (json_object_size(paths) == 0) {
        json_decref(paths);
        return CH_ERR_NOT_FOUND;
    }
    *out = paths;
    return CH_OK;
}
