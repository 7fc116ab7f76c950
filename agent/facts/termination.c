// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/termination.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/types.h>

#include "agent/facts/raw_write.h"
#include "report/summary/signal_name.h"
#include "shared/signals.h"

enum {
    READ_ALL = 3, // SYSLOG_ACTION_READ_ALL, which no header defines
    LOG_BYTES = 256 << 10,
};

// line_time_ns is the time in the brackets of "<6>[  123.456789] ...".
static uint64_t line_time_ns(const char *line)
{
    char *end = NULL;
    const char *open = strchr(line, '[');
    uint64_t seconds = open != NULL ? strtoull(open + 1, &end, 10) : 0;
    uint64_t micros = end != NULL && *end == '.' ? strtoull(end + 1, NULL, 10) : 0;
    return seconds * 1000000000 + micros * 1000;
}

bool kernel_log_find_oom(const char *log, pid_t pid, uint64_t since_ns, char *out,
                         size_t size)
{
    // The words of __oom_kill_process() in the kernel.
    char word[48];
    bool found = false;
    (void)snprintf(word, sizeof(word), "Killed process %d (", pid);
    for (const char *line = log; *line != 0; line += line[0] == '\n') {
        const char *end = line + strcspn(line, "\n");
        const char *at = strstr(line, word);
        const char *text = memchr(line, ']', (size_t)(end - line));
        if (at == NULL)
            break;
        if (at < end && text != NULL && line_time_ns(line) >= since_ns) {
            text += strspn(text, "] ");
            (void)snprintf(out, size, "%.*s", (int)(end - text), text);
            found = true;
        }
        line = end;
    }
    return found;
}

// kernel_log_oom copies the last line by which the kernel said that it killed process
// pid for memory since since_ns (of CLOCK_BOOTTIME), without its time. False: there is
// none, or the log cannot be read.
static bool kernel_log_oom(pid_t pid, uint64_t since_ns, char *out, size_t size)
{
    char *log = malloc(LOG_BYTES);
    int count = log != NULL ? klogctl(READ_ALL, log, LOG_BYTES - 1) : -1;
    bool found = false;
    if (count > 0) {
        log[count] = 0;
        found = kernel_log_find_oom(log, pid, since_ns, out, size);
    }
    free(log);
    return found;
}

enum {
    // Whoever asks a program to end and then kills it waits less: systemd 90 s by
    // default, Kubernetes 30 s.
    ASKED_REACH_S = 600,
    CURVE_S = 60,
    // The kernel looks at the limit once a second, and so do most supervisors.
    CPU_SLACK_MS = 1000,
    STUCK_LEAST_MS = 1000, // every process waits for a disk now and then
    STUCK_REACH_MS = 5000, // before its end, as supervisors look once a second
};

static const struct liveness_sample *last_sample(const struct termination *termination)
{
    const struct context_liveness *liveness = &termination->liveness;
    return liveness->samples != 0
               ? &liveness->sample[(liveness->samples - 1) % LIVENESS_SAMPLES]
               : NULL;
}

// sample_logged makes the size at which the kernel says that it killed the process the
// last sample: its memory is emptied soon after, and may be before it is looked at.
static void sample_logged(struct termination *termination)
{
    struct context_liveness *liveness = &termination->liveness;
    const struct liveness_sample *last = last_sample(termination);
    const char *at = strrchr(termination->kernel, ')'); // after the process's name
    uint64_t kib = 0;
    while (at != NULL && (at = strstr(at, "-rss:")) != NULL)
        kib += strtoull(at += strlen("-rss:"), NULL, 10);
    if (kib == 0)
        return;
    if (last == NULL || last->realtime_ns < termination->realtime_ns)
        liveness->sample[liveness->samples++ % LIVENESS_SAMPLES] =
            (struct liveness_sample){ .realtime_ns = termination->realtime_ns };
    liveness->sample[(liveness->samples - 1) % LIVENESS_SAMPLES].rss_bytes = kib << 10;
}

