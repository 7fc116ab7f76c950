// SPDX-License-Identifier: Apache-2.0
#include "collector/server/metrics.h"

#include "collector/store/store_naming.h"
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
    write_plain(out, "crashhook_report_bytes_total", "counter",
                "Bytes of reports received, as sent.",
                read_store_counter(&metrics->body_bytes));
    write_plain(out, "crashhook_store_failures_total", "counter",
                "Reports that the store could not keep.",
                read_store_counter(&metrics->store_failures));
    write_plain(out, "crashhook_debug_files_total", "counter", "Debug files received.",
                read_store_counter(&metrics->debug_files));
    write_plain(out, "crashhook_source_bundles_total", "counter",
                "Source bundles received.",
                read_store_counter(&metrics->source_bundles));
    write_plain(out, "crashhook_reports_named_total", "counter",
                "Reports that naming jobs finished.",
                read_store_counter(&metrics->named));
    write_plain(out, "crashhook_naming_failures_total", "counter",
                "Reports that naming jobs gave up.",
                read_store_counter(&metrics->naming_failures));
    write_plain(out, "crashhook_alerts_sent_total", "counter",
                "Alerts that a receiver took.",
                read_store_counter(&metrics->alerts_sent));
    write_plain(out, "crashhook_alert_failures_total", "counter",
                "Attempts to tell a receiver that failed.",
                read_store_counter(&metrics->alert_failures));
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
