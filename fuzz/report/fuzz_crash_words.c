// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "report/summary/crash_words.h"
#include "report/value/report.h"

// The input is a crash, as a report has it.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_t *crash = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
    json_t *report =
        json_pack("{s:{s:i}, s:[{s:b, s:s, s:{s:s}}]}", "process", "pid", 7, "threads",
                  "crashed", 1, "name", "worker", "registers", "rip", "0x401000");
    if (json_is_object(crash))
        (void)json_object_set(report, "crash", crash);
    char *begun = crash_words_begun(report);
    crash_words_complete(report);
    // What was added is left out again, and nothing that was not.
    crash_words_renew(report, NULL);
    crash_words_leave_out(report);
    if (json_object_get(json_object_get(report, "crash"), "summary") != NULL)
        abort();
    crash_words_renew(report, begun);
    free(begun);
    json_decref(report);
    json_decref(crash);
    return 0;
}
