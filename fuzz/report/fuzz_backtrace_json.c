// SPDX-License-Identifier: Apache-2.0
#include "crashhook/backtrace.h"
#include "fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct crashhook_backtrace *backtrace;
    struct crashhook_symbolicated_backtrace *named;
    if (crashhook_backtrace_from_json((const char *)bytes, size, &backtrace) == 0) {
        free(crashhook_backtrace_to_json(backtrace));
        crashhook_backtrace_destroy(backtrace);
    }
    if (crashhook_symbolicated_backtrace_from_json((const char *)bytes, size, &named) ==
        0)
        crashhook_symbolicated_backtrace_destroy(named);
    return 0;
}
