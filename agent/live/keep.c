// SPDX-License-Identifier: Apache-2.0
#include "agent/live/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/live/facts.h"
#include "base/clock.h"
#include "images/read_file.h"

enum { KEEP_FILE_BYTES = 16 << 10, PAUSE_FIRST_MS = 8, PAUSE_MAX_MS = 1000 };

// The signals that request a process to end. systemd's watchdog sends SIGABRT.
static const int asking[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGABRT };

static enum liveness_service find_service(void)
{
    if (getenv("KUBERNETES_SERVICE_HOST") != NULL)
        return LIVENESS_OF_KUBERNETES;
    return getenv("INVOCATION_ID") != NULL ? LIVENESS_OF_SYSTEMD : LIVENESS_NO_SERVICE;
}

void keep_begin(struct keep *keep, pid_t pid, enum liveness_supervisor as)
{
    struct process_facts own;
    facts_read_process(&own, getpid(), getpid());
    *keep = (struct keep){ .liveness = { .supervisor = getpid(),
                                         .supervisor_start = own.start_ticks,
                                         .supervisor_is = as,
                                         .service = find_service() } };
    facts_deinit_process(&own);
    usage_open(&keep->usage, pid);
    usage_events(&keep->usage, &keep->before);
}

uint64_t keep_pause_ms(uint64_t pause_ms)
{
    if (pause_ms == 0)
        return PAUSE_FIRST_MS;
    return 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
}

// keep_number_after is the number, in base, after the word in /proc/PID/status.
static uint64_t keep_number_after(const char *text, const char *word, int base)
{
    const char *at = strstr(text, word);
    return at != NULL ? strtoull(at + strlen(word), NULL, base) : 0;
}

void keep_parse_status(const char *status, struct context_liveness *liveness)
{
    uint64_t pending = keep_number_after(status, "\nSigPnd:", 16) |
                       keep_number_after(status, "\nShdPnd:", 16);
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++) {
        if (liveness->asked_signal != 0 || (pending >> (asking[i] - 1) & 1) == 0)
            continue;
        liveness->asked_signal = asking[i];
        liveness->asked_realtime_ns = clock_now_ns(CLOCK_REALTIME);
    }
}

static void look_at_pending(pid_t pid, struct context_liveness *liveness)
{
    struct text CH_CLEANUP(text_deinit) status = { 0 };
    if (read_process_file(pid, "status", KEEP_FILE_BYTES, &status) == CH_OK &&
        status.size != 0)
        keep_parse_status(status.bytes, liveness);
}

// read_kernel_function reads the function of the kernel that the process's first thread
// sleeps in. It is "0" where we may not know.
static void read_kernel_function(pid_t pid, char *out, size_t size)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    out[0] = 0;
    if (read_process_file(pid, "wchan", size - 1, &name) != CH_ERR_IO && name.size > 1)
        (void)snprintf(out, size, "%s", name.bytes);
}

// keep_state is the state letter of the process's first thread; 0: it has ended.
static char keep_state(pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) stat = { 0 };
    if (read_process_file(pid, "stat", KEEP_FILE_BYTES, &stat) != CH_OK ||
        stat.size == 0)
        return 0;
    // The command before the bracket may hold brackets of its own.
    const char *bracket = strrchr(stat.bytes, ')');
    char state = bracket != NULL && bracket[1] == ' ' ? bracket[2] : 0;
    return state != 'Z' && state != 'X' ? state : 0;
}

// note_state notes whether the process's first thread sleeps uninterruptibly. One that
// no longer does may be exiting, so the earlier state counts until the next look.
static void note_state(struct keep *keep, char state)
{
    struct context_liveness *liveness = &keep->liveness;
    if (keep->freed)
        liveness->stuck_since_ns = 0;
    keep->freed = state != 'D';
    if (keep->freed)
        return;
    liveness->stuck_seen_ns = clock_now_ns(CLOCK_REALTIME);
    if (liveness->stuck_since_ns == 0)
        liveness->stuck_since_ns = liveness->stuck_seen_ns;
    read_kernel_function(keep->usage.pid, liveness->stuck_in,
                         sizeof(liveness->stuck_in));
    look_at_pending(keep->usage.pid, liveness);
}

