// SPDX-License-Identifier: Apache-2.0
#include "collector/server/viewed_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/server/api.h"
#include "collector/server/late_names.h"
#include "report/report_own.h"

// BESIDE_A_GROUP is the largest body that is opened to show a group.
enum { BESIDE_A_GROUP = 256 << 10 };

// copied is what store_find_report returns, copied so that its connection is free
// again.
struct copied {
    struct text bytes;
    enum decode_encoding encoding;
    struct viewed_report *report;
};

static void copied_deinit(struct copied *copied)
{
    text_deinit(&copied->bytes);
}

static void copy_viewed_report(void *context, const struct store_report *report,
                               const struct store_body *body)
{
    struct copied *copied = context;
    copied->encoding = body->encoding;
    text_append(&copied->bytes, body->bytes, body->size);
    if (copied->report == NULL)
        return;
    entry_copy(copied->report->group, sizeof(copied->report->group), report->group);
    entry_copy(copied->report->title, sizeof(copied->report->title), report->title);
    copied->report->received_ms = report->received_ms;
}

// find_viewed copies report id out of the store, or answers with the reason why it
// cannot.
static bool find_viewed(struct http_request *request, const char *id,
                        struct copied *copied)
{
    enum ch_status status =
        store_find_report(collector_of(request)->store, id, copy_viewed_report, copied);
    if (status == CH_OK && text_ok(&copied->bytes))
        return true;
    api_fail_store(request, status == CH_ERR_NOT_FOUND ? status : CH_ERR_IO, "report");
    return false;
}

bool viewed_report_open(struct http_request *request, const char *id,
                        struct viewed_report *out)
{
    struct collector *collector = collector_of(request);
    *out = (struct viewed_report){ .symbols = collector->symbols };
    CH_CLEANUP(copied_deinit) struct copied copied = { .report = out };
    if (!find_viewed(request, id, &copied))
        return false;

    struct store_body body = { .bytes = copied.bytes.bytes,
                               .size = copied.bytes.size,
                               .encoding = copied.encoding };
    struct opened_report_error reason;
    unsigned refused =
        opened_report_open(&out->opened, &body, &collector->large, &reason);
    if (refused != 0) {
        http_fail(request, refused, "%s", reason.text);
        return false;
    }
    out->renamed = late_names_add(out->opened.json, collector->symbols);
    report_own_mark(out->opened.json);
    return true;
}

static void take_report_id(void *context, const struct store_report *report)
{
    entry_copy(context, REPORT_ID_SIZE, report->id);
}

bool viewed_report_open_newest(struct http_request *request, const char *group,
                               char out_id[REPORT_ID_SIZE], struct viewed_report *out)
{
    struct collector *collector = collector_of(request);
    struct store_filter filter = { .group = group, .limit = 1 };
    char next[STORE_CURSOR_SIZE];
    *out = (struct viewed_report){ .symbols = collector->symbols };
    CH_CLEANUP(copied_deinit) struct copied copied = { .report = out };
    out_id[0] = 0;
    if (store_list_reports(collector->store, &filter, take_report_id, out_id, next) !=
            CH_OK ||
        out_id[0] == 0 ||
        store_find_report(collector->store, out_id, copy_viewed_report, &copied) !=
            CH_OK ||
        !text_ok(&copied.bytes) || copied.bytes.size > BESIDE_A_GROUP)
        return false;
    struct store_body body = { .bytes = copied.bytes.bytes,
                               .size = copied.bytes.size,
                               .encoding = copied.encoding };
    struct opened_report_error reason;
    if (opened_report_open(&out->opened, &body, &collector->large, &reason) != 0)
        return false;
    out->renamed = late_names_add(out->opened.json, collector->symbols);
    report_own_mark(out->opened.json);
    return true;
}

void viewed_report_close(struct viewed_report *report)
{
    opened_report_close(&report->opened);
}

bool viewed_report_sent(struct http_request *request, const char *id, struct text *out)
{
    CH_CLEANUP(copied_deinit) struct copied copied = { 0 };
    if (!find_viewed(request, id, &copied))
        return false;
    if (decode_body(copied.encoding, copied.bytes.bytes, copied.bytes.size,
                    COLLECTOR_DECODED_MAX, out) == CH_OK)
        return true;
    http_fail(request, 503, "the stored report cannot be decoded");
    return false;
}
