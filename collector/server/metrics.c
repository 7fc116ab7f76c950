// SPDX-License-Identifier: Apache-2.0
#include "collector/server/metrics.h"

#include "collector/store/store_naming.h"
#include "collector/store/store_segments.h"
#include "collector/store/store_values.h"

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

static void write_plain(struct text *out, const char *name, const char *type,
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
        { "crashhook_reports_named_total", "Reports that naming jobs finished.",
          &metrics->named },
        { "crashhook_naming_failures_total", "Reports that naming jobs gave up.",
          &metrics->naming_failures },
        { "crashhook_segments_packed_total", "Segments of bodies that were packed.",
          &metrics->segments },
        { "crashhook_segment_failures_total",
          "Attempts to pack or to remove segments that failed.",
          &metrics->segment_failures },
        { "crashhook_alerts_sent_total", "Alerts that a receiver took.",
          &metrics->alerts_sent },
        { "crashhook_alert_failures_total", "Attempts to tell a receiver that failed.",
          &metrics->alert_failures },
    };
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        write_plain(out, counters[i].name, "counter", counters[i].help,
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
    write_plain(out, "crashhook_reports", "gauge", "Reports in the store.",
                (unsigned long long)totals->reports);
    write_plain(out, "crashhook_groups", "gauge", "Groups in the store.",
                (unsigned long long)totals->groups);
}

void metrics_write_backlog(const struct store_backlog *backlog, int64_t now_ms,
                           struct text *out)
{
    int64_t lag_ms = backlog->waiting != 0 ? now_ms - backlog->oldest_ms : 0;
    write_plain(out, "crashhook_naming_jobs", "gauge", "Reports that wait to be named.",
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
    write_plain(out, "crashhook_bodies_staged", "gauge",
                "Bodies that wait to be packed.", (unsigned long long)staged->count);
    write_metric_head(out, "crashhook_bodies_staged_seconds", "gauge",
                      "How long the oldest of them has waited.");
    text_appendf(out, "crashhook_bodies_staged_seconds %.3f\n",
                 lag_ms > 0 ? (double)lag_ms / 1000 : 0.0);
    write_plain(out, "crashhook_segments", "gauge", "Segments of bodies.",
                (unsigned long long)staged->segments);
    write_plain(out, "crashhook_segment_bytes", "gauge", "Bytes of these.",
                (unsigned long long)staged->bytes);
}
