// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/render/pen.h"
#include "cli/session/collect.h"
#include "cli/session/command.h"
#include "cli/session/crash_records.h"
#include "cli/session/delivery.h"
#include "cli/session/session_spool.h"
#include "net/http.h"
#include "symbolizer/symbolization.h"
#include "upload/starts.h"

// said is what the user at the terminal sees. A target that stays down is one line,
// however often it is tried.
struct said {
    char line[1024]; // the last one printed
    struct progress progress;
};

static void say_upload_line(void *context, const char *line)
{
    struct said *said = context;
    if (strcmp(said->line, line) == 0)
        return;
    (void)snprintf(said->line, sizeof(said->line), "%s", line);
    progress_clear(&said->progress);
    (void)command_fail("%s", line);
}

static void show_upload_progress(void *context, const struct queue_step *step)
{
    struct said *said = context;
    char what[96];
    (void)snprintf(what, sizeof(what), "sending report %zu of %zu", step->index + 1,
                   step->count);
    progress_show(&said->progress, what, step->sent_bytes, step->size_bytes);
}

// ms_until is the time until the given second, at least 20 ms and at most most_ms.
static int ms_until(int64_t unix_s, int64_t most_ms)
{
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_REALTIME, &now);
    int64_t ms = (unix_s - now.tv_sec) * 1000 - now.tv_nsec / 1000000;
    ms = ms < 20 ? 20 : ms;
    return (int)(ms < most_ms ? ms : most_ms);
}

static int run_upload_pass(struct delivery *delivery, struct queue_totals *totals)
{
    crash_records_take(delivery->session);
    collect_take(delivery->session);
    struct symbolization_memo CH_CLEANUP(symbolization_memo_deinit) memo = { 0 };
    delivery->session->memo = &memo;
    enum ch_status status = queue_run(&delivery->queue, totals);
    delivery->session->memo = NULL;
    if (status != CH_OK)
        return command_fail("cannot work on spool '%s': %s",
                            delivery->session->spool_path, spool_why(status));
    const struct queue *queue = &delivery->queue;
    const struct starts_sending starts = { .spool = queue->spool,
                                           .targets = queue->targets.targets,
                                           .target_count = queue->targets.count,
                                           .token = queue->token,
                                           .timeout_ms = queue->timeout_ms };
    (void)starts_send(&starts); // what could not be sent is sent the next time
    return COMMAND_DONE;
}

static void add_totals(struct queue_totals *sum, const struct queue_totals *pass)
{
    size_t sent = sum->sent + pass->sent;
    size_t failed = sum->failed + pass->failed;
    size_t skipped = sum->skipped + pass->skipped;
    *sum = *pass;
    sum->sent = sent;
    sum->failed = failed;
    sum->skipped = skipped;
}

static int finish_upload(const struct queue_totals *totals)
{
    if (totals->busy != 0)
        fprintf(stderr, "crashhook: left %zu that another process is working on\n",
                totals->busy);
    if (totals->skipped != 0)
        fprintf(stderr, "crashhook: held back %zu past the rate of their program\n",
                totals->skipped);
    if (totals->sent != 0)
        fprintf(stderr, "crashhook: sent %zu\n", totals->sent);
    if (totals->pending != 0)
        return command_fail("%zu could not be sent and wait in the spool",
                            totals->pending);
    return totals->failed != 0 || totals->unreadable != 0 ? COMMAND_FAILED
                                                          : COMMAND_DONE;
}

// upload_now sends what waits, and retries what is due again within CRASHHOOK_TIMEOUT.
static int upload_now(struct delivery *delivery)
{
    struct queue_totals sum = { 0 };
    struct queue_totals pass = { 0 };
    int64_t deadline =
        progress_now_ms() + (int64_t)delivery->session->settings.timeout_ms;
    delivery->queue.waits_over = true;
    int result = run_upload_pass(delivery, &pass);
    delivery->queue.waits_over = false;
    add_totals(&sum, &pass);
    while (result == COMMAND_DONE && sum.pending != 0) {
        int wait = ms_until(sum.next_time, INT32_MAX - 1000) + backoff_fraction_ms();
        if (progress_now_ms() + wait >= deadline)
            break;
        (void)poll(NULL, 0, wait);
        pass = (struct queue_totals){ 0 };
        result = run_upload_pass(delivery, &pass);
        add_totals(&sum, &pass);
    }
    struct said *said = delivery->context;
    progress_clear(&said->progress);
    return result == COMMAND_DONE ? finish_upload(&sum) : result;
}

// set_alarm makes the timer fire at unix_s on the wall clock, or when that clock is
// set; 0: only when it is set.
static int set_alarm(int timer_fd, int64_t unix_s)
{
    enum { NEVER_S = 1 << 30 };
    struct timespec now = { 0 };
    (void)clock_gettime(CLOCK_REALTIME, &now);
    struct itimerspec alarm = {
        .it_value.tv_sec = unix_s != 0 ? unix_s : now.tv_sec + NEVER_S,
        .it_value.tv_nsec = backoff_fraction_ms() * 1000000L,
    };
    return timerfd_settime(timer_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                           &alarm, NULL);
}

// A watch is what wakes upload_watch.
struct watch {
    int spool_fd; // changes of the spool; -1: the machine has no watch left
    int timer_fd; // when a report is to be tried again
    int stop_fd;  // SIGTERM
    bool stopped; // it has arrived: one more pass
};

