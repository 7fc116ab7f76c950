// SPDX-License-Identifier: Apache-2.0
//
// How it works: crash_records_take passes each record of the spool, locked, to
// take_record. There are three kinds, in this order (spool_take_records):
// - a handler's record (take_made_record): the crash without an agent;
// - last words (take_last_words): a panic or exception that ended the program by an
//   exit;
// - a liveness record (take_liveness): a program that was killed with its supervisor.
//
// Each becomes a report by record_capture, as a raw report of the agent would, and goes
// into the spool under an id of its own. The record is deleted when its report is
// stored or will never be made (is_record_done).
//
// One crash must give one report: is_report_of_record, is_reported_end and
// record_is_reported look for the report that an agent published before it died. A
// liveness record is left alone while its process or its supervisor lives (lives_on,
// has_supervisor).
//
// A record names files. They are read with the rights of the record's owner, or with
// nobody's (use_rights_of_record), never with root's because root runs the command.
#include "cli/session/crash_records.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/core/record_capture.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"
#include "base/system/rights.h"
#include "cli/session/command.h"
#include "cli/session/exit_words.h"
#include "report/file/report_tree.h"
#include "report/spool/spool.h"
#include "report/value/report.h"

// other_records are of another version or processor, or in a spool that cannot be
// written to: they stay for whoever can make reports of them.
struct other_records {
    const char *whose;
    size_t count;
    char first[NAME_MAX + 1];
};

