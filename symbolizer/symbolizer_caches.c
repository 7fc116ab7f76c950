// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "symbolizer/names/image_cache.h"
#include "symbolizer/symbolization.h"
#include "symbolizer/symbolizer.h"

void symbolizer_cache_report(json_t *report, const struct symbolizer_options *options)
{
    struct symbolization symbolization;
    if (options->cache_folder == NULL || options->level != SYMBOLIZE_FULL ||
        !image_cache_leave())
        return;
    if (symbolization_init(&symbolization, report, options) == CH_OK)
        symbolization_write_caches(&symbolization);
    _exit(0);
}
