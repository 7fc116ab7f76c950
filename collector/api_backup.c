// SPDX-License-Identifier: Apache-2.0
#include "collector/database/timestamp.h"
#include "collector/jobs/jobs.h"
#include "collector/requests/api.h"
#include "collector/requests/collector.h"

// find_backups gives the thread that makes backups. NULL: the request has failed,
// because there is none, or it is not for the caller: a copy has every project.
static struct backups *find_backups(struct http_request *request)
{
    struct backups *backups = collector_of(request)->backups;
    if (request->who.project[0] != 0) {
        http_fail(request, 403, "a backup has the reports of all projects");
        return NULL;
    }
    if (backups == NULL)
        http_fail(request, 404,
                  "this collector makes no backups: start it with --backup FILE");
    return backups;
}

static json_t *time_or_null(int64_t time_ms)
{
    char time[TIMESTAMP_SIZE];
    timestamp_write(time_ms, time);
    return time_ms != 0 ? json_string(time) : json_null();
}

static void answer_backup(struct http_request *request, struct backups *backups,
                          unsigned code)
{
    static const char *const states[] = { [BACKUPS_NONE] = "none",
                                          [BACKUPS_RUNNING] = "running",
                                          [BACKUPS_DONE] = "done",
                                          [BACKUPS_FAILED] = "failed" };
    struct backups_status status;
    backups_status_of(backups, &status);
    api_answer_json(request, code,
                    json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:s}", "state",
                              states[status.state], "file", backups_file(backups),
                              "bytes", (json_int_t)status.bytes, "copied",
                              (json_int_t)status.copied, "began",
                              time_or_null(status.began_ms), "ended",
                              time_or_null(status.ended_ms), "error", status.error));
}

void api_get_backup(struct http_request *request)
{
    struct backups *backups = find_backups(request);
    if (backups != NULL)
        answer_backup(request, backups, 200);
}

void api_begin_backup(struct http_request *request)
{
    struct backups *backups = find_backups(request);
    if (backups == NULL || !api_audit(request, "backup", backups_file(backups)))
        return;
    if (backups_begin(backups))
        answer_backup(request, backups, 202);
    else
        http_fail(request, 409, "a backup is being made");
}
