// SPDX-License-Identifier: Apache-2.0
//
// Why there is no report of a process that has died: what the spool, the kernel's log
// and the agent's say of it.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/doctor/doctor.h"
#include "cli/node/node.h"
#include "cli/session/crash_records.h"
#include "images/read_file.h"
#include "report/value/report.h"

enum { MINUTE_S = 60, DAY_S = 24 * 60 * 60 };

// read_time_parts reads text by one of the formats; out_day: which day it is.
static const char *read_time_parts(const char *text, struct tm *out, bool *out_day)
{
    static const char *const formats[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
                                           "%Y-%m-%dT%H:%M",    "%Y-%m-%d %H:%M",
                                           "%H:%M:%S",          "%H:%M" };
    const struct tm today = *out;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        *out = today;
        out->tm_sec = 0;
        const char *rest = strptime(text, formats[i], out);
        *out_day = formats[i][1] == 'Y';
        if (rest != NULL && (*rest == 0 || strcmp(rest, "Z") == 0))
            return rest;
    }
    return NULL;
}

bool time_span_read(const char *text, int64_t now, struct time_span *out)
{
    bool day;
    struct tm parts;
    time_t moment = (time_t)now;
    size_t length = strlen(text);
    bool utc = length != 0 && text[length - 1] == 'Z';
    if ((utc ? gmtime_r(&moment, &parts) : localtime_r(&moment, &parts)) == NULL ||
        read_time_parts(text, &parts, &day) == NULL)
        return false;
    parts.tm_isdst = -1;
    int64_t minute = utc ? timegm(&parts) : mktime(&parts);
    if (!day && minute > now + MINUTE_S)
        minute -= DAY_S;
    *out = (struct time_span){ .first = minute - MINUTE_S,
                               .last = minute + 2 * MINUTE_S - 1 };
    return true;
}

// time_span_has returns true if a second is in span; NULL has all.
static bool time_span_has(const struct time_span *span, int64_t second)
{
    return span == NULL || (second >= span->first && second <= span->last);
}

// What the kernel said of a process: its log in the form of /dev/kmsg, whose records
// are "PRIORITY,NUMBER,MICROSECONDS,FLAGS;MESSAGE". User: doctor.

// kernel_log_query asks for what tells how a process ended.
struct kernel_log_query {
    const char *path; // a file with such records; NULL: /dev/kmsg
    pid_t pid;
    const struct time_span *span; // when it ended; NULL: at any time
};

// kernel_log_answer is empty before the query, and its text is the caller's.
struct kernel_log_answer {
    struct text message; // the last that tells of it, and when
    bool memory;         // it ended for want of memory
    int64_t begins;      // when the oldest record was written; 0: there is none
};

enum { RECORD_SIZE = 8192, RECORDS_MAX = 100000, TIME_SIZE = 32 };

// kernel_log_tells returns true if message tells how process pid ended.
static bool kernel_log_tells(const char *message, pid_t pid, bool *out_memory)
{
    char killed[48];
    char fault[24];
    // As the kernel words it when memory runs out, and in the fault handlers of x86 and
    // Arm.
    (void)snprintf(killed, sizeof(killed), "Killed process %d (", pid);
    (void)snprintf(fault, sizeof(fault), "[%d]", pid);
    if (strstr(message, killed) != NULL) {
        *out_memory = true;
        return true;
    }
    const char *at = strstr(message, fault);
    if (at == NULL)
        return false;
    at += strlen(fault);
    *out_memory = false;
    return strstr(at, "segfault at ") != NULL || strstr(at, " trap ") == at ||
           strstr(at, "general protection") != NULL ||
           strstr(at, "unhandled ") != NULL || strstr(at, "bad frame") != NULL ||
           strstr(at, "invalid opcode") != NULL;
}

// kernel_record_second is when a record was written, in seconds since 1970.
static int64_t kernel_record_second(const char *record)
{
    uint64_t us = 0;
    const char *number = strchr(record, ',');
    const char *moment = number != NULL ? strchr(number + 1, ',') : NULL;
    if (moment != NULL)
        us = strtoull(moment + 1, NULL, 10);
    return (int64_t)((clock_now_ms(CLOCK_REALTIME) - clock_now_ms(CLOCK_MONOTONIC) +
                      us / 1000) /
                     1000);
}

// append_kernel_message appends the first line of a record after its time of day.
static void append_kernel_message(int64_t second, const char *message, struct text *out)
{
    char time_text[TIME_SIZE] = "";
    time_t seconds = (time_t)second;
    struct tm parts;
    if (gmtime_r(&seconds, &parts) != NULL)
        (void)strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ ", &parts);
    text_append_string(out, time_text);
    text_append(out, message, strcspn(message, "\n"));
}

// take_kernel_record keeps a record that answers the query in place of an earlier one.
static void take_kernel_record(const char *record, const struct kernel_log_query *query,
                               struct kernel_log_answer *out)
{
    bool memory;
    const char *message = strchr(record, ';');
    int64_t second = kernel_record_second(record);
    if (message == NULL)
        return;
    if (out->begins == 0)
        out->begins = second;
    if (!time_span_has(query->span, second) ||
        !kernel_log_tells(message + 1, query->pid, &memory))
        return;
    out->memory = memory;
    text_clear(&out->message);
    append_kernel_message(second, message + 1, &out->message);
}

