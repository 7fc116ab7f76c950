// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/search/debug_search.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/settings/settings.h"

// joined writes first and second to buffer, or gives fallback if they do not fit.
static const char *joined(const char *first, const char *second, const char *fallback,
                          char buffer[PATH_MAX])
{
    int length = snprintf(buffer, PATH_MAX, "%s%s", first, second);
    return length > 0 && length < PATH_MAX ? buffer : fallback;
}

const char *symbolizer_options_path(const struct symbolizer_options *options,
                                    const char *path, char buffers[2][PATH_MAX])
{
    if (options->home != NULL && strncmp(path, "~/", 2) == 0)
        path = joined(options->home, path + 1, path, buffers[0]);
    for (size_t i = 0; i < options->held_image_count; i++) {
        if (strcmp(options->held_images[i].path, path) == 0)
            return options->held_images[i].place;
    }
    bool is_exe = options->exe != NULL && strcmp(path, options->exe) == 0;
    if (options->sysroot == NULL || is_exe || path[0] != '/')
        return path;
    return joined(options->sysroot, path, path, buffers[1]);
}

struct debug_search symbolizer_options_search(const struct symbolizer_options *options)
{
    return (struct debug_search){ .debug_dirs = options->debug_dirs,
                                  .debug_dir_count = options->debug_dir_count,
                                  .alone = options->alone,
                                  .debuginfod_url = options->debuginfod_url,
                                  .cache_folder = options->cache_folder };
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
    return a->size != 0 && a->size == b->size &&
           memcmp(a->bytes, b->bytes, a->size) == 0;
}

const char *debug_status_name(enum debug_status status)
{
    static const char *const names[] = {
        [DEBUG_FOUND] = "not-covered",
        [DEBUG_SPLIT_PACKAGE] = "split-package",
        [DEBUG_NO_SPLIT_FILE] = "no-split-file",
        [DEBUG_SYMBOLS_ONLY] = "no-symbol",
        [DEBUG_NOT_INSTALLED] = "no-debug-file",
        [DEBUG_STRIPPED] = "stripped",
        [DEBUG_MISMATCHED] = "mismatched-build-id",
        [DEBUG_COMPRESSED] = "unknown-compression",
        [DEBUG_DAMAGED] = "damaged-file",
        [DEBUG_NO_FILE] = "no-image-file",
        [DEBUG_NO_IMAGE] = "no-image",
    };
    return names[status];
}
