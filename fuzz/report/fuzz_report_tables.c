// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "report/value/report.h"

// printed is a report's file, and with every frame in its place; it was read from one,
// so that the former can be made.
static struct text printed(const json_t *report, bool expanded)
{
    struct text out = { 0 };
    enum ch_status status =
        expanded ? report_print_expanded(report, &out) : report_print(report, &out);
    if (status != CH_OK && !(expanded && status == CH_ERR_LIMIT))
        abort();
    return out;
}

// parsed is the report, which is judged alike with its values and without.
static json_t *parsed(const char *bytes, size_t size)
{
    struct report_error error;
    json_t *report = NULL;
    json_t *brief = NULL;
    enum ch_status status = report_parse(bytes, size, &report, &error);
    if (report_parse_brief(bytes, size, &brief, &error) != status)
        abort();
    json_decref(brief);
    return report;
}

// rewritten is the report that is read from the file that is written of report, which
// goes.
static json_t *rewritten(json_t *report)
{
    struct text file = printed(report, false);
    json_t *again = parsed(file.bytes, file.size);
    if (again == NULL)
        abort();
    text_deinit(&file);
    json_decref(report);
    return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_t *report = parsed((const char *)bytes, size);
    if (report == NULL)
        return 0;
    // A file of version 1 may have members that are the tables' in version 2, and loses
    // them; what was written once is read as the same.
    report = rewritten(report);
    struct text expanded = printed(report, true);
    report = rewritten(report);
    struct text again = printed(report, true);
    if (expanded.size != again.size)
        abort();
    json_decref(report);
    text_deinit(&expanded);
    text_deinit(&again);
    return 0;
}
