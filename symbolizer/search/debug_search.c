// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/search/debug_search.h"

#include <string.h>

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
