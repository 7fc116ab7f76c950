// SPDX-License-Identifier: Apache-2.0
#include "upload/starts.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/system/file.h"
#include "base/text.h"
#include "net/http.h"
#include "report/file/report_id.h"
#include "report/spool/spool_wait.h"
#include "shared/start_record.h"
#include "upload/sentry.h"

#define BATCH_SUFFIX ".batch"
#define SENTRY_SUFFIX ".sentry"

enum {
    DAY_DIGITS = 8,
    KEPT_DAYS = 30,
    DAY_S = 86400,
    HOUR_S = 3600,
    MARK_SIZE = 24, // of a name that ends by it
    NAME_MAX_SIZE = 256,
    BATCH_LIMIT_BYTES = 64 << 20,
    WRITER_NS = 100000000, // a program appends within microseconds of opening a file
};

static bool has_ending(const char *name, const char *ending)
{
    size_t length = strlen(name);
    size_t size = strlen(ending);
    return length > size && strcmp(name + length - size, ending) == 0;
}

// starts_read_release decodes the digits at text; false: they are none.
static bool starts_read_release(const char *text, size_t digits, char *out, size_t size)
{
    if (digits % 2 != 0 || digits / 2 >= size)
        return false;
    for (size_t i = 0; i < digits; i += 2) {
        const char pair[] = { text[i], text[i + 1], 0 };
        out[i / 2] = (char)strtoul(pair, NULL, 16);
    }
    out[digits / 2] = 0;
    return strlen(out) == digits / 2;
}

// starts_read_name reads the day and the release of a file's or a batch's name; false:
// it is neither. out_release is empty where programs have no release.
static bool starts_read_name(const char *name, int64_t *out_day, char *out_release,
                             size_t size)
{
    const size_t prefix = strlen(START_PREFIX);
    char release[NAME_MAX_SIZE];
    if (strncmp(name, START_PREFIX, prefix) != 0 ||
        (!has_ending(name, START_SUFFIX) && !has_ending(name, BATCH_SUFFIX) &&
         !has_ending(name, SENTRY_SUFFIX)))
        return false;
    char *end = NULL;
    long day = strtol(name + prefix, &end, 16);
    if (end != name + prefix + DAY_DIGITS || *end != '-')
        return false;
    size_t digits = strspn(end + 1, "0123456789abcdef");
    char after = end[1 + digits];
    if ((after != '.' && after != '-') ||
        !starts_read_release(end + 1, digits, release, sizeof(release)) ||
        strlen(release) >= size)
        return false;
    *out_day = day;
    memcpy(out_release, release, strlen(release) + 1);
    return true;
}

