// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/diagnosis.h"

void diagnosis_refine(json_t *report)
{
    json_t *crash = json_object_get(report, "crash");
    if (!json_is_object(crash))
        return;
    diagnosis_access(report, crash);
    diagnosis_words(report, crash);
}