// asked_before_ms is how long before its end the process was asked to end; UINT64_MAX:
// it was not.
static uint64_t asked_before_ms(const struct termination *termination)
{
    uint64_t asked = termination->liveness.asked_realtime_ns;
    if (termination->liveness.asked_signal == 0 || asked == 0 ||
        asked > termination->realtime_ns)
        return UINT64_MAX;
    uint64_t before_ms = (termination->realtime_ns - asked) / 1000000;
    return before_ms <= ASKED_REACH_S * UINT64_C(1000) ? before_ms : UINT64_MAX;
}

static void append_mebibytes(struct text *out, uint64_t bytes)
{
    if (bytes >= UINT64_C(10) << 30)
        text_appendf(out, "%" PRIu64 " GB", bytes >> 30);
    else
        text_appendf(out, "%" PRIu64 " MB", bytes >> 20);
}

// append_used reports what the process used last.
static void append_used(const struct termination *termination, struct text *out)
{
    const struct liveness_sample *last = last_sample(termination);
    if (last == NULL || last->rss_bytes == 0)
        return;
    text_append_string(out, "; the process used ");
    append_mebibytes(out, last->rss_bytes);
    if (last->cgroup_bytes != 0) {
        text_append_string(out, ", its cgroup ");
        append_mebibytes(out, last->cgroup_bytes);
    }
    text_append_string(
        out, termination->supervisor != LIVENESS_NO_KEEPER ? "" : " when last seen");
}

// find_memory_cause finds what was full: the kernel's log says it for certain. Without
// it, a limit of the cgroup, or of one that we see above it, has been reached or not;
// a container does not see those of its pod.
static const char *find_memory_cause(const struct termination *termination)
{
    const struct context_liveness *liveness = &termination->liveness;
    if (termination->kernel[0] != 0)
        return strncmp(termination->kernel, "Memory cgroup", 13) == 0 ? "memory-cgroup"
                                                                      : "memory";
    if (liveness->events.oomd_kills != 0)
        return "systemd-oomd";
    return liveness->limit_bytes != 0 && liveness->events.ooms != 0 ? "memory-cgroup"
                                                                    : "memory";
}

static void judge_memory(struct termination *termination)
{
    struct text *out = &termination->summary;
    termination->kind = CRASH_KIND_OUT_OF_MEMORY;
    termination->cause = find_memory_cause(termination);
    if (strcmp(termination->cause, "systemd-oomd") == 0) {
        text_append_string(out, "Killed by systemd-oomd, which frees memory and swap");
    } else if (strcmp(termination->cause, "memory-cgroup") == 0) {
        text_append_string(out, "Killed by the kernel: its memory cgroup is full");
        if (termination->liveness.limit_bytes != 0) {
            text_append_string(out, " (limit ");
            append_mebibytes(out, termination->liveness.limit_bytes);
            text_append_string(out, ")");
        }
    } else if (termination->kernel[0] != 0) {
        text_append_string(out, "Killed by the kernel: the machine is out of memory");
    } else {
        text_append_string(out, "Killed by the kernel: the machine, or a cgroup above "
                                "its own, is out of memory");
    }
    append_used(termination, out);
}

// append_service reports why a service manager kills in this way.
static void append_service(struct termination *termination)
{
    const struct context_liveness *liveness = &termination->liveness;
    struct text *out = &termination->summary;
    bool outside = liveness->asked_by == LIVENESS_ASKED_OUTSIDE;
    if (liveness->service == LIVENESS_OF_KUBERNETES &&
        liveness->asked_signal == SIGTERM && outside)
        text_append_string(out, "; so Kubernetes ends a container whose liveness probe "
                                "failed, or whose pod is deleted");
    else if (liveness->service == LIVENESS_OF_SYSTEMD &&
             liveness->asked_signal == SIGTERM &&
             strcmp(liveness->asked_by_name, "systemd") == 0)
        text_append_string(out, "; so systemd ends a service that does not stop in its "
                                "TimeoutStopSec");
}

static void judge_asked(struct termination *termination, uint64_t before_ms)
{
    const struct context_liveness *liveness = &termination->liveness;
    const char *name = signal_name(liveness->asked_signal);
    struct text *out = &termination->summary;
    termination->cause = "did-not-end";
    text_appendf(out, "Killed by SIGKILL, %" PRIu64 ".%" PRIu64 " s after %s",
                 before_ms / 1000, before_ms % 1000 / 100,
                 name != NULL ? name : "a signal");
    if (liveness->asked_by > 0)
        text_appendf(out, " from process %" PRId32, liveness->asked_by);
    else if (liveness->asked_by == LIVENESS_ASKED_OUTSIDE)
        text_append_string(out, " from outside of its container");
    if (liveness->asked_by_name[0] != 0)
        text_appendf(out, " (%.*s)", (int)sizeof(liveness->asked_by_name),
                     liveness->asked_by_name);
    text_append_string(out, ", which did not end it");
    append_service(termination);
}

