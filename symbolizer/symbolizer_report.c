// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/symbolization.h"
#include "symbolizer/symbolizer.h"

enum ch_status symbolizer_report(json_t *report,
                                 const struct symbolizer_options *options)
{
    if (options->level == SYMBOLIZE_OFF)
        return CH_OK;
    struct symbolization symbolization;
    enum ch_status status = symbolization_init(&symbolization, report, options);
    if (status == CH_OK)
        status = symbolization_look_up(&symbolization, NULL);
    if (status == CH_OK)
        status = symbolization_write(&symbolization, report);
    if (status == CH_OK)
        diagnosis_refine(report);
    symbolization_deinit(&symbolization);
    return status;
}