// starts_each calls visit for each name that ends so.
static void starts_each(const struct starts_sending *sending, const char *ending,
                        void (*visit)(const struct starts_sending *, const char *,
                                      size_t *),
                        size_t *waiting)
{
    int fd = openat(sending->spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    if (directory == NULL) {
        file_close(&fd);
        return;
    }
    for (const struct dirent *found = readdir(directory); found != NULL;
         found = readdir(directory)) {
        if (has_ending(found->d_name, ending))
            visit(sending, found->d_name, waiting);
    }
    (void)closedir(directory);
}

// sentry_mark ends the names of what waits for one Sentry. Where sessions come from is
// not among what Sentry takes once, so each has files of its own.
static void sentry_mark(const struct target *target, char *out, size_t size)
{
    (void)snprintf(out, size, "-%08x" SENTRY_SUFFIX,
                   crc32c(target->shown, strlen(target->shown)));
}

static bool has_target(const struct starts_sending *sending, enum target_kind kind)
{
    for (size_t i = 0; i < sending->target_count; i++) {
        if (sending->targets[i].kind == kind)
            return true;
    }
    return false;
}

// link_for_sentries gives a file a name for each Sentry; stem is the name of the batch
// without its ending.
static void link_for_sentries(const struct starts_sending *sending, const char *name,
                              const char *stem)
{
    char mark[MARK_SIZE];
    char linked[2 * NAME_MAX_SIZE];
    int folder = sending->spool->folder_fd;
    for (size_t i = 0; i < sending->target_count; i++) {
        if (sending->targets[i].kind != TARGET_KIND_SENTRY)
            continue;
        sentry_mark(&sending->targets[i], mark, sizeof(mark));
        (void)snprintf(linked, sizeof(linked), "%s%s", stem, mark);
        if (linkat(folder, name, folder, linked, 0) != 0)
            return; // without room for one name there is none for the next
    }
}

// make_batch renames a file, to which no process appends from then on, except those
// that have just opened it.
static void make_batch(const struct starts_sending *sending, const char *name,
                       size_t *waiting)
{
    const struct timespec pause = { .tv_nsec = WRITER_NS };
    char stem[NAME_MAX_SIZE + REPORT_ID_SIZE + 1];
    char batch[sizeof(stem) + sizeof(BATCH_SUFFIX)];
    char release[NAME_MAX_SIZE];
    char id[REPORT_ID_SIZE];
    int64_t day;
    if (!starts_read_name(name, &day, release, sizeof(release)))
        return;
    report_id_make((uint64_t)time(NULL) * 1000, id);
    (void)snprintf(stem, sizeof(stem), "%.*s-%s",
                   (int)(strlen(name) - strlen(START_SUFFIX)), name, id);
    (void)snprintf(batch, sizeof(batch), "%s%s", stem, BATCH_SUFFIX);
    int folder = sending->spool->folder_fd;
    if (release[0] != 0)
        link_for_sentries(sending, name, stem);
    int ended = has_target(sending, TARGET_KIND_COLLECTOR)
                    ? renameat(folder, name, folder, batch)
                    : unlinkat(folder, name, 0);
    if (ended == 0 && (*waiting)++ == 0)
        (void)nanosleep(&pause, NULL);
}

// batch_counts is what a batch says: its starts by the hour of the day, and its ends.
struct batch_counts {
    int64_t starts[SENTRY_SESSION_HOURS];
    int64_t ends;
};

static bool count_records(const struct starts_sending *sending, const char *name,
                          struct batch_counts *out)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    struct start_record record;
    int CH_CLEANUP(file_close) fd = -1;
    if (spool_open_file(sending->spool, name, &fd) != CH_OK ||
        text_read(&bytes, fd, BATCH_LIMIT_BYTES) != CH_OK)
        return false;
    for (size_t at = 0; at + sizeof(record) <= bytes.size; at += sizeof(record)) {
        memcpy(&record, bytes.bytes + at, sizeof(record));
        out->starts[record.time_s % DAY_S / HOUR_S] += record.kind == START_BEGUN;
        out->ends += record.kind == START_ENDED;
    }
    return true;
}

static json_t *describe_batch(const struct starts_sending *sending, const char *name)
{
    const char *id = strrchr(name, '.') - (REPORT_ID_SIZE - 1);
    char release[NAME_MAX_SIZE];
    struct batch_counts counts = { 0 };
    json_int_t starts = 0;
    struct utsname host;
    int64_t day;
    if (!starts_read_name(name, &day, release, sizeof(release)) || uname(&host) != 0 ||
        !count_records(sending, name, &counts))
        return NULL;
    for (int hour = 0; hour < SENTRY_SESSION_HOURS; hour++)
        starts += counts.starts[hour];
    return json_pack("{s:s%, s:s, s:s, s:I, s:I, s:I}", "id", id,
                     (size_t)REPORT_ID_SIZE - 1, "release", release, "host",
                     host.nodename, "day", (json_int_t)day, "starts", starts, "ends",
                     (json_int_t)counts.ends);
}

