// SPDX-License-Identifier: Apache-2.0
#include "collector/server/size.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE_DIGITS = 6 };

enum ch_status size_read(const char *text, int64_t *out)
{
    static const char units[] = "KMGT";
    size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] != 0 ? strchr(units, text[digits]) : NULL;
    if (digits == 0 || digits > SIZE_DIGITS || unit == NULL || text[digits + 1] != 0)
        return CH_ERR_MALFORMED;
    int64_t size = strtoll(text, NULL, 10) << (10 * (unit - units + 1));
    if (size == 0)
        return CH_ERR_MALFORMED;
    *out = size;
    return CH_OK;
}