// taking is what it takes to convert records: the session, and its spool opened for
// writing.
struct taking {
    struct other_records *others; // NULL: a single record is taken
    const struct session *session;
    const struct spool *spool;
    const struct termination *
        termination; // what a supervisor saw of a liveness record; NULL: there was none
    struct process_facts *process;
    const struct liveness *live;    // of that; NULL: there is none
    const struct exit_words *words; // that the report is of; NULL: there are none
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

// read_taken_report is the report in the spool with this id; NULL: there is none that
// can be read.
static json_t *read_taken_report(const struct taking *taking, const char *id)
{
    struct report_error error;
    json_t *report = NULL;
    int fd = -1;
    if (spool_read(taking->spool, id, &fd) != CH_OK)
        return NULL;
    enum ch_status status = report_read(fd, &report, &error);
    (void)close(fd);
    return status == CH_OK ? report : NULL;
}

static bool is_reported_as(const struct taking *taking, const char *id,
                           const struct record_header *header)
{
    json_auto_t *report = read_taken_report(taking, id);
    return report != NULL && is_report_of_record(report, header);
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
// CH_END: it repeats a report that spool has; NULL: there is no spool.
static enum ch_status make_record_report(const struct session *session,
                                         const struct spool *spool,
                                         const struct exit_words *words,
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
    if (words != NULL)
        exit_words_add(words,
                       record->settings.sanitize != SETTING_NO ? words->home : NULL,
                       report);
    (void)session_complete(
        session, report, &(const struct session_files){ .attach = &record->settings });
    if (spool != NULL && same_termination_is_reported(spool, id, report))
        return CH_END;
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
    enum ch_status status = make_record_report(taking->session, taking->spool,
                                               taking->words, record, id, &json);
    if (status == CH_END)
        return CH_OK;
    if (status == CH_OK)
        status = spool_replace(taking->spool, id, json.bytes, json.size, &lock_fd);
    if (status == CH_OK)
        (void)close(lock_fd);
    return status;
}

static uint64_t latest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// last_seen_ns is when a process was last seen alive: when it or its supervisor wrote
// to the liveness record, or a page of that came to the disk.
static uint64_t last_seen_ns(const struct context_page *context, int fd)
{
    struct stat file;
    uint64_t seen = 0;
    if (fstat(fd, &file) == 0)
        seen =
            (uint64_t)file.st_mtim.tv_sec * 1000000000 + (uint64_t)file.st_mtim.tv_nsec;
    for (size_t i = 0; i < LIVENESS_SAMPLES; i++)
        seen = latest(seen, context->liveness.sample[i].realtime_ns);
    for (size_t i = 0; i < CONTEXT_BREADCRUMBS; i++)
        seen = latest(seen, context->trail[i].realtime_ns);
    uint64_t now = clock_now_ns(CLOCK_REALTIME);
    return seen < now ? seen : now;
}

// lives_on returns true if the process has outlived its supervisor.
static bool lives_on(const struct record_header *header)
{
    struct process_facts facts;
    facts_read_process(&facts, header->pid, header->pid);
    bool same = !facts.dead && facts.start_ticks == header->page.crash_realtime_ns;
    facts_deinit_process(&facts);
    return same;
}

// has_supervisor returns true if the process has a supervisor that still is there: it
// knows more. Numbers come again, in a container that is started again always; a
// supervisor that has not noted its start began before the process.
static bool has_supervisor(const struct record_capture *record)
{
    const struct context_liveness *liveness = &record->context.liveness;
    struct process_facts facts;
    if (liveness->supervisor <= 0)
        return false;
    facts_read_process(&facts, liveness->supervisor, liveness->supervisor);
    bool lives =
        !facts.dead &&
        (liveness->supervisor_start != 0
             ? facts.start_ticks == liveness->supervisor_start
             : facts.start_ticks <= record->record.header.page.crash_realtime_ns);
    facts_deinit_process(&facts);
    return lives;
}

// capture_unsupervised makes the capture of a liveness record whose supervisor, if it
// had one, has written all that it saw into it.
static void capture_unsupervised(struct record_capture *record, int fd)
{
    const struct record_header *header = &record->record.header;
    const uint64_t ticks_per_second = (uint64_t)sysconf(_SC_CLK_TCK);
    const struct context_liveness *liveness = &record->context.liveness;
    bool seen = liveness->end_signal != 0;
    struct termination termination = {
        .pid = header->pid,
        .supervisor = seen ? (enum liveness_supervisor)liveness->supervisor_is
                           : LIVENESS_NO_KEEPER,
        .signal = liveness->end_signal,
        .exit_status = -1,
        .realtime_ns =
            seen ? liveness->end_realtime_ns : last_seen_ns(&record->context, fd),
        .started_ns = header->page.crash_realtime_ns / ticks_per_second * 1000000000,
        .liveness = record->context.liveness,
    };
    record_capture_killed(record, &termination, NULL);
}

// has_last_words returns true if the process has left last words. Their report is made
// with its liveness record, by another command if that has locked them.
static bool has_last_words(const struct taking *taking,
                           const struct record_header *header)
{
    char name[SPOOL_LIVENESS_NAME_SIZE];
    spool_words_name(header->page.crash_realtime_ns, header->pid, name);
    return faccessat(taking->spool->folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

// take_liveness makes the report of a process that was killed, unless it ended in
// another way.
static enum ch_status take_liveness(const struct taking *taking, const char *name,
                                    struct record_capture *record, int fd)
{
    bool exits = taking->termination != NULL && taking->termination->exits;
    // Without the file its supervisor would report a termination that is reported
    // already.
    if (taking->termination == NULL && has_supervisor(record))
        return CH_ERR_NOT_FOUND;
    if (record_capture_has_ended(record) && !exits)
        return has_last_words(taking, &record->record.header) ? CH_ERR_NOT_FOUND
                                                              : CH_OK;
    // Before a supervisor ends, it replaces the file, or makes the report and removes
    // it.
    if (taking->termination == NULL && (lives_on(&record->record.header) ||
                                        !spool_hold_record(taking->spool, name, fd)))
        return CH_ERR_NOT_FOUND;
    if (taking->termination != NULL)
        record_capture_killed(record, taking->termination, taking->process);
    else
        capture_unsupervised(record, fd);
    return store_record_report(taking, record);
}

// leave_out is a spool_record_fn.
static bool leave_out(void *context, const char *name, int fd)
{
    struct other_records *others = context;
    (void)fd;
    if (others->count++ == 0)
        (void)snprintf(others->first, sizeof(others->first), "%s", name);
    return false;
}

// is_record_done returns true if the file of a record is done with; a failure is said.
static bool is_record_done(const struct taking *taking, const char *name,
                           enum ch_status status)
{
    if (status == CH_OK || status == CH_ERR_NOT_FOUND)
        return status == CH_OK;
    if (status == CH_ERR_UNSUPPORTED && taking->others != NULL)
        return leave_out(taking->others, name, -1);
    (void)command_fail("cannot make a report of record '%s': %s", name,
                       status == CH_ERR_IO ? strerror(errno) : ch_status_name(status));
    return status == CH_ERR_MALFORMED || status == CH_ERR_TRUNCATED;
}

// use_rights_of_record reads what the record names with the rights of its file's user,
// who wrote it. A liveness record is mapped by its program from the start on, whatever
// rights that gives up later: so it has nobody's, unless its supervisor saw the program
// have ours.
static void use_rights_of_record(const char *name, int fd)
{
    static const char liveness[] = "life-";
    struct rights rights = { .user = RIGHTS_NOBODY, .group = RIGHTS_NOBODY };
    struct stat file;
    if (strncmp(name, liveness, sizeof(liveness) - 1) != 0 && fstat(fd, &file) == 0) {
        rights.user = file.st_uid;
        rights.group = file.st_gid;
    }
    if (rights.user == RIGHTS_NOBODY && liveness_is_ours(fd))
        rights.user = geteuid();
    rights.fewer = geteuid() == 0 && rights.user != 0;
    rights_apply(&rights);
}

// take_made_record takes a record of a handler's; it is a spool_record_fn.
static bool take_made_record(void *context, const char *name, int fd)
{
    const struct taking *taking = context;
    struct record_capture record;
    use_rights_of_record(name, fd);
    enum ch_status status =
        record_capture_open(&record, fd, &taking->session->settings);
    if (status == CH_OK) {
        if (record_capture_is_liveness(&record))
            status = take_liveness(taking, name, &record, fd);
        else if (!record_is_reported(taking, &record.record.header))
            status = store_record_report(taking, &record);
        record_capture_close(&record);
    }
    rights_apply(&(const struct rights){ 0 });
    return is_record_done(taking, name, status);
}

// is_reported_end returns true if the report is of the end of process pid.
static bool is_reported_end(const struct taking *taking, const char *id, pid_t pid)
{
    json_auto_t *report = read_taken_report(taking, id);
    return report != NULL && json_is_object(json_object_get(report, "crash")) &&
           report_integer(json_object_get(report, "process"), "pid", 0) == pid;
}

// store_bare stores the report of a process that has left no liveness record.
static enum ch_status store_bare(const struct taking *taking,
                                 const struct settings *settings, const char *home)
{
    struct record_capture record;
    record_capture_bare(&record, taking->termination->pid, settings);
    record.capture.home = home;
    record_capture_killed(&record, taking->termination, taking->process);
    enum ch_status status = store_record_report(taking, &record);
    record_capture_close(&record);
    return status;
}

// is_told_of_words returns true if a report of the process's end is there already: of a
// fault that its runtime has handled, by its tracer or by the handler.
static bool is_told_of_words(const struct taking *taking,
                             const struct termination *termination)
{
    enum { NEAR_MS = 10000 };
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    uint64_t at_ms = termination->realtime_ns / 1000000;
    if (spool_list(taking->spool, &listing) != CH_OK)
        return false;
    for (size_t i = 0; i < listing.count; i++) {
        uint64_t ms = report_id_time_ms(listing.entries[i].id);
        if (ms + NEAR_MS >= at_ms && ms <= at_ms + NEAR_MS &&
            is_reported_end(taking, listing.entries[i].id, termination->pid))
            return true;
    }
    return false;
}

// is_liveness_awaited returns true if the process that writes the liveness record of
// this name still has it, or may be about to write it.
static bool is_liveness_awaited(const struct taking *taking,
                                const struct exit_words *words,
                                const struct termination *termination, const char *name)
{
    const uint64_t most_ns = 10 * UINT64_C(1000000000);
    if (faccessat(taking->spool->folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return true;
    uint64_t now_ns = clock_now_ns(CLOCK_REALTIME);
    return words->kills != NULL && strcmp(words->kills, "no") != 0 &&
           now_ns >= termination->realtime_ns &&
           now_ns - termination->realtime_ns < most_ns;
}

// store_words makes the report of last words: with the process's liveness record, if it
// has exited, too, and has left one.
static enum ch_status store_words(const struct taking *taking,
                                  const struct exit_words *words,
                                  struct termination *termination, uint64_t start_ticks)
{
    char liveness[SPOOL_LIVENESS_NAME_SIZE];
    struct settings settings = taking->session->settings;
    struct process_facts facts = { .pid = termination->pid,
                                   .start_ticks = start_ticks };
    struct taking with_termination = { .session = taking->session,
                                       .spool = taking->spool,
                                       .termination = termination,
                                       .words = words };
    spool_liveness_name(start_ticks, termination->pid, liveness);
    if (words->status >= 0 && taking->live != NULL &&
        liveness_is_filled(taking->live) &&
        take_made_record(&with_termination, liveness, taking->live->fd))
        return CH_OK;
    if (words->status >= 0 &&
        spool_take_record(taking->spool, liveness, take_made_record, &with_termination))
        return CH_OK;
    if (words->status >= 0 &&
        is_liveness_awaited(taking, words, termination, liveness)) {
        termination_deinit(termination);
        return CH_ERR_NOT_FOUND;
    }
    settings.release = words->release;
    settings.environment = words->environment;
    settings.tags = words->tags;
    facts.uid = getuid();
    if (words->executable != NULL)
        text_append_string(&facts.executable, words->executable);
    with_termination.process = &facts;
    enum ch_status status = store_bare(&with_termination, &settings, words->home);
    facts_deinit_process(&facts);
    return status;
}

// take_last_words makes the report of last words once their process, or thread, has
// exited.
static enum ch_status take_last_words(const struct taking *taking, const char *name,
                                      int fd)
{
    struct exit_words CH_CLEANUP(exit_words_deinit) words = { 0 };
    struct process_facts facts;
    struct stat file;
    uint64_t start;
    int32_t pid;
    if (!spool_words_process(name, &start, &pid) || fstat(fd, &file) != 0)
        return CH_ERR_MALFORMED;
    facts_read_process(&facts, pid, pid);
    bool lives = !facts.dead && facts.start_ticks == start;
    facts_deinit_process(&facts);
    if (lives)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = exit_words_read(fd, &words);
    if (status != CH_OK || words.said[0] == 0)
        return status;
    struct termination termination = {
        .pid = words.pid != 0 ? (pid_t)words.pid : pid,
        .realtime_ns =
            (uint64_t)file.st_mtim.tv_sec * 1000000000 + (uint64_t)file.st_mtim.tv_nsec,
        .exits = true,
        .exit_status = (int)words.status,
        .kind = words.kind,
    };
    if (is_told_of_words(taking, &termination))
        return CH_OK;
    text_append_string(&termination.message,
                       words.message != NULL ? words.message : "");
    text_append_string(&termination.said, words.said);
    return store_words(taking, &words, &termination,
                       start); // its capture takes the texts
}

static bool take_record(void *context, const char *name, int fd)
{
    return spool_is_words(name)
               ? is_record_done(context, name, take_last_words(context, name, fd))
               : take_made_record(context, name, fd);
}

// is_of_our_spool returns true if the process had the same CRASHHOOK_SPOOL as this one,
// or like it none.
static bool is_of_our_spool(const struct record_file *record)
{
    const char *theirs = record_file_variable(record, "CRASHHOOK_SPOOL");
    const char *ours = getenv("CRASHHOOK_SPOOL");
    return theirs != NULL && ours != NULL ? strcmp(theirs, ours) == 0 : theirs == ours;
}

enum ch_status crash_record_make(const struct session *session, int fd, const char *id,
                                 bool ours_only, struct text *out)
{
    struct record_capture record;
    enum ch_status status = record_capture_open(&record, fd, &session->settings);
    if (status != CH_OK)
        return status;
    if (ours_only && !is_of_our_spool(&record.record))
        status = CH_ERR_NOT_FOUND;
    else
        status = make_record_report(session, NULL, NULL, &record, id, out);
    record_capture_close(&record);
    return status;
}

static void take_all(const struct session *session, struct other_records *out_others)
{
    struct spool spool = { .folder_fd = -1 };
    struct taking taking = { .others = out_others,
                             .session = session,
                             .spool = &spool };
    out_others->whose = "of another version of crashhook or another processor";
    // A spool of another user is only read.
    if (spool_open(session->spool_path, SPOOL_WRITE, &spool) != CH_OK) {
        out_others->whose = "of another user, or others may write there";
        (void)!spool_take_records(&session->spool, leave_out, out_others);
        return;
    }
    if (!spool.drop) // there only root could list them
        (void)!spool_take_records(&spool, take_record, &taking);
    spool_close(&spool);
}

void crash_records_take_for_program(const struct session *session)
{
    struct other_records others = { .count = 0 };
    take_all(session, &others);
}

void crash_records_take(const struct session *session)
{
    struct other_records others = { .count = 0 };
    take_all(session, &others);
    if (others.count != 0)
        (void)command_fail("records in '%s' are %s (%zu, such as '%s'): that one's "
                           "'crashhook list' makes reports of them",
                           session->spool_path, others.whose, others.count,
                           others.first);
}

void crash_records_killed(const struct session *session,
                          const struct termination *termination,
                          struct process_facts *process, const struct liveness *live)
{
    struct spool CH_CLEANUP(spool_close) spool = { .folder_fd = -1 };
    struct taking taking = { .session = session,
                             .spool = &spool,
                             .termination = termination,
                             .process = process,
                             .live = live };
    char name[SPOOL_LIVENESS_NAME_SIZE];
    if (spool_open(session->spool_path, SPOOL_WRITE, &spool) != CH_OK ||
        (termination->exits &&
         is_told_of_words(&taking, termination))) // by a sanitizer, say
        return;
    if (liveness_is_filled(live)) {
        spool_liveness_name(process->start_ticks, termination->pid, name);
        (void)take_record(&taking, name, live->fd);
        return;
    }
    if (store_bare(&taking, &session->settings, NULL) != CH_OK)
        (void)command_fail("cannot report how process %d was killed: %s",
                           termination->pid, strerror(errno));
}

bool crash_records_take_words(const struct session *session, pid_t pid,
                              uint64_t start_ticks, const struct liveness *live)
{
    struct spool CH_CLEANUP(spool_close) spool = { .folder_fd = -1 };
    struct taking taking = { .session = session, .spool = &spool, .live = live };
    char name[SPOOL_LIVENESS_NAME_SIZE];
    spool_words_name(start_ticks, pid, name);
    return spool_open(session->spool_path, SPOOL_WRITE, &spool) == CH_OK &&
           !spool.drop && spool_take_record(&spool, name, take_record, &taking);
}

enum {
    // A parent may clean up before it passes a signal on.
    TOLD_WITHIN_MS = 60000,
    // How soon a namespace's first process, whose parent is not known, must be
    // followed. While it is reported its parent waits, on a loaded machine for seconds.
    NAMESPACE_WITHIN_MS = 10000,
    // Starts of processes are known to a clock tick, which is 10 ms.
    START_WITHIN_MS = 50,
};

// calls_abort returns true if the crashed thread is in abort(), or has no names that
// would show it.
static bool calls_abort(const json_t *report)
{
    size_t i;
    json_t *frame;
    bool named = false;
    json_array_foreach(report_frames(report_crashed_thread(report)), i, frame)
    {
        const char *function = report_string(frame, "function");
        named |= function != NULL;
        if (function != NULL && strcmp(function, "abort") == 0)
            return true;
    }
    return !named;
}

bool same_termination_is_sent(const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *sender = json_object_get(crash, "sender");
    int64_t pid = report_integer(json_object_get(report, "process"), "pid", 0);
    if (!json_is_object(sender) || report_integer(sender, "pid", -1) != pid ||
        report_string(crash, "message") != NULL ||
        json_object_get(crash, "exception") != NULL)
        return false;
    return report_integer(crash, "signal", 0) != SIGABRT || !calls_abort(report);
}

static bool has_ancestor(const json_t *process, int64_t pid)
{
    size_t i;
    json_t *ancestor;
    if (report_integer(process, "ppid", 0) == pid)
        return true;
    json_array_foreach(json_object_get(process, "ancestors"), i, ancestor)
    {
        if (json_integer_value(ancestor) == pid)
            return true;
    }
    return false;
}

// runs_longer_ms is by how much earlier one process started than the other. 0: that is
// not known.
static int64_t runs_longer_ms(const json_t *process, const json_t *other)
{
    int64_t start = clock_utc_read(report_string(process, "started"));
    int64_t other_start = clock_utc_read(report_string(other, "started"));
    return start < 0 || other_start < 0 ? 0 : other_start - start;
}

// is_earlier_half returns true if the other report, made ms before, is of the
// termination that this one repeats. Process numbers come again, so the times of the
// starts have to fit.
static bool is_earlier_half(const json_t *report, const json_t *other, uint64_t ms)
{
    const json_t *process = json_object_get(report, "process");
    const json_t *dead = json_object_get(other, "process");
    int64_t pid = report_integer(process, "pid", 0);
    int64_t longer = runs_longer_ms(process, dead);
    if (report_integer(json_object_get(report, "crash"), "signal", 0) !=
        report_integer(json_object_get(other, "crash"), "signal", -1))
        return false;
    if (report_integer(dead, "pid", 0) == pid)
        return longer >= -START_WITHIN_MS && longer <= START_WITHIN_MS;
    if (report_integer(dead, "pid", 0) == 1)
        return ms < NAMESPACE_WITHIN_MS && longer >= -START_WITHIN_MS;
    return longer >= -START_WITHIN_MS && has_ancestor(dead, pid);
}

static bool entry_is_earlier_half(const struct spool *spool, const char *id,
                                  const json_t *report, uint64_t ms)
{
    struct report_error error;
    json_auto_t *other = NULL;
    int fd = -1;
    if (spool_read(spool, id, &fd) != CH_OK)
        return false;
    enum ch_status status = report_read(fd, &other, &error);
    (void)close(fd);
    return status == CH_OK && is_earlier_half(report, other, ms);
}

bool same_termination_is_reported(const struct spool *spool, const char *id,
                                  const json_t *report)
{
    struct spool_listing CH_CLEANUP(spool_listing_deinit) listing = { 0 };
    uint64_t at_ms = report_id_time_ms(id);
    if (!same_termination_is_sent(report) || spool->drop ||
        spool_list(spool, &listing) != CH_OK)
        return false;
    for (size_t i = listing.count; i > 0; i--) {
        const char *other = listing.entries[i - 1].id;
        uint64_t ms = report_id_time_ms(other);
        if (ms + TOLD_WITHIN_MS < at_ms)
            return false;
        if (ms <= at_ms && strcmp(other, id) != 0 &&
            entry_is_earlier_half(spool, other, report, at_ms - ms))
            return true;
    }
    return false;
}