static bool send_batch_to(const struct starts_sending *sending,
                          const struct target *target, const char *body)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    struct http_reply CH_CLEANUP(http_reply_deinit) reply = { 0 };
    text_appendf(&url, "%s/api/v1/starts", target->url);
    const struct http_request request = { .url = url.bytes,
                                          .token = sending->token,
                                          .content_type = "application/json",
                                          .body = body,
                                          .size = strlen(body),
                                          .timeout_ms = sending->timeout_ms };
    return text_ok(&url) && http_send(&request, &reply) == CH_OK &&
           (reply.status == 200 || reply.status == 201);
}

static bool is_over(int64_t day)
{
    return day + KEPT_DAYS < time(NULL) / DAY_S;
}

// is_awake is false while a target's wait has not ended.
static bool is_awake(const struct target *target)
{
    return spool_wait_over(&target->rest, time(NULL));
}

// send_batch sends one batch to every collector, and removes it once all have it.
static void send_batch(const struct starts_sending *sending, const char *name,
                       size_t *waiting)
{
    char release[NAME_MAX_SIZE];
    int64_t day = 0;
    bool all = true;
    json_auto_t *batch = describe_batch(sending, name);
    char *body = batch != NULL ? json_dumps(batch, JSON_COMPACT) : NULL;
    for (size_t i = 0; i < sending->target_count && body != NULL; i++) {
        if (sending->targets[i].kind == TARGET_KIND_COLLECTOR)
            all &= is_awake(&sending->targets[i]) &&
                   send_batch_to(sending, &sending->targets[i], body);
    }
    bool over = starts_read_name(name, &day, release, sizeof(release)) && is_over(day);
    if ((body != NULL && all) || over)
        (void)unlinkat(sending->spool->folder_fd, name, 0);
    else
        (*waiting)++;
    free(body);
}

// sentry_of_mark is the Sentry that a file waits for, or NULL.
static const struct target *sentry_of_mark(const struct starts_sending *sending,
                                           const char *name)
{
    char mark[MARK_SIZE];
    for (size_t i = 0; i < sending->target_count; i++) {
        sentry_mark(&sending->targets[i], mark, sizeof(mark));
        if (sending->targets[i].kind == TARGET_KIND_SENTRY && has_ending(name, mark))
            return &sending->targets[i];
    }
    return NULL;
}

// send_sessions sends the starts of a file to the Sentry that it waits for.
static void send_sessions(const struct starts_sending *sending, const char *name,
                          size_t *waiting)
{
    char release[NAME_MAX_SIZE];
    struct batch_counts counts = { 0 };
    struct sentry_sessions sessions = { .release = release };
    const struct target *target = sentry_of_mark(sending, name);
    if (!starts_read_name(name, &sessions.day, release, sizeof(release)))
        return;
    bool sent = false;
    if (target != NULL && count_records(sending, name, &counts)) {
        int64_t starts = 0;
        for (int hour = 0; hour < SENTRY_SESSION_HOURS; hour++)
            starts += sessions.starts[hour] = counts.starts[hour];
        // Ends alone say nothing to Sentry.
        sent = starts == 0 ||
               (is_awake(target) &&
                sentry_send_sessions(target, &sessions, sending->timeout_ms));
    }
    if (sent || is_over(sessions.day))
        (void)unlinkat(sending->spool->folder_fd, name, 0);
    else
        (*waiting)++;
}

size_t starts_send(const struct starts_sending *sending)
{
    size_t renamed = 0;
    size_t waiting = 0;
    if (!has_target(sending, TARGET_KIND_COLLECTOR) &&
        !has_target(sending, TARGET_KIND_SENTRY))
        return 0;
    int CH_CLEANUP(file_close) lock =
        openat(sending->spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)
        return 0; // another process sends them
    starts_each(sending, START_SUFFIX, make_batch, &renamed);
    if (has_target(sending, TARGET_KIND_COLLECTOR))
        starts_each(sending, BATCH_SUFFIX, send_batch, &waiting);
    starts_each(sending, SENTRY_SUFFIX, send_sessions, &waiting);
    return waiting;
}