// read_processor_time reads the limit and the use of the processor's time, of a process
// that has ended and is not reaped as well.
static void read_processor_time(pid_t pid, struct context_liveness *liveness)
{
    struct rlimit limit;
    clockid_t clock;
    if (prlimit(pid, RLIMIT_CPU, NULL, &limit) != 0)
        return;
    liveness->cpu_limit_s = limit.rlim_max != RLIM_INFINITY ? limit.rlim_max : 0;
    if (liveness->cpu_limit_s != 0 && clock_getcpuclockid(pid, &clock) == 0 &&
        clock_now_ms(clock) > liveness->cpu_used_ms)
        liveness->cpu_used_ms = clock_now_ms(clock);
}

void keep_follow(struct keep *keep)
{
    if (usage_follow(&keep->usage))
        usage_events(&keep->usage, &keep->before);
}

void keep_look(struct keep *keep)
{
    const pid_t pid = keep->usage.pid;
    char state = keep_state(pid);
    if (state == 0)
        return; // that is its end, and the samples are to say how it was before
    keep_follow(keep);
    usage_sample(&keep->usage, 0, &keep->liveness);
    note_state(keep, state);
    read_processor_time(pid, &keep->liveness);
}

// name_asker looks up the name of the sender, if that process still exists.
static void name_asker(struct context_liveness *liveness)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    liveness->asked_by_name[0] = 0;
    if (liveness->asked_by > 0 &&
        read_process_file(liveness->asked_by, "comm", sizeof(liveness->asked_by_name),
                          &name) == CH_OK &&
        name.size > 1)
        (void)snprintf(liveness->asked_by_name, sizeof(liveness->asked_by_name), "%.*s",
                       (int)strcspn(name.bytes, "\n"), name.bytes);
}

bool keep_asked(struct keep *keep, int signal, const siginfo_t *info)
{
    struct context_liveness *liveness = &keep->liveness;
    bool asks = false;
    for (size_t i = 0; i < sizeof(asking) / sizeof(asking[0]); i++)
        asks |= asking[i] == signal;
    bool sent = info->si_code <= 0; // else the kernel itself has
    if (!asks || (sent && info->si_pid == keep->usage.pid))
        return false;
    liveness->asked_signal = signal;
    liveness->asked_realtime_ns = clock_now_ns(CLOCK_REALTIME);
    liveness->asked_by = !sent               ? 0
                         : info->si_pid != 0 ? info->si_pid
                                             : LIVENESS_ASKED_OUTSIDE;
    name_asker(liveness);
    return true;
}

void keep_note_sender(struct context_liveness *liveness,
                      const struct context_liveness *told)
{
    if (told->told_signal <= 0 || told->told_signal > SIGRTMAX ||
        told->told_realtime_ns <= liveness->asked_realtime_ns)
        return;
    // The supervisor that passes a signal on knows its sender better.
    bool passed_on = liveness->asked_signal == told->told_signal &&
                     liveness->supervisor == told->told_by;
    liveness->asked_realtime_ns = told->told_realtime_ns;
    if (passed_on)
        return;
    liveness->asked_signal = told->told_signal;
    liveness->asked_by = told->told_by;
    name_asker(liveness);
}

void keep_end(struct keep *keep, int signal)
{
    struct context_liveness *liveness = &keep->liveness;
    usage_events(&keep->usage, &liveness->events);
    usage_events_since(&keep->before, &liveness->events);
    if (keep->usage.folder[0] != 0)
        usage_limits(&keep->usage, liveness);
    read_processor_time(keep->usage.pid, liveness);
    liveness->end_signal = signal;
    liveness->end_realtime_ns = clock_now_ns(CLOCK_REALTIME);
}
