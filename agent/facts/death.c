// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/death.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/facts/kernel_log.h"
#include "agent/facts/raw_write.h"
#include "report/summary/signal_name.h"
#include "shared/signals.h"

enum {
    // Whoever asks a program to end and then kills it waits less: systemd 90 s by
    // default, Kubernetes 30 s.
    ASKED_REACH_S = 600,
    CURVE_S = 60,
    // The kernel looks at the limit once a second, and so do most keepers.
    CPU_SLACK_MS = 1000,
    STUCK_LEAST_MS = 1000, // every process waits for a disk now and then
    STUCK_REACH_MS = 5000, // before its end, as keepers look once a second
};

static const struct life_sample *last_sample(const struct death *death)
{
    const struct context_life *life = &death->life;
    return life->samples != 0 ? &life->sample[(life->samples - 1) % LIFE_SAMPLES]
                              : NULL;
}

// asked_before_ms is how long before its end the process was asked to end; UINT64_MAX:
// it was not.
static uint64_t asked_before_ms(const struct death *death)
{
    uint64_t asked = death->life.asked_realtime_ns;
    if (death->life.asked_signal == 0 || asked == 0 || asked > death->realtime_ns)
        return UINT64_MAX;
    uint64_t before_ms = (death->realtime_ns - asked) / 1000000;
    return before_ms <= ASKED_REACH_S * UINT64_C(1000) ? before_ms : UINT64_MAX;
}

static void append_mebibytes(struct text *out, uint64_t bytes)
{
    if (bytes >= UINT64_C(10) << 30)
        text_appendf(out, "%" PRIu64 " GB", bytes >> 30);
    else
        text_appendf(out, "%" PRIu64 " MB", bytes >> 20);
}

// append_used says what the process used last.
static void append_used(const struct death *death, struct text *out)
{
    const struct life_sample *last = last_sample(death);
    if (last == NULL || last->rss_bytes == 0)
        return;
    text_append_string(out, "; the process used ");
    append_mebibytes(out, last->rss_bytes);
    if (last->cgroup_bytes != 0) {
        text_append_string(out, ", its cgroup ");
        append_mebibytes(out, last->cgroup_bytes);
    }
    text_append_string(out, death->keeper != LIFE_NO_KEEPER ? "" : " when last seen");
}

// find_memory_cause finds what was full: the kernel's log says it for certain. Without
// it, a limit of the cgroup, or of one that we see above it, has been reached or not;
// a container does not see those of its pod.
static const char *find_memory_cause(const struct death *death)
{
    const struct context_life *life = &death->life;
    if (death->kernel[0] != 0)
        return strncmp(death->kernel, "Memory cgroup", 13) == 0 ? "memory-cgroup"
                                                                : "memory";
    if (life->events.oomd_kills != 0)
        return "systemd-oomd";
    return life->limit_bytes != 0 && life->events.ooms != 0 ? "memory-cgroup"
                                                            : "memory";
}

static void judge_memory(struct death *death)
{
    struct text *out = &death->summary;
    death->kind = CRASH_KIND_OUT_OF_MEMORY;
    death->cause = find_memory_cause(death);
    if (strcmp(death->cause, "systemd-oomd") == 0) {
        text_append_string(out, "Killed by systemd-oomd, which frees memory and swap");
    } else if (strcmp(death->cause, "memory-cgroup") == 0) {
        text_append_string(out, "Killed by the kernel: its memory cgroup is full");
        if (death->life.limit_bytes != 0) {
            text_append_string(out, " (limit ");
            append_mebibytes(out, death->life.limit_bytes);
            text_append_string(out, ")");
        }
    } else if (death->kernel[0] != 0) {
        text_append_string(out, "Killed by the kernel: the machine is out of memory");
    } else {
        text_append_string(out, "Killed by the kernel: the machine, or a cgroup above "
                                "its own, is out of memory");
    }
    append_used(death, out);
}

// append_service says why a service manager kills in this way.
static void append_service(struct death *death)
{
    const struct context_life *life = &death->life;
    struct text *out = &death->summary;
    bool outside = life->asked_by == LIFE_ASKED_OUTSIDE;
    if (life->service == LIFE_OF_KUBERNETES && life->asked_signal == SIGTERM && outside)
        text_append_string(out, "; so Kubernetes ends a container whose liveness probe "
                                "failed, or whose pod is deleted");
    else if (life->service == LIFE_OF_SYSTEMD && life->asked_signal == SIGTERM &&
             strcmp(life->asked_by_name, "systemd") == 0)
        text_append_string(out, "; so systemd ends a service that does not stop in its "
                                "TimeoutStopSec");
}

