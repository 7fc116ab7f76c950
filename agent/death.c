// SPDX-License-Identifier: Apache-2.0
#include "agent/death.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/images/read_file.h"
#include "agent/live/kernel_log.h"
#include "agent/raw_write.h"
#include "report/signal_name.h"

enum {
    // Whoever asks a program to end and then kills it waits less: systemd 90 s by
    // default, Kubernetes 30 s.
    ASKED_REACH_S = 600,
    CURVE_S = 60,
    CPU_SLACK_MS = 1000, // the kernel looks at the limit once a second
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
    text_append_string(out, death->keeper != DEATH_NO_KEEPER ? "" : " when last seen");
}

static void judge_memory(struct death *death, bool whole_machine)
{
    struct text *out = &death->summary;
    death->kind = "out-of-memory";
    death->cause = whole_machine ? "memory" : "memory-cgroup";
    text_append_string(out, "Killed by the kernel: ");
    text_append_string(out, whole_machine ? "the machine is out of memory"
                                          : "its memory cgroup is full");
    if (!whole_machine && death->life.limit_bytes != 0) {
        text_append_string(out, " (limit ");
        append_mebibytes(out, death->life.limit_bytes);
        text_append_string(out, ")");
    }
    append_used(death, out);
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
    if (life->asked_by != 0)
        text_appendf(out, " from process %" PRId32, life->asked_by);
    if (death->asked_by[0] != 0)
        text_appendf(out, " (%s)", death->asked_by);
    text_append_string(out, ", which did not end it");
}

static void judge_signal(struct death *death)
{
    const char *name = signal_name(death->signal);
    uint64_t before_ms = asked_before_ms(death);
    if (death->cpu_limit_s != 0 &&
        (death->signal == SIGXCPU ||
         death->cpu_used_ms + CPU_SLACK_MS >= death->cpu_limit_s * 1000)) {
        death->cause = "cpu-limit";
        text_appendf(&death->summary,
                     "Killed by the kernel: it used %" PRIu64 ".%" PRIu64
                     " s of processor time, and RLIMIT_CPU is %" PRIu64 " s",
                     death->cpu_used_ms / 1000, death->cpu_used_ms % 1000 / 100,
                     death->cpu_limit_s);
    } else if (before_ms != UINT64_MAX) {
        judge_asked(death, before_ms);
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

void death_judge(struct death *death)
{
    if (death->exits) {
        death->cause = "exit";
        return;
    }
    bool logged = kernel_log_oom(death->pid, death->started_ns, death->kernel,
                                 sizeof(death->kernel));
    bool in_cgroup = logged && strncmp(death->kernel, "Memory cgroup", 13) == 0;
    death->kind = "killed";
    // A keeper has seen another end; without one, the log tells what that was.
    bool may_be_memory = death->signal == SIGKILL || death->keeper == DEATH_NO_KEEPER;
    if (may_be_memory && (logged || death->oom_kills != 0))
        judge_memory(death, logged && !in_cgroup);
    else
        judge_signal(death);
}

void death_deinit(struct death *death)
{
    text_deinit(&death->summary);
    text_deinit(&death->message);
    text_deinit(&death->said);
}

void death_ask_name(struct death *death)
{
    struct text name = { 0 };
    if (death->life.asked_by > 0 &&
        read_process_file(death->life.asked_by, "comm", sizeof(death->asked_by),
                          &name) == CH_OK &&
        name.size > 1)
        (void)snprintf(death->asked_by, sizeof(death->asked_by), "%.*s",
                       (int)strcspn(name.bytes, "\n"), name.bytes);
    text_deinit(&name);
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
    raw_write_string(w, "by", death->asked_by);
    json_write_end(w, '}');
}

void death_write(struct json_writer *w, const struct capture *capture)
{
    const struct death *death = capture->death;
    static const char *const keepers[] = {
        [DEATH_NO_KEEPER] = "none", [DEATH_BY_RUN] = "run", [DEATH_BY_TRACE] = "trace"
    };
    if (death->summary.size != 0)
        raw_write_string(w, "summary", death->summary.bytes);
    json_write_key(w, "death");
    json_write_object(w);
    raw_write_string(w, "cause", death->cause);
    raw_write_string(w, "keeper", keepers[death->keeper]);
    if (death->life.limit_bytes != 0)
        raw_write_count(w, "limit_bytes", death->life.limit_bytes);
    if (death->oom_kills != 0)
        raw_write_count(w, "oom_kills", death->oom_kills);
    raw_write_string(w, "kernel", death->kernel);
    if (death->cpu_limit_s != 0) {
        raw_write_count(w, "cpu_limit_s", death->cpu_limit_s);
        raw_write_count(w, "cpu_used_ms", death->cpu_used_ms);
    }
    if (death->exits)
        raw_write_count(w, "exit_status", (uint64_t)death->exit_status);
    raw_write_words(w, capture, "stderr", death->said.bytes);
    write_asked(w, death);
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
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}
