// SPDX-License-Identifier: Apache-2.0
#include "cli/crash_records.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/raw_report.h"
#include "agent/record_capture.h"
#include "cli/attachments.h"
#include "cli/command.h"
#include "report/report.h"
#include "report/spool_records.h"

// taking is what it takes to convert records: the session, and its spool opened for
// writing.
struct taking {
    const struct session *session;
    const struct spool *spool;
};

// is_report_of_record is true if the report is of the same crash as the record.
static bool is_report_of_record(const json_t *report,
                                const struct record_header *header)
{
    const json_t *process = json_object_get(report, "process");
    const json_t *crash = json_object_get(report, "crash");
    return report_integer(process, "pid", 0) == header->pid &&
           report_integer(crash, "thread", 0) == header->page.crashed_tid;
}

static bool is_reported_as(const struct taking *taking, const char *id,
                           const struct record_header *header)
{
    struct report_error error;
    json_auto_t *report = NULL;
    int fd = -1;
    if (spool_read(taking->spool, id, &fd) != CH_OK)
        return false;
    enum ch_status status = report_read(fd, &report, &error);
    (void)close(fd);
    return status == CH_OK && is_report_of_record(report, header);
}

// record_is_reported is true if the agent published its report and died before it could
// say so.
static bool record_is_reported(const struct taking *taking,
                               const struct record_header *header)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    uint64_t ms = header->page.crash_realtime_ns / 1000000;
    if (spool_list(taking->spool, &listing) != CH_OK)
        return false;
    for (size_t i = 0; i < listing.count; i++) {
        const char *id = listing.entries[i].id;
        if (report_id_time_ms(id) == ms && is_reported_as(taking, id, header))
            return true;
    }
    return false;
}

// make_record_report makes the report's text, with names where they can be found.
static enum ch_status make_record_report(const struct session *session,
                                         struct record_capture *record, const char *id,
                                         struct text *out)
{
    struct report_error error;
    json_auto_t *report = NULL;
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    enum ch_status status = raw_report_write(&record->capture, id, -1, &raw);
    if (status == CH_OK)
        status = report_parse(raw.bytes, raw.size, &report, &error);
    if (status != CH_OK)
        return status;
    attachments_fill(report, &record->settings);
    session_symbolize(session, report);
    status = report_print_kept(report, out);
    if (status == CH_ERR_LIMIT) { // then store it without names
        text_deinit(out);
        *out = raw;
        raw = (struct text){ 0 };
        status = CH_OK;
    }
    return status;
}

static enum ch_status store_record_report(const struct taking *taking,
                                          struct record_capture *record)
{
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    char id[REPORT_ID_SIZE];
    int lock_fd = -1;
    report_id_make(record->crash.realtime_ns / 1000000, id);
    enum ch_status status = make_record_report(taking->session, record, id, &json);
    if (status == CH_OK)
        status = spool_replace(taking->spool, id, json.bytes, json.size, &lock_fd);
    if (status == CH_OK)
        (void)close(lock_fd);
    return status;
}

static bool take_record(void *context, const char *name, int fd)
{
    const struct taking *taking = context;
    struct record_capture record;
    enum ch_status status =
        record_capture_open(&record, fd, &taking->session->settings);
    if (status == CH_OK) {
        if (!record_is_reported(taking, &record.record.header))
            status = store_record_report(taking, &record);
        record_capture_close(&record);
    }
    if (status == CH_OK)
        return true;
    (void)command_fail("cannot make a report of record '%s': %s", name,
                       status == CH_ERR_IO ? strerror(errno) : ch_status_name(status));
    return status == CH_ERR_MALFORMED || status == CH_ERR_TRUNCATED;
}

enum ch_status crash_record_make(const struct session *session, int fd, const char *id,
                                 struct text *out)
{
    struct record_capture record;
    enum ch_status status = record_capture_open(&record, fd, &session->settings);
    if (status != CH_OK)
        return status;
    status = make_record_report(session, &record, id, out);
    record_capture_close(&record);
    return status;
}

void crash_records_take(const struct session *session)
{
    struct spool spool = { .folder_fd = -1 };
    struct taking taking = { session, &spool };
    // A spool of another user is only read.
    if (spool_open(session->spool_path, SPOOL_WRITE, &spool) != CH_OK)
        return;
    if (!spool.drop) // there only root could list them
        (void)!spool_take_records(&spool, take_record, &taking);
    spool_close(&spool);
}