static void judge_asked(struct death *death, uint64_t before_ms)
{
    const struct context_life *life = &death->life;
    const char *name = signal_name(life->asked_signal);
    struct text *out = &death->summary;
    death->cause = "did-not-end";
    text_appendf(out, "Killed by SIGKILL, %" PRIu64 ".%" PRIu64 " s after %s",
                 before_ms / 1000, before_ms % 1000 / 100,
                 name != NULL ? name : "a signal");
    if (life->asked_by > 0)
        text_appendf(out, " from process %" PRId32, life->asked_by);
    else if (life->asked_by == LIFE_ASKED_OUTSIDE)
        text_append_string(out, " from outside of its container");
    if (life->asked_by_name[0] != 0)
        text_appendf(out, " (%.*s)", (int)sizeof(life->asked_by_name),
                     life->asked_by_name);
    text_append_string(out, ", which did not end it");
    append_service(death);
}

// judge_watchdog judges a service that systemd has sent SIGABRT because it did not feed
// its watchdog, and that this did not end.
static void judge_watchdog(struct death *death, uint64_t before_ms)
{
    death->kind = CRASH_KIND_WATCHDOG;
    death->cause = "did-not-end";
    text_appendf(&death->summary,
                 "Killed by SIGKILL: it did not feed systemd's watchdog, and SIGABRT, "
                 "%" PRIu64 ".%" PRIu64 " s before, did not end it",
                 before_ms / 1000, before_ms % 1000 / 100);
}

static bool is_of_watchdog(const struct context_life *life)
{
    return life->asked_signal == SIGABRT && life->asked_by == 1 &&
           strcmp(life->asked_by_name, "systemd") == 0;
}

static bool is_at_cpu_limit(const struct death *death)
{
    const struct context_life *life = &death->life;
    return life->cpu_limit_s != 0 &&
           (death->signal == SIGXCPU ||
            life->cpu_used_ms + CPU_SLACK_MS >= life->cpu_limit_s * 1000);
}

static bool is_unreported_crash(const struct death *death)
{
    return signal_in(SIGNALS_CRASH, death->signal) && !death_is_kill(death->signal);
}

// judge_cut_off judges a crash of which only the first moment is known.
static void judge_cut_off(struct death *death)
{
    const char *name = signal_name(death->signal);
    struct text *out = &death->summary;
    death->kind = CRASH_KIND_UNKNOWN;
    death->cause = "cut-off";
    text_append_string(out, "Crashed, and ended in another way");
    if (death->signal != 0)
        text_appendf(out, ", by %s,", name != NULL ? name : "a signal");
    else if (death->exit_status >= 0)
        text_appendf(out, ", with status %d,", death->exit_status);
    text_append_string(out, " before the crash was reported");
}

static void judge_signal(struct death *death)
{
    const struct context_life *life = &death->life;
    const char *name = signal_name(death->signal);
    uint64_t before_ms = asked_before_ms(death);
    if (is_at_cpu_limit(death)) {
        death->cause = "cpu-limit";
        text_appendf(&death->summary,
                     "Killed by the kernel: it used %" PRIu64 ".%" PRIu64
                     " s of processor time, and RLIMIT_CPU is %" PRIu64 " s",
                     life->cpu_used_ms / 1000, life->cpu_used_ms % 1000 / 100,
                     life->cpu_limit_s);
    } else if (before_ms != UINT64_MAX && is_of_watchdog(life)) {
        judge_watchdog(death, before_ms);
    } else if (before_ms != UINT64_MAX) {
        judge_asked(death, before_ms);
    } else if (is_unreported_crash(death)) {
        death->kind = CRASH_KIND_UNKNOWN;
        death->cause = "signal";
        text_appendf(
            &death->summary,
            "Ended by %s, which no handler could report: only the end is known",
            name != NULL ? name : "a signal");
    } else if (death->signal != 0) {
        death->cause = "signal";
        text_appendf(&death->summary, "Killed by %s, which a process sent",
                     name != NULL ? name : "a signal");
        append_used(death, &death->summary);
    } else {
        death->cause = "unseen";
        text_append_string(&death->summary,
                           "Ended without a word: by SIGKILL, by another signal that "
                           "is not reported, or by an exit past the C library");
        append_used(death, &death->summary);
    }
}

// stuck_ms is for how long the process's first thread had slept in the kernel; 0: it
// had not, or no longer than is common.
static uint64_t stuck_ms(const struct death *death)
{
    uint64_t since = death->life.stuck_since_ns;
    uint64_t seen = death->life.stuck_seen_ns;
    bool late = seen + STUCK_REACH_MS * UINT64_C(1000000) >= death->realtime_ns;
    uint64_t ms = late && since < seen ? (seen - since) / 1000000 : 0;
    return ms >= STUCK_LEAST_MS ? ms : 0;
}

static void append_stuck(struct death *death)
{
    uint64_t ms = stuck_ms(death);
    if (ms == 0)
        return;
    text_appendf(&death->summary,
                 "; its first thread had been stuck in the kernel for %" PRIu64
                 ".%" PRIu64 " s",
                 ms / 1000, ms % 1000 / 100);
    if (death->life.stuck_in[0] != 0)
        text_appendf(&death->summary, ", in %.*s", (int)sizeof(death->life.stuck_in),
                     death->life.stuck_in);
}

bool death_is_kill(int signal)
{
    return signal == SIGKILL || signal == SIGXCPU;
}