// await_change waits until the spool changes, the timer fires, SIGTERM arrives, or
// LOOK_MS have passed. false: nothing happened. Without a watch something may always
// have happened.
static bool await_change(struct watch *watch)
{
    enum { LOOK_MS = 10000, UNWATCHED_MS = 2000 };
    char events[4096];
    uint64_t expirations;
    struct pollfd ready[] = { { .fd = watch->spool_fd, .events = POLLIN },
                              { .fd = watch->timer_fd, .events = POLLIN },
                              { .fd = watch->stop_fd, .events = POLLIN } };
    if (poll(ready, 3, watch->spool_fd < 0 ? UNWATCHED_MS : LOOK_MS) <= 0)
        return watch->spool_fd < 0;
    (void)!read(watch->timer_fd, &expirations, sizeof(expirations));
    while (read(watch->spool_fd, events, sizeof(events)) > 0)
        continue;
    watch->stopped = ready[2].revents != 0;
    return true;
}

// report_is_gone is true if the folder that we have open is no longer the one at the
// spool's path.
static bool report_is_gone(const struct session *session)
{
    struct stat open;
    struct stat there;
    return fstat(session->spool.folder_fd, &open) != 0 ||
           stat(session->spool_path, &there) != 0 || open.st_ino != there.st_ino ||
           open.st_dev != there.st_dev;
}

// watch_folder makes *spool_fd report changes in the spool, which is created again if
// somebody removed it. A machine has few watches for each user: where none is left, the
// watch is closed, and the spool looked at every two seconds.
static int watch_folder(struct delivery *delivery, int *spool_fd)
{
    struct session *session = delivery->session;
    if (report_is_gone(session)) {
        spool_close(&session->spool);
        if (session_spool_open(session, SPOOL_CREATE) != CH_OK)
            return COMMAND_FAILED;
    }
    if (*spool_fd < 0)
        return COMMAND_DONE;
    if (inotify_add_watch(*spool_fd, session->spool_path,
                          IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                              IN_ONLYDIR) < 0) {
        if (errno == ENOSPC) {
            (void)close(*spool_fd);
            *spool_fd = -1;
            return COMMAND_DONE;
        }
        return command_fail("cannot watch spool '%s': %s", session->spool_path,
                            strerror(errno));
    }
    // Files that arrive there are moved to the spool; without that folder nothing is
    // missed.
    if (collect_waits(session))
        (void)inotify_add_watch(*spool_fd, SETTINGS_DROP_FOLDER,
                                IN_CLOSE_WRITE | IN_MOVED_TO | IN_ONLYDIR);
    return COMMAND_DONE;
}

static int watch_spool(struct delivery *delivery, struct watch *watch)
{
    if ((watch->spool_fd < 0 && errno != EMFILE) || watch->timer_fd < 0)
        return command_fail("cannot watch: %s", strerror(errno));
    for (;;) {
        struct queue_totals pass = { 0 };
        int result = watch_folder(delivery, &watch->spool_fd);
        if (result == COMMAND_DONE)
            result = run_upload_pass(delivery, &pass);
        if (result != COMMAND_DONE || watch->stopped)
            return result;
        (void)delivery_prune(delivery, NULL);
        if (set_alarm(watch->timer_fd, pass.next_time) != 0)
            return command_fail("cannot wait: %s", strerror(errno));
        while (!await_change(watch) && !report_is_gone(delivery->session))
            continue;
    }
}

// upload_watch sends reports as they arrive, until it is stopped. A report is ready
// when its writer closes it, which the kernel does for a writer that was killed. A
// container's first process ignores SIGTERM unless it asks for it, and a sidecar gets
// it when the program that crashed has ended: what is there then is still sent.
static int upload_watch(struct delivery *delivery)
{
    sigset_t stop;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    struct watch watch = { .stop_fd = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK),
                           .timer_fd = timerfd_create(CLOCK_REALTIME,
                                                      TFD_CLOEXEC | TFD_NONBLOCK),
                           .spool_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK) };
    int result = watch_spool(delivery, &watch);
    if (watch.spool_fd >= 0)
        (void)close(watch.spool_fd);
    (void)close(watch.timer_fd);
    (void)close(watch.stop_fd);
    return result;
}

static int run_upload(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct delivery CH_CLEANUP(delivery_deinit) delivery = { 0 };
    struct said said = { .line = "" };
    progress_init(&said.progress);
    session_init(&session, options);
    if (session.settings.url == NULL)
        return command_fail("cannot upload: neither --url nor CRASHHOOK_URL names a "
                            "target");
    // A watcher may start before the first crash.
    bool watch = options_given(options, "watch");
    if (session_spool_open(&session, watch ? SPOOL_CREATE : SPOOL_WRITE) != CH_OK ||
        delivery_init(&delivery, &session, say_upload_line, &said) != CH_OK)
        return COMMAND_FAILED;
    if (delivery.queue.targets.count == 0)
        return COMMAND_FAILED;
    if (watch)
        return upload_watch(&delivery);
    delivery.progress = show_upload_progress;
    int result = upload_now(&delivery);
    (void)delivery_prune(&delivery, NULL);
    return result;
}

static const struct option upload_options[] = {
    { "spool", "DIR", "the spool (as CRASHHOOK_SPOOL)", 0 },
    { "url", "URL", "where to send them (as CRASHHOOK_URL)", 0 },
    { "token-file", "FILE", "file with the collector's token", 0 },
    { "watch", NULL, "go on and send reports as they come", 0 },
    { 0 },
};

const struct command upload_command = {
    .name = "upload",
    .summary = "Send the reports that wait in the spool",
    .options = upload_options,
    .run = run_upload,
};
