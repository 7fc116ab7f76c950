// SPDX-License-Identifier: Apache-2.0
#include "agent/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/facts/context.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"

// write_report captures the process and writes its report.
static enum ch_status write_report(enum ch_status take(struct capture *, pid_t),
                                   struct capture *capture, pid_t pid, struct text *out)
{
    char id[REPORT_ID_SIZE];
    const uint64_t hold_us = capture->timings.attach_us;
    struct context_page *context = calloc(1, sizeof(*context));
    report_id_make(clock_now_ms(CLOCK_REALTIME), id);
    enum ch_status status = take(capture, pid);
    if (hold_us != 0)
        capture->timings.attach_us = hold_us;
    if (status == CH_OK && context != NULL && context_find(capture, context) == CH_OK)
        capture->context = context;
    if (status == CH_OK)
        status = raw_report_write(capture, id, -1, out);
    capture->context = NULL;
    free(context);
    return status;
}

// attach_with writes the report and lets the process go.
static enum ch_status attach_with(enum ch_status take(struct capture *, pid_t),
                                  struct capture *capture, pid_t pid, struct text *out)
{
    enum ch_status status = write_report(take, capture, pid, out);
    int error = errno;
    capture_release(capture);
    capture_deinit(capture);
    errno = error;
    return status;
}

enum ch_status attach_report(pid_t pid, const struct settings *settings,
                             const char *home, struct text *out, struct text *held)
{
    struct capture capture = {
        .settings = settings,
        .held = held,
        .careful = true, // nothing but SIGKILL would end a wait for a page
        .home = settings->sanitize != SETTING_NO ? home : NULL,
    };
    return attach_with(capture_take, &capture, pid, out);
}

enum ch_status attach_look(pid_t pid, const struct settings *settings, const char *home,
                           struct text *out)
{
    struct capture capture = {
        .settings = settings,
        .home = settings->sanitize != SETTING_NO ? home : NULL,
        .memory = { .mem_fd = -1 },
        .memory_fd = -1,
    };
    return attach_with(capture_look, &capture, pid, out);
}

// copy_stopped_threads gives the capture a list of its own of the snapshot's threads.
static enum ch_status copy_stopped_threads(const struct snapshot *snapshot,
                                           struct stop *out)
{
    const struct stop *stop = &snapshot->stop;
    *out = (struct stop){ .pid = stop->pid,
                          .traced = true,
                          .count = stop->count,
                          .tasks_fd = fcntl(stop->tasks_fd, F_DUPFD_CLOEXEC, 3) };
    out->threads = calloc(stop->count + 1, sizeof(*out->threads));
    if (out->threads == NULL || out->tasks_fd < 0)
        return CH_ERR_NO_MEMORY;
    memcpy(out->threads, stop->threads, stop->count * sizeof(*out->threads));
    return CH_OK;
}

enum ch_status attach_snapshot(pid_t pid, const struct settings *settings,
                               const char *home, struct text *out, struct text *held,
                               char why[static SNAPSHOT_WHY_SIZE])
{
    enum { BUDGET_MS = 500 };
    struct snapshot snapshot;
    struct capture capture = {
        .settings = settings,
        .held = held,
        .careful = true,
        .home = settings->sanitize != SETTING_NO ? home : NULL,
        .memory = { .mem_fd = -1 },
        .memory_fd = -1,
    };
    enum ch_status status = snapshot_take(pid, BUDGET_MS, &snapshot);
    if (status == CH_OK)
        status = copy_stopped_threads(&snapshot, &capture.stop);
    if (status == CH_OK) {
        capture.dumped = snapshot.child;
        capture.timings.attach_us = snapshot.hold_us;
        facts_read_process(&capture.process, pid, pid);
        facts_read_host(&capture.host, pid, &capture.process.cgroup);
        status = write_report(capture_take, &capture, pid, out);
    }
    int error = errno;
    memcpy(why, snapshot.why, sizeof(snapshot.why));
    capture_deinit(&capture);
    snapshot_end(&snapshot);
    errno = error;
    return status;
}
