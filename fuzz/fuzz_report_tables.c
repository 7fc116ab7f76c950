// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "report/report.h"

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

static json_t *parsed(const char *bytes, size_t size)
{
    struct report_error error;
    json_t *report = NULL;
    return report_parse(bytes, size, &report, &error) == CH_OK ? report : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_t *report = parsed((const char *)bytes, size);
    if (report == NULL)
        return 0;
    // What was read is written so that it reads as the same.
    struct text file = printed(report, false);
    struct text expanded = printed(report, true);
    json_t *again = parsed(file.bytes, file.size);
    if (again == NULL)
        abort();
    struct text expanded_again = printed(again, true);
    if (expanded.size != expanded_again.size)
        abort();
    json_decref(again);
    json_decref(report);
    text_deinit(&file);
    text_deinit(&expanded);
    text_deinit(&expanded_again);
    return 0;
}
