// SPDX-License-Identifier: Apache-2.0
#include "cli/core_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/core_input.h"
#include "agent/raw/raw_report.h"
#include "base/clock.h"
#include "base/system/file.h"
#include "base/system/rights.h"
#include "cli/session/command.h"
#include "cli/session/confine.h"
#include "cli/session/delivery.h"
#include "report/value/report.h"
#include "symbolizer/search/guarded_child.h"

// core_work is what the child works on.
struct core_work {
    struct core_store *store;
    struct rights owner;     // the user whose rights the core is read with
    bool owner_is_safe;      // else those of nobody are used
    struct core_input input; // its fd is negative if the core is a file
    char id[REPORT_ID_SIZE];
};

// find_owner reads the rights of the dying process. The files in /proc of a process
// that may not be dumped belong to root (proc(5)).
static void find_owner(struct core_work *work)
{
    struct stat folder;
    char path[64];
    pid_t pid = work->store->options.pid;
    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    if (pid == 0 || stat(path, &folder) != 0)
        return;
    rights_read(pid, &work->owner);
    work->owner_is_safe = !work->owner.mixed && work->owner.user != 0 &&
                          folder.st_uid == work->owner.user;
}

static bool become_owner(const struct core_work *work)
{
    if (geteuid() != 0)
        return true;
    return work->owner_is_safe ? confine_become(&work->owner) : confine_become_nobody();
}

// let_go closes the pipe: the kernel keeps the dying process until that happens.
static void let_go(int fd)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        (void)dup2(null, fd);
}

// read_core_report makes the raw report. It runs in the child.
static enum ch_status read_core_report(struct core_work *work, struct text *raw,
                                       struct text *held)
{
    struct core_store *store = work->store;
    struct core_capture core;
    enum ch_status status = CH_OK;
    if (work->input.fd >= 0)
        status = core_input_fill(&work->input, store->fd);
    if (status == CH_OK)
        status = core_capture_open(
            &core, work->input.fd >= 0 ? work->input.fd : store->fd, &store->options);
    if (status != CH_OK)
        return status;
    core.capture.held = held;
    status = raw_report_write(&core.capture, work->id, -1, raw);
    core.capture.held = NULL;
    core_capture_close(&core);
    return status;
}

// core_in_child returns the report with its names.
static enum ch_status core_in_child(void *context, int to_parent)
{
    struct core_work *work = context;
    const struct session *session = work->store->session;
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    struct text CH_CLEANUP(text_deinit) named = { 0 };
    struct report_error error;
    json_auto_t *report = NULL;
    spool_close(&work->store->session->spool);
    if (!become_owner(work))
        return CH_ERR_IO;
    confine_reader();
    enum ch_status status = read_core_report(work, &raw, &held);
    let_go(work->store->fd);
    if (status == CH_OK)
        status = report_parse(raw.bytes, raw.size, &report, &error);
    if (status != CH_OK)
        return status;
    session_symbolize(session, report);
    session_add_values(session, report, held.bytes, held.size);
    (void)json_object_set_new(report, "revision", json_integer(1));
    status = report_print_kept(report, &named);
    const struct text *best = status == CH_OK ? &named : &raw;
    return file_write_all(to_parent, best->bytes, best->size) ? CH_OK : CH_ERR_IO;
}

const char *core_store_words(enum ch_status status)
{
    switch (status) {
    case CH_ERR_MALFORMED:
        return "not a core file";
    case CH_ERR_UNSUPPORTED:
        return "a core of a machine other than x86-64 and aarch64";
    case CH_ERR_TRUNCATED:
        return "it ends inside its header";
    case CH_ERR_NO_MEMORY:
        return strerror(ENOMEM);
    default:
        return NULL;
    }
}

// core_why says why the child could not read a core.
static const char *core_why(enum ch_status status)
{
    if (status == CH_ERR_FAULT)
        return "reading it crashed";
    if (status == CH_ERR_LIMIT)
        return "reading it took too long";
    const char *words = core_store_words(status);
    return words != NULL ? words : "it cannot be read";
}

// become_finish prints and sends the report, as after any crash. It parses the report
// again, so it runs only if printing or sending was requested.
static int become_finish(const struct core_store *store, const char *id, int lock_fd)
{
    char lock[16];
    (void)snprintf(lock, sizeof(lock), "%d", lock_fd);
    // The lock must survive exec.
    (void)fcntl(lock_fd, F_SETFD, 0);
    (void)alarm(0);
    execl("/proc/self/exe", "crashhook", "finish", "--spool",
          store->session->spool_path, "--id", id, "--lock-fd", lock, (char *)NULL);
    return command_fail("cannot finish report %s: %s", id, strerror(errno));
}

static void say_nothing(void *context, const char *line)
{
    (void)context;
    (void)line;
}

// keep_report writes what the child returned to the spool, and keeps the spool within
// its limits.
static int keep_report(const struct core_work *work, const struct text *report)
{
    struct core_store *store = work->store;
    const struct settings *settings = &store->session->settings;
    struct delivery CH_CLEANUP(delivery_deinit) delivery = { 0 };
    int lock_fd = -1;
    enum ch_status status = spool_replace(&store->session->spool, work->id,
                                          report->bytes, report->size, &lock_fd);
    if (status != CH_OK)
        return command_fail("cannot write report %s to spool '%s': %s", work->id,
                            store->session->spool_path, spool_why(status));
    if (settings->url != NULL || settings->print == SETTING_YES)
        return become_finish(store, work->id, lock_fd);
    if (delivery_init(&delivery, store->session, say_nothing, NULL) == CH_OK)
        (void)delivery_prune(&delivery, work->id);
    (void)close(lock_fd);
    return COMMAND_DONE;
}

int core_store_report(struct core_store *store)
{
    struct core_work work = { .store = store, .input = { .fd = -1 } };
    struct text CH_CLEANUP(text_deinit) report = { .limit_bytes = REPORT_MAX_BYTES };
    struct process_facts facts;
    struct stat info;
    int64_t time_ms = 2 * (int64_t)store->session->settings.timeout_ms;
    find_owner(&work);
    report_id_make(clock_now_ms(CLOCK_REALTIME), work.id);
    if (fstat(store->fd, &info) != 0)
        return command_fail("cannot read '%s': %s", store->name, strerror(errno));
    if (!S_ISREG(info.st_mode) &&
        !core_input_open(store->session->spool_path, &work.input))
        return command_fail("cannot keep the core of stdin in '%s': %s",
                            store->session->spool_path, strerror(errno));
    // The kernel's facts about the process, which only we may read.
    if (store->options.pid != 0) {
        facts_read_process(&facts, store->options.pid, store->options.pid);
        store->options.facts = &facts;
    }
    struct guarded_child child;
    int64_t deadline_ms = guarded_child_now_ms() + time_ms;
    enum ch_status status =
        guarded_child_start(core_in_child, &work, deadline_ms, &child);
    if (status == CH_OK) {
        let_go(store->fd); // only the child uses it now
        status = guarded_child_finish(&child, deadline_ms, &report);
    }
    if (store->options.facts != NULL)
        facts_deinit_process(&facts);
    if (status != CH_OK || report.size == 0)
        return command_fail("cannot read '%s': %s", store->name, core_why(status));
    return keep_report(&work, &report);
}
