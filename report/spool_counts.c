// SPDX-License-Identifier: Apache-2.0
#include "report/spool_counts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "report/report.h"

#define COUNTS_NAME "counts.json"
#define LOCK_NAME "counts.lock"

enum { COUNTS_MAX_BYTES = 1 << 20, PROGRAMS_MAX = 256 };

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}

static void drop_json(json_t *const *value)
{
    json_decref(*value);
}

// lock waits for whoever else counts; each does so for one small write.
static enum ch_status lock(const struct spool *spool, int *out_fd)
{
    int fd = openat(spool->folder_fd, LOCK_NAME,
                    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return CH_ERR_IO;
    while (flock(fd, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        close_fd(&fd);
        return CH_ERR_IO;
    }
    *out_fd = fd;
    return CH_OK;
}

// counts_read gives the counts, empty ones where the file is missing or damaged.
static json_t *counts_read(const struct spool *spool)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    int CH_CLEANUP(close_fd) fd = -1;
    json_t *counts = NULL;
    if (spool_open_file(spool, COUNTS_NAME, &fd) == CH_OK &&
        report_read_bytes(fd, COUNTS_MAX_BYTES, &bytes) == CH_OK && bytes.size != 0)
        counts = json_loadb(bytes.bytes, bytes.size, 0, NULL);
    if (!json_is_object(counts) ||
        !json_is_object(json_object_get(counts, "programs"))) {
        json_decref(counts);
        counts = json_pack("{s:{}}", "programs");
    }
    return counts;
}

static enum ch_status counts_write(const struct spool *spool, const json_t *counts)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    enum ch_status status = report_print(counts, &bytes);
    if (status != CH_OK)
        return status;
    return spool_write_file(spool, COUNTS_NAME, bytes.bytes, bytes.size);
}

static enum ch_status set_integer(json_t *object, const char *key, int64_t value)
{
    return json_object_set_new(object, key, json_integer(value)) == 0
               ? CH_OK
               : CH_ERR_NO_MEMORY;
}

// program gives the counts of one program, new ones for one not seen yet. The number of
// programs is bounded by forgetting all of them, which lets some crashes more through.
static json_t *program(json_t *counts, const char *executable)
{
    json_t *programs = json_object_get(counts, "programs");
    json_t *found = json_object_get(programs, executable);
    if (json_is_object(found))
        return found;
    if (json_object_size(programs) >= PROGRAMS_MAX)
        json_object_clear(programs);
    if (json_object_set_new(programs, executable, json_object()) != 0)
        return NULL;
    return json_object_get(programs, executable);
}

// count_crash counts one crash into the program's window of time, which starts anew
// when it is over. A crash from before the window (the clock went back) counts into it.
static enum ch_status count_crash(json_t *counts, uint64_t unix_ms,
                                  struct spool_rate rate, bool *out_admitted)
{
    int64_t start = report_integer(counts, "start_ms", 0);
    int64_t count = report_integer(counts, "count", 0);
    int64_t now = (int64_t)unix_ms;
    if (count == 0 || (now > start && (uint64_t)(now - start) >= rate.ms)) {
        start = now;
        count = 0;
    }
    bool admitted = (uint64_t)count < rate.count;
    enum ch_status status = set_integer(counts, "start_ms", start);
    if (status == CH_OK)
        status = set_integer(counts, "count", count + 1);
    if (status == CH_OK && !admitted)
        status = set_integer(counts, "held_back",
                             report_integer(counts, "held_back", 0) + 1);
    if (status == CH_OK)
        *out_admitted = admitted;
    return status;
}

enum ch_status spool_counts_admit(const struct spool *spool, const char *executable,
                                  uint64_t unix_ms, struct spool_rate rate,
                                  bool *out_admitted)
{
    int CH_CLEANUP(close_fd) fd = -1;
    bool admitted = true;
    enum ch_status status = lock(spool, &fd);
    if (status != CH_OK)
        return status;
    json_t *CH_CLEANUP(drop_json) counts = counts_read(spool);
    json_t *counted = program(counts, executable);
    if (counted == NULL)
        return CH_ERR_NO_MEMORY;
    status = count_crash(counted, unix_ms, rate, &admitted);
    if (status == CH_OK)
        status = counts_write(spool, counts);
    if (status == CH_OK)
        *out_admitted = admitted;
    return status;
}

enum ch_status spool_counts_add_dropped(const struct spool *spool, uint64_t count)
{
    int CH_CLEANUP(close_fd) fd = -1;
    enum ch_status status = lock(spool, &fd);
    if (status != CH_OK)
        return status;
    json_t *CH_CLEANUP(drop_json) counts = counts_read(spool);
    status = set_integer(counts, "dropped",
                         report_integer(counts, "dropped", 0) + (int64_t)count);
    return status == CH_OK ? counts_write(spool, counts) : status;
}

// move_count moves one count to the report, added to what it has already.
static enum ch_status move_count(json_t *from, json_t *report, const char *key)
{
    int64_t count = report_integer(from, key, 0);
    if (count <= 0)
        return CH_END;
    json_t *spool = json_object_get(report, "spool");
    if (!json_is_object(spool)) {
        if (json_object_set_new(report, "spool", json_object()) != 0)
            return CH_ERR_NO_MEMORY;
        spool = json_object_get(report, "spool");
    }
    (void)json_object_del(from, key);
    return set_integer(spool, key, report_integer(spool, key, 0) + count);
}

enum ch_status spool_counts_take(const struct spool *spool, const char *executable,
                                 json_t *report, bool *out_changed)
{
    int CH_CLEANUP(close_fd) fd = -1;
    enum ch_status status = lock(spool, &fd);
    if (status != CH_OK)
        return status;
    json_t *CH_CLEANUP(drop_json) counts = counts_read(spool);
    json_t *counted = json_object_get(json_object_get(counts, "programs"), executable);

    enum ch_status held_back = move_count(counted, report, "held_back");
    enum ch_status dropped = move_count(counts, report, "dropped");
    if (held_back == CH_ERR_NO_MEMORY || dropped == CH_ERR_NO_MEMORY)
        return CH_ERR_NO_MEMORY;
    bool changed = held_back == CH_OK || dropped == CH_OK;
    if (changed)
        status = counts_write(spool, counts);
    if (status == CH_OK)
        *out_changed = changed;
    return status;
}
