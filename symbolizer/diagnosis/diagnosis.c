// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/diagnosis/diagnosis.h"

#include <stdlib.h>
#include <string.h>

#include "report/summary/crash_words.h"
#include "report/value/report.h"

static void drop_string(char **string)
{
    free(*string);
}

// diagnosed_is_kind returns true if crash still has the kind that it had before.
static bool diagnosed_is_kind(const json_t *crash, const char *before)
{
    const char *kind = report_string(crash, "kind");
    return kind != NULL && before != NULL && strcmp(kind, before) == 0;
}

void diagnosis_refine(json_t *report)
{
    json_t *crash = json_object_get(report, "crash");
    if (!json_is_object(crash))
        return;
    char *CH_CLEANUP(drop_string) begun = crash_words_begun(report);
    const char *said = report_string(crash, "kind");
    char *CH_CLEANUP(drop_string) kind = said != NULL ? strdup(said) : NULL;
    bool changed = diagnosis_access(report, crash);
    changed = diagnosis_trap(report, crash) || changed;
    changed = diagnosis_words(report, crash) || changed;
    changed = diagnosis_throw(report, crash) || changed;
    changed = diagnosis_runtime(report, crash) || changed;
    changed = diagnosis_origin(report, crash) || changed;
    // A sentence of version 1 described the kind that the crash had then.
    if (changed)
        crash_words_renew(report, diagnosed_is_kind(crash, kind) ? begun : NULL);
}
