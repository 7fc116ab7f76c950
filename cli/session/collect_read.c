// SPDX-License-Identifier: Apache-2.0
#include "cli/session/collect_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/file.h"
#include "cli/session/attachments.h"
#include "cli/session/confine.h"
#include "cli/session/crash_records.h"
#include "report/secrets/sanitize.h"
#include "report/spool/spool_state.h"
#include "report/value/report.h"
#include "report/value/report_rights.h"
#include "symbolizer/search/guarded_child.h"

enum { READ_TIME_MS = 30000 };

// collect_sizes is the head of what the child returns; the report and the state follow.
struct collect_sizes {
    uint64_t report;
    uint64_t state;
};

// note_owner corrects whose process it was: only the owner of the file is trustworthy.
static void note_owner(json_t *report, const struct collect_file *file)
{
    json_t *process = json_object_get(report, "process");
    report_rights_set(report, file->owner);
    int64_t said = report_integer(process, "uid", -1);
    if (said == (int64_t)file->owner || !json_is_object(process))
        return;
    (void)json_object_set_new(process, "uid", json_integer(file->owner));
    json_t *problems = json_object_get(report, "problems");
    json_t *problem = json_pack("{s:s, s:o}", "stage", "collect", "status",
                                json_sprintf("the report names user %lld; its file in "
                                             "'%s' is of user %u",
                                             (long long)said, file->from, file->owner));
    if (said >= 0 && json_is_array(problems))
        (void)json_array_append(problems, problem);
    json_decref(problem);
}

// add_names completes a raw report in the child, so that root does not open the files
// that it names.
static void add_names(json_t *report, const struct collect_file *file)
{
    if (report_integer(report, "revision", 0) != 0)
        return;
    attachments_fill(report, &file->session->settings);
    session_symbolize(file->session, report);
    (void)json_object_set_new(report, "revision", json_integer(1));
}

// is_meant is true if the report says that it was to be written to the session's spool.
static bool is_meant(const json_t *report, const struct collect_file *file)
{
    struct text CH_CLEANUP(text_deinit) quoted = { 0 };
    bool masks = file->session->settings.sanitize != SETTING_NO;
    const json_t *problems = json_object_get(report, "problems");
    text_append_string(&quoted, "'");
    sanitize_path(file->session->spool_path, masks ? getenv("HOME") : NULL, &quoted);
    text_append_string(&quoted, "'");
    for (size_t i = 0; text_ok(&quoted) && i < json_array_size(problems); i++) {
        const json_t *problem = json_array_get(problems, i);
        const char *stage = report_string(problem, "stage");
        const char *status = report_string(problem, "status");
        if (stage != NULL && strcmp(stage, "spool") == 0 && status != NULL &&
            strstr(status, quoted.bytes) != NULL)
            return true;
    }
    return false;
}

static enum ch_status read_report(const struct collect_file *file, struct text *out)
{
    struct report_error error;
    json_auto_t *report = NULL;
    enum ch_status status = report_read(file->fd, &report, &error);
    if (status != CH_OK)
        return status;
    const char *id = report_string(report, "id");
    if (id == NULL || strcmp(id, file->id) != 0)
        return CH_ERR_MALFORMED;
    if (file->ours_only && !is_meant(report, file))
        return CH_ERR_NOT_FOUND;
    note_owner(report, file);
    add_names(report, file);
    return report_print_kept(report, out);
}

static enum ch_status read_record(const struct collect_file *file, struct text *out)
{
    struct report_error error;
    json_auto_t *report = NULL;
    struct text CH_CLEANUP(text_deinit) made = { 0 };
    enum ch_status status = crash_record_make(file->session, file->fd, file->id, &made);
    if (status == CH_OK)
        status = report_parse(made.bytes, made.size, &report, &error);
    if (status != CH_OK)
        return status;
    note_owner(report, file);
    (void)json_object_set_new(report, "revision", json_integer(1));
    return report_print_kept(report, out);
}

static enum ch_status read_spool_state(int fd, struct text *out)
{
    struct spool_state CH_CLEANUP(spool_state_deinit) state = { 0 };
    if (fd < 0 || spool_state_read_fd(fd, &state) != CH_OK)
        return CH_OK; // the same as none
    return spool_state_print(&state, out);
}

// collect_in_child is the only code that reads a stranger's bytes.
static enum ch_status collect_in_child(void *context, int to_parent)
{
    const struct collect_file *file = context;
    struct text CH_CLEANUP(text_deinit) report = { 0 };
    struct text CH_CLEANUP(text_deinit) state = { 0 };
    if (geteuid() == 0 && !confine_become_nobody())
        return CH_ERR_IO;
    confine_reader();
    enum ch_status status =
        file->record ? read_record(file, &report) : read_report(file, &report);
    if (status == CH_OK)
        status = read_spool_state(file->state_fd, &state);
    if (status != CH_OK)
        return status;
    const struct collect_sizes sizes = { report.size, state.size };
    return file_write_all(to_parent, &sizes, sizeof(sizes)) &&
                   file_write_all(to_parent, report.bytes, report.size) &&
                   file_write_all(to_parent, state.bytes, state.size)
               ? CH_OK
               : CH_ERR_IO;
}

// take_apart splits the child's answer, and trusts none of the sizes in it.
static enum ch_status take_apart(const struct text *answer, struct text *out_report,
                                 struct text *out_state)
{
    struct collect_sizes sizes;
    if (answer->size < sizeof(sizes))
        return CH_ERR_TRUNCATED;
    memcpy(&sizes, answer->bytes, sizeof(sizes));
    size_t left = answer->size - sizeof(sizes);
    if (sizes.report == 0 || sizes.report > left || sizes.state != left - sizes.report)
        return CH_ERR_MALFORMED;
    const char *bytes = answer->bytes + sizeof(sizes);
    text_append(out_report, bytes, sizes.report);
    text_append(out_state, bytes + sizes.report, sizes.state);
    return text_ok(out_report) && text_ok(out_state) ? CH_OK : CH_ERR_NO_MEMORY;
}

static const char *collect_why(enum ch_status status, bool record)
{
    switch (status) {
    case CH_ERR_FAULT:
        return "reading it crashed";
    case CH_ERR_LIMIT:
        return "it is too large, or reading it takes too long";
    case CH_ERR_NO_MEMORY:
        return "it needs too much memory";
    default:
        return record ? "it is no record" : "it is no report of that name";
    }
}

enum ch_status collect_read(const struct collect_file *file, struct text *out_report,
                            struct text *out_state, const char **out_why)
{
    enum { ANSWER_MAX = REPORT_MAX_BYTES + (2 << 20) };
    struct text CH_CLEANUP(text_deinit) answer = { .limit_bytes = ANSWER_MAX };
    enum ch_status status =
        guarded_child_run(collect_in_child, (void *)(uintptr_t)file,
                          guarded_child_now_ms() + READ_TIME_MS, &answer);
    if (status == CH_OK)
        status = take_apart(&answer, out_report, out_state);
    if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        *out_why = collect_why(status, file->record);
    return status;
}
