// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "report/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_t *ours = json_reader_read((const char *)bytes, size);
    json_t *theirs =
        json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
    if (ours != NULL && json_equal(ours, theirs) != 1)
        abort(); // what it reads, jansson reads the same
    json_decref(ours);
    json_decref(theirs);
    return 0;
}