bool death_is_by_kernel(const struct death *death, uint64_t killed_before)
{
    const struct life_events *events = &death->life.events;
    return events->oom_kills + events->oomd_kills > killed_before ||
           is_at_cpu_limit(death);
}

void death_judge(struct death *death)
{
    const struct life_events *events = &death->life.events;
    if (death->exits) {
        death->cause = "exit";
        return;
    }
    bool logged = kernel_log_oom(death->pid, death->started_ns, death->kernel,
                                 sizeof(death->kernel));
    death->kind = CRASH_KIND_KILLED;
    if (death->crash_signal != 0 && !is_unreported_crash(death)) {
        judge_cut_off(death);
        return;
    }
    // A keeper has seen another end; without one, the log tells what that was.
    bool may_be_memory = death->signal == SIGKILL || death->signal == 0;
    if (may_be_memory && (logged || events->oom_kills != 0 || events->oomd_kills != 0))
        judge_memory(death);
    else
        judge_signal(death);
    append_stuck(death);
}

void death_deinit(struct death *death)
{
    text_deinit(&death->summary);
    text_deinit(&death->message);
    text_deinit(&death->said);
}

static void write_asked(struct json_writer *w, const struct death *death)
{
    uint64_t before_ms = asked_before_ms(death);
    if (before_ms == UINT64_MAX)
        return;
    json_write_key(w, "asked");
    json_write_object(w);
    raw_write_count(w, "signal", (uint64_t)death->life.asked_signal);
    raw_write_string(w, "name", signal_name(death->life.asked_signal));
    raw_write_count(w, "before_ms", before_ms);
    if (death->life.asked_by > 0)
        raw_write_count(w, "pid", (uint64_t)death->life.asked_by);
    raw_write_string(w, "by", death->life.asked_by_name);
    json_write_end(w, '}');
}

static void write_stuck(struct json_writer *w, const struct death *death)
{
    uint64_t ms = stuck_ms(death);
    if (ms == 0)
        return;
    json_write_key(w, "stuck");
    json_write_object(w);
    raw_write_count(w, "for_ms", ms);
    raw_write_string(w, "function", death->life.stuck_in);
    json_write_end(w, '}');
}

// write_death_counts writes what is not usual.
static void write_death_counts(struct json_writer *w, const struct context_life *life)
{
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        { "limit_bytes", life->limit_bytes },
        { "peak_bytes", life->peak_bytes },
        { "oom_kills", life->events.oom_kills },
        { "oom_group_kills", life->events.group_kills },
        { "limit_reached", life->events.ooms },
        { "oomd_kills", life->events.oomd_kills },
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (counts[i].value != 0)
            raw_write_count(w, counts[i].key, counts[i].value);
    }
}

void death_write(struct json_writer *w, const struct capture *capture)
{
    const struct death *death = capture->death;
    static const char *const keepers[LIFE_KEEPERS] = { [LIFE_NO_KEEPER] = "none",
                                                       [LIFE_BY_RUN] = "run",
                                                       [LIFE_BY_TRACE] = "trace",
                                                       [LIFE_BY_DAEMON] = "daemon" };
    static const char *const services[] = {
        [LIFE_OF_SYSTEMD] = "systemd", [LIFE_OF_KUBERNETES] = "kubernetes"
    };
    const struct context_life *life = &death->life;
    if (death->summary.size != 0)
        raw_write_string(w, "summary", death->summary.bytes);
    json_write_key(w, "death");
    json_write_object(w);
    raw_write_string(w, "cause", death->cause);
    raw_write_string(w, "keeper", keepers[death->keeper]);
    if (life->service != LIFE_NO_SERVICE)
        raw_write_string(w, "service", services[life->service]);
    write_death_counts(w, life);
    raw_write_string(w, "kernel", death->kernel);
    if (life->cpu_limit_s != 0) {
        raw_write_count(w, "cpu_limit_s", life->cpu_limit_s);
        raw_write_count(w, "cpu_used_ms", life->cpu_used_ms);
    }
    if ((death->exits || death->crash_signal != 0) && death->exit_status >= 0)
        raw_write_count(w, "exit_status", (uint64_t)death->exit_status);
    raw_write_words(w, capture, "stderr", death->said.bytes);
    write_asked(w, death);
    write_stuck(w, death);
    json_write_end(w, '}');
}

void death_write_memory(struct json_writer *w, const struct death *death)
{
    const struct context_life *life = &death->life;
    uint64_t first = life->samples > LIFE_SAMPLES ? life->samples - LIFE_SAMPLES : 0;
    if (life->samples == 0)
        return;
    json_write_key(w, "memory");
    json_write_array(w);
    for (uint64_t i = first; i < life->samples && i - first < LIFE_SAMPLES; i++) {
        const struct life_sample *sample = &life->sample[i % LIFE_SAMPLES];
        uint64_t before_ms = death->realtime_ns > sample->realtime_ns
                                 ? (death->realtime_ns - sample->realtime_ns) / 1000000
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
