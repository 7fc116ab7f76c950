// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render.h"
#include "fuzz/fuzz.h"
#include "report/value/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct render_style style = { .preset = PRESET_MEDIUM + size % 2,
                                        .width = 80 };
    static FILE *nowhere;
    struct report_error error;
    json_t *report;
    if (nowhere == NULL)
        nowhere = fopen("/dev/null", "w");
    if (report_parse((const char *)bytes, size, &report, &error) != CH_OK)
        return 0;
    render_report(report, &style, nowhere);
    (void)!report_update_fingerprint(report);
    json_decref(report);
    return 0;
}