// find_in_file reads lines, as someone has kept them of /dev/kmsg.
static bool find_in_file(const struct kernel_log_query *query,
                         struct kernel_log_answer *out)
{
    char line[RECORD_SIZE];
    FILE *file = fopen(query->path, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL)
        take_kernel_record(line, query, out);
    (void)fclose(file);
    errno = 0;
    return out->message.size != 0;
}

// kernel_log_find returns whether there is such a message. False: there is none, or the
// log cannot be read; then errno is set, or is 0.
static bool kernel_log_find(const struct kernel_log_query *query,
                            struct kernel_log_answer *out)
{
    char record[RECORD_SIZE];
    if (query->path != NULL)
        return find_in_file(query, out);
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        ssize_t length = read(fd, record, sizeof(record) - 1);
        if (length < 0 && errno == EPIPE)
            continue; // this record was overwritten before it was read
        if (length <= 0)
            break;
        record[length] = 0;
        take_kernel_record(record, query, out);
    }
    (void)close(fd);
    errno = 0;
    return out->message.size != 0;
}

enum { LOG_BYTES = 16 << 20, GONE_TIME_SIZE = 32 };

// gone_reports are the newest reports of a number that processes share over time.
struct gone_reports {
    char then[REPORT_ID_SIZE];  // of the time in question; empty: none
    char other[REPORT_ID_SIZE]; // of another time; empty: none
    char child[REPORT_ID_SIZE]; // of that time, of a process that it had started
};

// A kinship is what the process of a report is to the one in question.
enum kinship {
    KINSHIP_NONE,
    KINSHIP_SAME,
    KINSHIP_CHILD,
};

static enum kinship kinship_of(const struct spool *spool, const char *id, pid_t pid)
{
    struct report_error error;
    json_t *report = NULL;
    int fd = -1;
    if (spool_read(spool, id, &fd) != CH_OK)
        return KINSHIP_NONE;
    enum kinship kinship = KINSHIP_NONE;
    if (report_read(fd, &report, &error) == CH_OK) {
        const json_t *process = json_object_get(report, "process");
        if (report_integer(process, "pid", 0) == pid)
            kinship = KINSHIP_SAME;
        else if (report_integer(process, "ppid", 0) == pid)
            kinship = KINSHIP_CHILD;
    }
    (void)close(fd);
    json_decref(report);
    return kinship;
}

static void note_report(const struct spool *spool, const char *id, pid_t pid, bool then,
                        struct gone_reports *out)
{
    char *of_itself = then ? out->then : out->other;
    enum kinship kinship = kinship_of(spool, id, pid);
    if (kinship == KINSHIP_SAME && of_itself[0] == 0)
        memcpy(of_itself, id, REPORT_ID_SIZE);
    if (kinship == KINSHIP_CHILD && then && out->child[0] == 0)
        memcpy(out->child, id, REPORT_ID_SIZE);
}

static int64_t report_second(const char *id)
{
    return (int64_t)(report_id_time_ms(id) / 1000);
}

static void find_reports_of(struct session *session, pid_t pid,
                            const struct time_span *span, struct gone_reports *out)
{
    struct spool_listing listing = { 0 };
    *out = (struct gone_reports){ 0 };
    if (spool_open(session->spool_path, SPOOL_READ, &session->spool) != CH_OK)
        return;
    crash_records_take(session);
    if (spool_list(&session->spool, &listing) != CH_OK)
        listing.count = 0;
    for (size_t i = listing.count; i > 0 && out->then[0] == 0; i--) {
        const char *id = listing.entries[i - 1].id;
        note_report(&session->spool, id, pid, time_span_has(span, report_second(id)),
                    out);
    }
    spool_listing_deinit(&listing);
    spool_close(&session->spool);
    session->spool.folder_fd = -1;
}

