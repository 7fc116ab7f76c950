// SPDX-License-Identifier: Apache-2.0
//
// A body that a client of Crashpad or of Sentry sent: the first byte says which.
#include "collector/requests/minidump_report.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cursor dump;
    const char *why;
    if (size == 0)
        return 0;
    json_t *facts = json_object();
    (void)!minidump_body_read(bytes[0] % 2 == 0 ? MINIDUMP_BODY_FORM
                                                : MINIDUMP_BODY_ENVELOPE,
                              bytes + 1, size - 1, facts, &dump, &why);
    json_decref(facts);
    return 0;
}
