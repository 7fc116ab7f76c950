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

#include "base/file.h"
#include "base/text.h"
#include "handler/starts.h"
#include "report/report_id.h"
#include "upload/http.h"

#define BATCH_SUFFIX ".batch"

enum {
    DAY_DIGITS = 8,
    KEPT_DAYS = 30,
    DAY_S = 86400,
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

bool starts_read_name(const char *name, int64_t *out_day, char *out_release,
                      size_t size)
{
    const size_t prefix = strlen(START_PREFIX);
    char release[NAME_MAX_SIZE];
    if (strncmp(name, START_PREFIX, prefix) != 0 ||
        (!has_ending(name, START_SUFFIX) && !has_ending(name, BATCH_SUFFIX)))
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

// make_batch renames a file, which nobody appends to from then on but those who have
// just opened it.
static void make_batch(const struct starts_sending *sending, const char *name,
                       size_t *waiting)
{
    const struct timespec pause = { .tv_nsec = WRITER_NS };
    char batch[NAME_MAX_SIZE + REPORT_ID_SIZE + sizeof(BATCH_SUFFIX)];
    char release[NAME_MAX_SIZE];
    char id[REPORT_ID_SIZE];
    int64_t day;
    if (!starts_read_name(name, &day, release, sizeof(release)))
        return;
    report_id_make((uint64_t)time(NULL) * 1000, id);
    (void)snprintf(batch, sizeof(batch), "%.*s-%s%s",
                   (int)(strlen(name) - strlen(START_SUFFIX)), name, id, BATCH_SUFFIX);
    int folder = sending->spool->folder_fd;
    if (renameat(folder, name, folder, batch) == 0 && (*waiting)++ == 0)
        (void)nanosleep(&pause, NULL);
}

// count_records counts the starts and the ends of a batch.
static bool count_records(const struct starts_sending *sending, const char *name,
                          json_int_t *starts, json_int_t *ends)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    struct start_record record;
    int CH_CLEANUP(file_close) fd = -1;
    if (spool_open_file(sending->spool, name, &fd) != CH_OK ||
        text_read(&bytes, fd, BATCH_LIMIT_BYTES) != CH_OK)
        return false;
    for (size_t at = 0; at + sizeof(record) <= bytes.size; at += sizeof(record)) {
        memcpy(&record, bytes.bytes + at, sizeof(record));
        *starts += record.kind == START_BEGUN;
        *ends += record.kind == START_ENDED;
    }
    return true;
}

static json_t *describe_batch(const struct starts_sending *sending, const char *name)
{
    const char *id = strrchr(name, '.') - (REPORT_ID_SIZE - 1);
    char release[NAME_MAX_SIZE];
    json_int_t starts = 0;
    json_int_t ends = 0;
    struct utsname host;
    int64_t day;
    if (!starts_read_name(name, &day, release, sizeof(release)) || uname(&host) != 0 ||
        !count_records(sending, name, &starts, &ends))
        return NULL;
    return json_pack("{s:s%, s:s, s:s, s:I, s:I, s:I}", "id", id,
                     (size_t)REPORT_ID_SIZE - 1, "release", release, "host",
                     host.nodename, "day", (json_int_t)day, "starts", starts, "ends",
                     ends);
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
            all &= send_batch_to(sending, &sending->targets[i], body);
    }
    bool over = starts_read_name(name, &day, release, sizeof(release)) &&
                day + KEPT_DAYS < time(NULL) / DAY_S;
    if ((body != NULL && all) || over)
        (void)unlinkat(sending->spool->folder_fd, name, 0);
    else
        (*waiting)++;
    free(body);
}

static bool has_collector(const struct starts_sending *sending)
{
    for (size_t i = 0; i < sending->target_count; i++) {
        if (sending->targets[i].kind == TARGET_KIND_COLLECTOR)
            return true;
    }
    return false;
}

size_t starts_send(const struct starts_sending *sending)
{
    size_t renamed = 0;
    size_t waiting = 0;
    if (!has_collector(sending))
        return 0;
    int CH_CLEANUP(file_close) lock =
        openat(sending->spool->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0)
        return 0; // another process sends them
    starts_each(sending, START_SUFFIX, make_batch, &renamed);
    starts_each(sending, BATCH_SUFFIX, send_batch, &waiting);
    return waiting;
}