// judge_watchdog judges a service that systemd has sent SIGABRT because it did not feed
// its watchdog, and that this did not end.
static void judge_watchdog(struct termination *termination, uint64_t before_ms)
{
    termination->kind = CRASH_KIND_WATCHDOG;
    termination->cause = "did-not-end";
    text_appendf(&termination->summary,
                 "Killed by SIGKILL: it did not feed systemd's watchdog, and SIGABRT, "
                 "%" PRIu64 ".%" PRIu64 " s before, did not end it",
                 before_ms / 1000, before_ms % 1000 / 100);
}

static bool is_of_watchdog(const struct context_liveness *liveness)
{
    return liveness->asked_signal == SIGABRT && liveness->asked_by == 1 &&
           strcmp(liveness->asked_by_name, "systemd") == 0;
}

static bool is_at_cpu_limit(const struct termination *termination)
{
    const struct context_liveness *liveness = &termination->liveness;
    return liveness->cpu_limit_s != 0 &&
           (termination->signal == SIGXCPU ||
            liveness->cpu_used_ms + CPU_SLACK_MS >= liveness->cpu_limit_s * 1000);
}

// An unhandled is a signal that ends a program which has no handler for it, although
// nobody wanted it to end: a limit, or a timer that the program has set itself.
static const struct unhandled {
    int signal;
    const char *cause;
    const char *text; // of the summary
} unhandled[] = {
    { SIGXFSZ, "file-size-limit",
      "which the kernel sends where a file would grow past the limit of RLIMIT_FSIZE" },
    { SIGALRM, "timer",
      "which alarm or a timer sends when its time is over: no handler was installed" },
    { SIGVTALRM, "timer",
      "which a timer sends after that much processor time of the program: no handler "
      "was installed" },
    { SIGPROF, "timer",
      "which a profiler's timer sends: no handler was installed, or not any more" },
};

static const struct unhandled *unhandled_of(int signal)
{
    for (size_t i = 0; i < sizeof(unhandled) / sizeof(unhandled[0]); i++)
        if (unhandled[i].signal == signal)
            return &unhandled[i];
    return NULL;
}

static bool is_unreported_crash(const struct termination *termination)
{
    return signal_in(SIGNALS_CRASH, termination->signal) &&
           !termination_is_kill(termination->signal);
}

// judge_cut_off judges a crash of which only the first moment is known.
static void judge_cut_off(struct termination *termination)
{
    const char *name = signal_name(termination->signal);
    struct text *out = &termination->summary;
    termination->kind = CRASH_KIND_UNKNOWN;
    termination->cause = "cut-off";
    text_append_string(out, "Crashed, and ended in another way");
    if (termination->signal != 0)
        text_appendf(out, ", by %s,", name != NULL ? name : "a signal");
    else if (termination->exit_status >= 0)
        text_appendf(out, ", with status %d,", termination->exit_status);
    text_append_string(out, " before the crash was reported");
}

