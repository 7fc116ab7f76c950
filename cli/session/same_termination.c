// SPDX-License-Identifier: Apache-2.0
#include "cli/session/same_termination.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "report/file/report_tree.h"
#include "report/value/report.h"

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
