// SPDX-License-Identifier: Apache-2.0
#include "collector/server/metrics.h"

#include <stdio.h>

#include "collector/query/store_values.h"
#include "collector/store/store_segments.h"
#include "collector/store/store_symbolization.h"

void metrics_count(atomic_uint_least64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void metrics_count_answer(struct metrics *metrics, unsigned status)
{
    if (status < METRICS_STATUSES)
        metrics_count(&metrics->answers[status]);
}

static unsigned long long read_store_counter(atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_metric_head(struct text *out, const char *name, const char *type,
                              const char *help)
{
    text_appendf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_counter(struct text *out, const char *name, const char *type,
                          const char *help, unsigned long long value)
{
    write_metric_head(out, name, type, help);
    text_appendf(out, "%s %llu\n", name, value);
}

// write_counters writes the counters that have no label.
static void write_counters(struct metrics *metrics, struct text *out)
{
    const struct {
        const char *name;
        const char *help;
        atomic_uint_least64_t *counter;
    } counters[] = {
        { "crashhook_report_bytes_total", "Bytes of reports received, as sent.",
          &metrics->body_bytes },
        { "crashhook_store_failures_total", "Reports that the store could not keep.",
          &metrics->store_failures },
        { "crashhook_debug_files_total", "Debug files received.",
          &metrics->debug_files },
        { "crashhook_source_bundles_total", "Source bundles received.",
          &metrics->source_bundles },
        { "crashhook_reports_named_total", "Reports that symbolization jobs finished.",
          &metrics->named },
        { "crashhook_naming_failures_total", "Reports that symbolization jobs gave up.",
          &metrics->symbolization_failures },
        { "crashhook_segments_packed_total", "Segments of bodies that were packed.",
          &metrics->segments },
        { "crashhook_segment_failures_total",
          "Attempts to pack or to remove segments that failed.",
          &metrics->segment_failures },
        { "crashhook_backups_total", "Backups of the store that were made.",
          &metrics->backups },
        { "crashhook_backup_failures_total", "Backups that failed.",
          &metrics->backup_failures },
        { "crashhook_alerts_sent_total", "Alerts that a receiver took.",
          &metrics->alerts_sent },
        { "crashhook_alert_failures_total", "Attempts to tell a receiver that failed.",
          &metrics->alert_failures },
    };
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        write_counter(out, counters[i].name, "counter", counters[i].help,
                      read_store_counter(counters[i].counter));
}

void metrics_write(struct metrics *metrics, const struct store_totals *totals,
                   struct text *out)
{
    static const char *const outcomes[] = { "added", "kept", "replaced" };
    write_metric_head(out, "crashhook_http_answers_total", "counter",
                      "Answers by HTTP status.");
    for (unsigned i = 0; i < METRICS_STATUSES; i++) {
        unsigned long long count = read_store_counter(&metrics->answers[i]);
        if (count != 0)
            text_appendf(out, "crashhook_http_answers_total{code=\"%u\"} %llu\n", i,
                         count);
    }
    write_metric_head(out, "crashhook_reports_received_total", "counter",
                      "Reports accepted, by what became of them.");
    for (unsigned i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
        text_appendf(out, "crashhook_reports_received_total{outcome=\"%s\"} %llu\n",
                     outcomes[i], read_store_counter(&metrics->outcomes[i]));
    write_counters(metrics, out);
    if (totals == NULL)
        return;
    write_counter(out, "crashhook_reports", "gauge", "Reports in the store.",
                  (unsigned long long)totals->reports);
    write_counter(out, "crashhook_groups", "gauge", "Groups in the store.",
                  (unsigned long long)totals->groups);
}

void metrics_write_backlog(const struct store_backlog *backlog, int64_t now_ms,
                           struct text *out)
{
    int64_t lag_ms = backlog->waiting != 0 ? now_ms - backlog->oldest_ms : 0;
    write_counter(out, "crashhook_naming_jobs", "gauge",
                  "Reports that wait to be named.",
                  (unsigned long long)backlog->waiting);
    write_metric_head(out, "crashhook_naming_lag_seconds", "gauge",
                      "How long the oldest of them has waited.");
    text_appendf(out, "crashhook_naming_lag_seconds %.3f\n",
                 lag_ms > 0 ? (double)lag_ms / 1000 : 0.0);
}

void metrics_write_staged(const struct store_staged *staged, int64_t now_ms,
                          struct text *out)
{
    int64_t lag_ms = staged->count != 0 ? now_ms - staged->oldest_ms : 0;
    write_counter(out, "crashhook_bodies_staged", "gauge",
                  "Bodies that wait to be packed.", (unsigned long long)staged->count);
    write_metric_head(out, "crashhook_bodies_staged_seconds", "gauge",
                      "How long the oldest of them has waited.");
    text_appendf(out, "crashhook_bodies_staged_seconds %.3f\n",
                 lag_ms > 0 ? (double)lag_ms / 1000 : 0.0);
    write_counter(out, "crashhook_segments", "gauge", "Segments of bodies.",
                  (unsigned long long)staged->segments);
    write_counter(out, "crashhook_segment_bytes", "gauge", "Bytes of these.",
                  (unsigned long long)staged->bytes);
}

// bucket_ms are the bounds of the buckets; the last has none.
static const int64_t bucket_ms[METRICS_BUCKETS] = { 5,    25,   100,   250,
                                                    1000, 5000, 30000, INT64_MAX };

void metrics_observe(struct metrics *metrics, unsigned pool, int64_t took_ms)
{
    struct metrics_times *times = &metrics->times[pool];
    size_t i = 0;
    while (took_ms > bucket_ms[i])
        i++;
    metrics_count(&times->counts[i]);
    if (took_ms > 0) // clocks are set back
        atomic_fetch_add_explicit(&times->sum_ms, (uint64_t)took_ms,
                                  memory_order_relaxed);
}

static void write_pool_times(struct metrics_times *times, const char *pool,
                             struct text *out)
{
    unsigned long long count = 0;
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        char bound[24] = "+Inf";
        if (i + 1 < METRICS_BUCKETS)
            (void)snprintf(bound, sizeof(bound), "%g", (double)bucket_ms[i] / 1000);
        count += read_store_counter(&times->counts[i]);
        text_appendf(out, "crashhook_http_seconds_bucket{lane=\"%s\",le=\"%s\"} %llu\n",
                     pool, bound, count);
    }
    text_appendf(out, "crashhook_http_seconds_sum{lane=\"%s\"} %.3f\n", pool,
                 (double)read_store_counter(&times->sum_ms) / 1000);
    text_appendf(out, "crashhook_http_seconds_count{lane=\"%s\"} %llu\n", pool, count);
}

void metrics_write_times(struct metrics *metrics, struct text *out)
{
    static const char *const pools[METRICS_POOLS] = { "reading", "writing", "taking",
                                                      "large", "at_once" };
    write_metric_head(out, "crashhook_http_seconds", "histogram",
                      "Times from a request's head to its answer, by pool of work.");
    for (size_t i = 0; i < METRICS_POOLS; i++)
        write_pool_times(&metrics->times[i], pools[i], out);
}

void metrics_write_queue(const struct metrics_queue *queue, struct text *out)
{
    write_counter(out, "crashhook_queue_reports", "gauge",
                  "Reports that wait to be stored.", queue->waiting);
    write_counter(out, "crashhook_queue_bytes", "gauge", "Bytes of their bodies.",
                  queue->waiting_bytes);
    write_counter(out, "crashhook_held_bytes", "gauge",
                  "Bytes of bodies that come and of answers that are fetched.",
                  queue->held_bytes);
    write_counter(out, "crashhook_ready", "gauge", "Whether the store takes reports.",
                  queue->ready);
}

void metrics_write_figures(const struct store_figures *figures, int64_t now_ms,
                           int64_t keep_ms, struct text *out)
{
    int64_t oldest_ms = figures->oldest_ms;
    double age =
        oldest_ms != 0 && now_ms > oldest_ms ? (double)(now_ms - oldest_ms) / 1000 : 0;
    double past = keep_ms != 0 ? age - (double)keep_ms / 1000 : 0;
    write_counter(out, "crashhook_store_bytes", "gauge",
                  "What the store takes on disk.", (unsigned long long)figures->bytes);
    write_counter(out, "crashhook_moves", "gauge", "Merges and splits under way.",
                  (unsigned long long)figures->moves);
    write_metric_head(out, "crashhook_oldest_report_seconds", "gauge",
                      "How long ago the oldest report came.");
    text_appendf(out, "crashhook_oldest_report_seconds %.0f\n", age);
    write_metric_head(out, "crashhook_retention_lag_seconds", "gauge",
                      "How long ago it should have been removed.");
    text_appendf(out, "crashhook_retention_lag_seconds %.0f\n", past > 0 ? past : 0.0);
    write_metric_head(out, "crashhook_project", "gauge",
                      "Groups of a project, their reports that came, those kept.");
}

void metrics_write_project(void *text, const struct store_project_figures *project)
{
    const struct {
        const char *name;
        int64_t value;
    } values[] = { { "groups", project->groups },
                   { "received", project->received },
                   { "kept", project->kept } };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        text_appendf(text, "crashhook_project{project=\"%s\",what=\"%s\"} %lld\n",
                     project->project, values[i].name, (long long)values[i].value);
}
