// SPDX-License-Identifier: Apache-2.0
//
// A request's head, `name: value` a line. Two bodies' lengths are always in doubt.
#include <stdlib.h>
#include <string.h>

#include "collector/server/http_call.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct http_head head = { 0 };
    const char *at = (const char *)bytes;
    const char *end = at + size;
    while (at != end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        const char *colon = memchr(at, ':', (size_t)(line_end - at));
        const char *value = colon != NULL ? colon + 1 : line_end;
        http_head_add(&head, at, (size_t)((colon != NULL ? colon : line_end) - at),
                      value, (size_t)(line_end - value));
        at = line_end != end ? line_end + 1 : end;
    }
    if (http_head_doubt(&head, "HTTP/1.1") == NULL && head.lengths + head.encodings > 1)
        abort();
    return 0;
}
