// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "symbolizer/names/image_cache.h"
#include "symbolizer/naming.h"
#include "symbolizer/symbolizer.h"

void symbolizer_cache_report(json_t *report, const struct symbolizer_options *options)
{
    struct naming naming;
    if (options->cache_folder == NULL || options->level != SYMBOLIZE_FULL ||
        !image_cache_leave())
        return;
    if (naming_init(&naming, report, options) == CH_OK)
        naming_write_caches(&naming);
    _exit(0);
}
