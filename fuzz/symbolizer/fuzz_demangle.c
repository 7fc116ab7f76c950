// SPDX-License-Identifier: Apache-2.0
//
// Linker names: what comes out is within its limit.
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "symbolizer/names/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *raw = strndup((const char *)bytes, size);
    char *name = raw != NULL ? demangle_name(raw) : NULL;
    if (name != NULL && strlen(name) > DEMANGLE_OUTPUT_MAX)
        abort();
    free(name);
    free(raw);
    return 0;
}
