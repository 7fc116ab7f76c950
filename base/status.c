// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <stddef.h>

const char *ch_status_name(enum ch_status status)
{
    static const char *const names[] = {
        [CH_OK] = "ok",
        [CH_END] = "end",
        [CH_ERR_TRUNCATED] = "truncated",
        [CH_ERR_MALFORMED] = "malformed",
        [CH_ERR_UNSUPPORTED] = "unsupported",
        [CH_ERR_LIMIT] = "limit",
        [CH_ERR_FAULT] = "fault",
        [CH_ERR_NOT_FOUND] = "not-found",
        [CH_ERR_NO_MEMORY] = "no-memory",
        [CH_ERR_IO] = "io",
    };
    size_t index = (size_t)status;
    return index < sizeof(names) / sizeof(names[0]) ? names[index] : "unknown";
}
