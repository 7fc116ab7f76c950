// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "upload/bodies/otlp_headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *list = strndup((const char *)bytes, size);
    struct text headers = { 0 };
    const char *why = NULL;
    if (otlp_headers_read(list, &headers, &why) == CH_OK && headers.size != 0 &&
        strpbrk(headers.bytes, "\r\t\x7f") != NULL)
        abort();
    text_deinit(&headers);
    free(list);
    return 0;
}
