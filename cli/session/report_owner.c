// SPDX-License-Identifier: Apache-2.0
#include "cli/session/report_owner.h"

#include <unistd.h>

#include "base/system/file.h"
#include "cli/session/confine.h"
#include "report/value/report.h"
#include "report/value/report_rights.h"
#include "symbolizer/search/guarded_child.h"

// completing is set in the child.
static bool completing;

struct owner_work {
    json_t *report;
    report_owner_fn *work;
    void *context;
};

bool report_owner_differs(const json_t *report)
{
    struct rights rights;
    report_rights(report, &rights);
    return rights.fewer && !completing;
}

// complete_as_owner is a guarded_child_fn.
static enum ch_status complete_as_owner(void *context, int to_parent)
{
    const struct owner_work *work = context;
    struct text CH_CLEANUP(text_deinit) done = { 0 };
    struct rights rights;
    report_rights(work->report, &rights);
    if (rights.fewer && !confine_become(&rights))
        return CH_ERR_IO;
    confine_reader();
    completing = true;
    work->work(work->context, work->report);
    enum ch_status status = report_print_kept(work->report, &done);
    if (status != CH_OK)
        return status;
    return file_write_all(to_parent, done.bytes, done.size) ? CH_OK : CH_ERR_IO;
}

// take_completed replaces the report by what the child made of it. CH_ERR_MALFORMED: it
// made something else.
static enum ch_status take_completed(json_t *report, const struct text *done)
{
    struct report_error error;
    json_auto_t *completed = NULL;
    enum ch_status status = report_parse(done->bytes, done->size, &completed, &error);
    if (status != CH_OK)
        return status;
    if (!json_equal(json_object_get(report, "id"), json_object_get(completed, "id")))
        return CH_ERR_MALFORMED;
    (void)json_object_clear(report);
    return json_object_update(report, completed) == 0 ? CH_OK : CH_ERR_NO_MEMORY;
}

void report_owner_complete(json_t *report, report_owner_fn *work, void *context,
                           uint64_t timeout_ms)
{
    struct owner_work owner = { .report = report, .work = work, .context = context };
    struct text CH_CLEANUP(text_deinit) done = { .limit_bytes = REPORT_MAX_BYTES };
    int64_t deadline_ms = guarded_child_now_ms() + (int64_t)timeout_ms;
    enum ch_status status =
        guarded_child_run(complete_as_owner, &owner, deadline_ms, &done);
    if (status == CH_OK)
        status = take_completed(report, &done);
    if (status == CH_OK)
        return;
    (void)json_array_append_new(
        json_object_get(report, "problems"),
        json_pack("{s:s, s:o}", "stage", "symbolize", "status",
                  json_sprintf("the report could not be completed in a confined "
                               "process: %s",
                               ch_status_name(status))));
}
