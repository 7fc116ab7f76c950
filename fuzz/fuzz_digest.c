// SPDX-License-Identifier: Apache-2.0
#include "collector/digest.h"
#include "collector/digest_check.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    // What the digest accepts report_parse accepts, with the same entry.
    if (digest_check(bytes, size) == DIGEST_DISAGREES)
        abort();
    return 0;
}
