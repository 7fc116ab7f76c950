// SPDX-License-Identifier: Apache-2.0
#include "collector/viewed_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/late_names.h"

// What store_find_report hands out, copied so that its connection is free again.
struct copied {
    struct text bytes;
    enum decode_encoding encoding;
    struct viewed_report *report;
};

static void copied_deinit(struct copied *copied)
{
    text_deinit(&copied->bytes);
}

static void copy_report(void *context, const struct store_report *report,
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

// find copies report id out of the store.
static unsigned find(struct collector *collector, const char *id, struct copied *copied,
                     struct viewed_report_error *error)
{
    enum ch_status status =
        store_find_report(collector->store, id, copy_report, copied);
    if (status == CH_ERR_NOT_FOUND) {
        snprintf(error->text, sizeof(error->text), "there is no such report");
        return 404;
    }
    if (status != CH_OK || !text_ok(&copied->bytes)) {
        snprintf(error->text, sizeof(error->text), "the store could not be read");
        return 503;
    }
    return 0;
}

unsigned viewed_report_open(struct viewed_report *out, struct collector *collector,
                            const char *id, struct viewed_report_error *error)
{
    *out = (struct viewed_report){ .symbols = collector->symbols };
    CH_CLEANUP(copied_deinit) struct copied copied = { .report = out };
    unsigned refused = find(collector, id, &copied, error);
    if (refused != 0)
        return refused;

    struct store_body body = { .bytes = copied.bytes.bytes,
                               .size = copied.bytes.size,
                               .encoding = copied.encoding };
    struct opened_report_error reason;
    refused = opened_report_open(&out->opened, &body, &collector->large, &reason);
    if (refused != 0) {
        snprintf(error->text, sizeof(error->text), "%s", reason.text);
        return refused;
    }
    out->renamed = late_names_add(out->opened.json, collector->symbols);
    return 0;
}

void viewed_report_close(struct viewed_report *report)
{
    opened_report_close(&report->opened);
}

unsigned viewed_report_sent(struct collector *collector, const char *id,
                            struct text *out, struct viewed_report_error *error)
{
    CH_CLEANUP(copied_deinit) struct copied copied = { 0 };
    unsigned refused = find(collector, id, &copied, error);
    if (refused != 0)
        return refused;
    if (decode_body(copied.encoding, copied.bytes.bytes, copied.bytes.size,
                    COLLECTOR_DECODED_MAX, out) == CH_OK)
        return 0;
    snprintf(error->text, sizeof(error->text), "the stored report cannot be decoded");
    return 503;
}
