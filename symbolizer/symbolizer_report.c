// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/diagnosis.h"
#include "symbolizer/naming.h"
#include "symbolizer/symbolizer.h"

enum ch_status symbolizer_report(json_t *report,
                                 const struct symbolizer_options *options)
{
    if (options->level == SYMBOLIZE_OFF)
        return CH_OK;
    struct naming naming;
    enum ch_status status = naming_init(&naming, report, options);
    if (status == CH_OK)
        status = naming_look_up(&naming, NULL);
    if (status == CH_OK)
        status = naming_write(&naming, report);
    if (status == CH_OK)
        diagnosis_refine(report);
    naming_deinit(&naming);
    return status;
}
