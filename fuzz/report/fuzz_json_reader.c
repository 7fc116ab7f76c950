// SPDX-License-Identifier: Apache-2.0
//
// A document, which jansson reads too.
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "report/json/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_error_t why;
    json_t *ours = json_reader_read((const char *)bytes, size, &why);
    json_t *theirs =
        json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
    if (ours == NULL ? theirs != NULL : json_equal(ours, theirs) != 1)
        abort();
    json_decref(ours);
    json_decref(theirs);
    return 0;
}
