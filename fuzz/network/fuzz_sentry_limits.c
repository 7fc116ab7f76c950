// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "upload/sentry.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *value = strndup((const char *)bytes, size);
    if (value != NULL && sentry_limits_parse(value).events_s > 24 * 3600)
        abort();
    free(value);
    return 0;
}