static void gone_time_text(int64_t second, char out[static GONE_TIME_SIZE])
{
    struct tm parts;
    time_t moment = (time_t)second;
    out[0] = 0;
    if (gmtime_r(&moment, &parts) != NULL)
        (void)strftime(out, GONE_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

// note_agent_log notes the last line of the agent's log that names the process.
static void note_agent_log(const struct session *session, pid_t pid,
                           struct doctor_finding *out)
{
    struct text CH_CLEANUP(text_deinit) log = { 0 };
    struct text CH_CLEANUP(text_deinit) word = { 0 };
    const char *last = NULL;
    const char *path = session->settings.log;
    if (path == NULL || path[0] != '/') {
        text_append_string(&out->line,
                           "; the agent keeps no log: set CRASHHOOK_LOG=FILE for it");
        return;
    }
    text_appendf(&word, " %d", pid);
    if (read_file(path, LOG_BYTES, &log) == CH_OK && log.bytes != NULL) {
        for (const char *at = log.bytes; (at = strstr(at, word.bytes)) != NULL; at++)
            last = at;
    }
    if (last == NULL) {
        text_appendf(&out->line, "; the agent's log %s does not name it", path);
        return;
    }
    while (last > log.bytes && last[-1] != '\n')
        last--;
    text_appendf(&out->line, "; the agent's log says: %.*s", (int)strcspn(last, "\n"),
                 last);
}

// note_silent_kernel notes what it means that the kernel's log has nothing of the
// process: the records of that time may be gone.
static void note_silent_kernel(const struct kernel_log_answer *answer,
                               const struct time_span *span, struct doctor_finding *out)
{
    char begins[GONE_TIME_SIZE];
    if (errno != 0) {
        text_appendf(&out->line, "; the kernel's log cannot be read: %s",
                     strerror(errno));
        return;
    }
    if (span != NULL && answer->begins > span->last) {
        gone_time_text(answer->begins, begins);
        text_appendf(&out->line,
                     "; the kernel's log begins at %s, and what it said before is gone "
                     "from it: `journalctl -k` may have it",
                     begins);
        return;
    }
    text_append_string(&out->line,
                       "; the kernel logged no fault of it: it exited, or died of a "
                       "signal that is not logged, such as an abort's or a kill's");
}

static void note_kernel_words(const struct doctor *doctor, pid_t pid,
                              const struct time_span *span, struct doctor_finding *out)
{
    const struct kernel_log_query query = { doctor->kernel_log, pid, span };
    struct kernel_log_answer answer = { 0 };
    errno = 0;
    if (!kernel_log_find(&query, &answer)) {
        note_silent_kernel(&answer, span, out);
    } else {
        text_appendf(&out->line, "; the kernel says: %s: %s", answer.message.bytes,
                     answer.memory
                         ? "nothing in a process that is killed can report it, but "
                           "`crashhook run` does"
                         : "it crashed without the handler, or the handler could "
                           "start no agent and write nothing");
        if (!answer.memory)
            text_append_string(&out->fix,
                               "crashhook-core-pattern install "
                               "# programs without the handler are reported by it\n");
    }
    text_deinit(&answer.message);
}

// note_node_agent notes what the node agent says of the process, in the ledger of the
// spool at path.
static void note_node_agent(const char *path, pid_t pid, const struct time_span *span,
                            struct doctor_finding *out)
{
    struct spool spool;
    const json_t *last = NULL;
    if (spool_open(path, SPOOL_READ, &spool) != CH_OK)
        return;
    json_auto_t *all = node_ledger_read(&spool, 0);
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *entry = json_array_get(all, i);
        if (report_integer(entry, "pid", 0) == pid &&
            time_span_has(span, report_integer(entry, "time", 0) / 1000))
            last = entry;
    }
    const char *report = report_string(last, "report");
    const char *why = report_string(last, "why");
    if (report != NULL)
        text_appendf(&out->line,
                     "; the node agent reported it: crashhook show --spool %s %s", path,
                     report);
    else if (why != NULL)
        text_appendf(&out->line, "; the node agent says: %s", why);
    if (report_string(last, "fix") != NULL)
        text_appendf(&out->fix, "%s\n", report_string(last, "fix"));
    spool_close(&spool);
}

// note_other_places notes where else a report of it may be.
static void note_other_places(const struct session *session,
                              const struct gone_reports *reports,
                              struct doctor_finding *out)
{
    char when[GONE_TIME_SIZE];
    if (reports->other[0] != 0) {
        gone_time_text(report_second(reports->other), when);
        text_appendf(&out->line,
                     "; what was reported at %s had the same number: crashhook show %s",
                     when, reports->other);
    }
    if (session->settings.url != NULL)
        text_append_string(&out->line, "; a report that was sent may be gone from the "
                                       "spool: `crashhook groups` has the collector's");
}

enum doctor_verdict doctor_gone(struct doctor *doctor, pid_t pid,
                                const struct time_span *span,
                                struct doctor_finding *out)
{
    struct session *session = doctor->session;
    struct gone_reports reports;
    find_reports_of(session, pid, span, &reports);
    if (reports.then[0] != 0) {
        text_appendf(&out->line, "process %d was reported: crashhook show %s", pid,
                     reports.then);
        return DOCTOR_FINE;
    }
    // `crashhook run` that watches for kills stays the parent of its program, and it is
    // its number that the shell tells.
    if (reports.child[0] != 0) {
        text_appendf(&out->line,
                     "process %d left no report; one that it had started did: "
                     "crashhook show %s",
                     pid, reports.child);
        return DOCTOR_NOTE;
    }
    text_appendf(&out->line, "process %d is gone, and %s has no report of it%s", pid,
                 session->spool_path, span != NULL ? " at that time" : "");
    note_kernel_words(doctor, pid, span, out);
    note_node_agent(session->spool_path, pid, span, out);
    if (strcmp(session->spool_path, NODE_SPOOL) != 0)
        note_node_agent(NODE_SPOOL, pid, span, out);
    note_agent_log(session, pid, out);
    note_other_places(session, &reports, out);
    return DOCTOR_TROUBLE;
}