static void judge_signal(struct termination *termination)
{
    const struct context_liveness *liveness = &termination->liveness;
    const char *name = signal_name(termination->signal);
    const struct unhandled *row = unhandled_of(termination->signal);
    uint64_t before_ms = asked_before_ms(termination);
    if (row != NULL) {
        termination->cause = row->cause;
        text_appendf(&termination->summary, "Ended by %s, %s",
                     name != NULL ? name : "a signal", row->text);
    } else if (is_at_cpu_limit(termination)) {
        termination->cause = "cpu-limit";
        text_appendf(&termination->summary,
                     "Killed by the kernel%s: its processor time came to a limit of "
                     "RLIMIT_CPU, whose hard limit is %" PRIu64 " s",
                     termination->signal == SIGXCPU ? " with SIGXCPU" : "",
                     liveness->cpu_limit_s);
    } else if (before_ms != UINT64_MAX && is_of_watchdog(liveness)) {
        judge_watchdog(termination, before_ms);
    } else if (before_ms != UINT64_MAX) {
        judge_asked(termination, before_ms);
    } else if (is_unreported_crash(termination)) {
        termination->kind = CRASH_KIND_UNKNOWN;
        termination->cause = "signal";
        text_appendf(
            &termination->summary,
            "Ended by %s, which no handler could report: only the end is known",
            name != NULL ? name : "a signal");
    } else if (termination->signal != 0) {
        termination->cause = "signal";
        text_appendf(&termination->summary, "Killed by %s, which a process sent",
                     name != NULL ? name : "a signal");
        append_used(termination, &termination->summary);
    } else {
        termination->cause = "unseen";
        text_append_string(&termination->summary,
                           "Ended without a word: by SIGKILL, by another signal that "
                           "is not reported, or by an exit past the C library");
        append_used(termination, &termination->summary);
    }
}

// stuck_ms is for how long the process's first thread had slept in the kernel; 0: it
// had not, or no longer than is common.
static uint64_t stuck_ms(const struct termination *termination)
{
    uint64_t since = termination->liveness.stuck_since_ns;
    uint64_t seen = termination->liveness.stuck_seen_ns;
    bool late = seen + STUCK_REACH_MS * UINT64_C(1000000) >= termination->realtime_ns;
    // since is 0 once it was seen awake.
    uint64_t ms = late && since != 0 && since < seen ? (seen - since) / 1000000 : 0;
    return ms >= STUCK_LEAST_MS ? ms : 0;
}

static void append_stuck(struct termination *termination)
{
    uint64_t ms = stuck_ms(termination);
    if (ms == 0)
        return;
    text_appendf(&termination->summary,
                 "; its first thread had been stuck in the kernel for %" PRIu64
                 ".%" PRIu64 " s",
                 ms / 1000, ms % 1000 / 100);
    if (termination->liveness.stuck_in[0] != 0)
        text_appendf(&termination->summary, ", in %.*s",
                     (int)sizeof(termination->liveness.stuck_in),
                     termination->liveness.stuck_in);
}

bool termination_is_kill(int signal)
{
    return signal == SIGKILL || signal == SIGXCPU || unhandled_of(signal) != NULL;
}

bool termination_is_by_kernel(const struct termination *termination,
                              uint64_t killed_before)
{
    const struct liveness_events *events = &termination->liveness.events;
    return events->oom_kills + events->oomd_kills > killed_before ||
           is_at_cpu_limit(termination);
}

void termination_judge(struct termination *termination)
{
    const struct liveness_events *events = &termination->liveness.events;
    if (termination->exits) {
        termination->cause = "exit";
        return;
    }
    bool logged = kernel_log_oom(termination->pid, termination->started_ns,
                                 termination->kernel, sizeof(termination->kernel));
    if (logged)
        sample_logged(termination);
    termination->kind = CRASH_KIND_KILLED;
    if (termination->crash_signal != 0 && !is_unreported_crash(termination)) {
        judge_cut_off(termination);
        return;
    }
    // A supervisor has seen another end; without one, the log tells what that was.
    bool may_be_memory = termination->signal == SIGKILL || termination->signal == 0;
    if (may_be_memory && (logged || events->oom_kills != 0 || events->oomd_kills != 0))
        judge_memory(termination);
    else
        judge_signal(termination);
    append_stuck(termination);
}

void termination_deinit(struct termination *termination)
{
    text_deinit(&termination->summary);
    text_deinit(&termination->message);
    text_deinit(&termination->said);
}

static void write_asked(struct json_writer *w, const struct termination *termination)
{
    uint64_t before_ms = asked_before_ms(termination);
    if (before_ms == UINT64_MAX)
        return;
    json_write_key(w, "asked");
    json_write_object(w);
    raw_write_count(w, "signal", (uint64_t)termination->liveness.asked_signal);
    raw_write_string(w, "name", signal_name(termination->liveness.asked_signal));
    raw_write_count(w, "before_ms", before_ms);
    if (termination->liveness.asked_by > 0)
        raw_write_count(w, "pid", (uint64_t)termination->liveness.asked_by);
    raw_write_string(w, "by", termination->liveness.asked_by_name);
    json_write_end(w, '}');
}

static void write_stuck(struct json_writer *w, const struct termination *termination)
{
    uint64_t ms = stuck_ms(termination);
    if (ms == 0)
        return;
    json_write_key(w, "stuck");
    json_write_object(w);
    raw_write_count(w, "for_ms", ms);
    raw_write_string(w, "function", termination->liveness.stuck_in);
    json_write_end(w, '}');
}

// write_termination_counts writes what is not usual.
static void write_termination_counts(struct json_writer *w,
                                     const struct context_liveness *liveness)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        { "limit_bytes", liveness->limit_bytes },
        { "peak_bytes", liveness->peak_bytes },
        { "oom_kills", liveness->events.oom_kills },
        { "oom_group_kills", liveness->events.group_kills },
        { "limit_reached", liveness->events.ooms },
        { "oomd_kills", liveness->events.oomd_kills },
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i].value != 0)
            raw_write_count(w, counts[i].key, counts[i].value);
    }
}

void termination_write(struct json_writer *w, const struct capture *capture)
{
    const struct termination *termination = capture->termination;
    static const char *const supervisors[LIVENESS_KEEPERS] = {
        [LIVENESS_NO_KEEPER] = "none",
        [LIVENESS_BY_RUN] = "run",
        [LIVENESS_BY_TRACE] = "trace",
        [LIVENESS_BY_DAEMON] = "daemon"
    };
    static const char *const services[] = {
        [LIVENESS_OF_SYSTEMD] = "systemd", [LIVENESS_OF_KUBERNETES] = "kubernetes"
    };
    const struct context_liveness *liveness = &termination->liveness;
    if (termination->summary.size != 0)
        raw_write_string(w, "summary", termination->summary.bytes);
    json_write_key(w, "death");
    json_write_object(w);
    raw_write_string(w, "cause", termination->cause);
    raw_write_string(w, "keeper", supervisors[termination->supervisor]);
    if (liveness->service != LIVENESS_NO_SERVICE)
        raw_write_string(w, "service", services[liveness->service]);
    write_termination_counts(w, liveness);
    raw_write_string(w, "kernel", termination->kernel);
    if (liveness->cpu_limit_s != 0) {
        raw_write_count(w, "cpu_limit_s", liveness->cpu_limit_s);
        raw_write_count(w, "cpu_used_ms", liveness->cpu_used_ms);
    }
    if ((termination->exits || termination->crash_signal != 0) &&
        termination->exit_status >= 0)
        raw_write_count(w, "exit_status", (uint64_t)termination->exit_status);
    raw_write_words(w, capture, "stderr", termination->said.bytes);
    write_asked(w, termination);
    write_stuck(w, termination);
    json_write_end(w, '}');
}

void termination_write_memory(struct json_writer *w,
                              const struct termination *termination)
{
    const struct context_liveness *liveness = &termination->liveness;
    uint64_t first =
        liveness->samples > LIVENESS_SAMPLES ? liveness->samples - LIVENESS_SAMPLES : 0;
    if (liveness->samples == 0)
        return;
    json_write_key(w, "memory");
    json_write_array(w);
    for (uint64_t i = first; i < liveness->samples && i - first < LIVENESS_SAMPLES;
         i++) {
        const struct liveness_sample *sample = &liveness->sample[i % LIVENESS_SAMPLES];
        uint64_t before_ms =
            termination->realtime_ns > sample->realtime_ns
                ? (termination->realtime_ns - sample->realtime_ns) / 1000000
                : 0;
        if (sample->realtime_ns == 0 || before_ms > CURVE_S * UINT64_C(1000))
            continue;
        json_write_object(w);
        raw_write_count(w, "before_ms", before_ms);
        raw_write_count(w, "rss_bytes", sample->rss_bytes);
        if (sample->cgroup_bytes != 0)
            raw_write_count(w, "cgroup_bytes", sample->cgroup_bytes);
        if (sample->some_waited != 0)
            raw_write_count(w, "waited_percent", (sample->some_waited + 99) / 100);
        if (sample->all_waited != 0)
            raw_write_count(w, "all_waited_percent", (sample->all_waited + 99) / 100);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}
