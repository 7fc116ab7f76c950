// SPDX-License-Identifier: Apache-2.0
//
// Whether a release may go on: its share of starts that crashed, as a collector has
// counted them, against a limit.
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/wilson.h"
#include "cli/session/collector_client.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "report/value/report.h"

enum { GATE_TOO_FEW = 3, GATE_ROWS_MAX = 1000 };

struct gate_limits {
    int64_t starts_min;
    double rate_max; // a share of 1
};

// read_percent reads 0.2% or 0.002 as a share of 1.
static bool read_percent(const char *text, double *out)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || errno != 0 ||
        strspn(text, "0123456789.") != (size_t)(end - text))
        return false;
    value /= *end == '%' ? 100 : 1;
    end += *end == '%';
    *out = value;
    return *end == 0 && value >= 0 && value <= 1;
}

static bool read_limits(const struct options *options, struct gate_limits *out)
{
    const char *starts = options_value(options, "min-starts");
    const char *rate = options_value(options, "max-crash-rate");
    char *end = NULL;
    *out = (struct gate_limits){ .starts_min = 1 };
    if (starts != NULL) {
        errno = 0;
        out->starts_min = strtoll(starts, &end, 10);
        if (*starts < '0' || *starts > '9' || *end != 0 || errno != 0)
            return false;
    }
    return rate != NULL && read_percent(rate, &out->rate_max);
}

static int judge_release(const char *release, const json_t *rows,
                         const struct gate_limits *limits)
{
    int64_t starts = 0;
    int64_t crashes = 0;
    double low = 0;
    double high = 1;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        int64_t begun = report_integer(row, "starts", 0);
        int64_t crashed = report_integer(row, "crashes", 0);
        starts += begun;
        crashes +=
            crashed < begun ? crashed : begun; // reports may arrive before counts
    }
    if (starts > 0)
        wilson_interval((double)crashes, (double)starts, &low, &high);
    if (json_array_size(rows) >= GATE_ROWS_MAX)
        (void)fprintf(stderr, "crashhook: only the %d hosts with most starts count\n",
                      GATE_ROWS_MAX);
    bool few = starts < limits->starts_min || starts == 0;
    bool failed = !few && (double)crashes / (double)starts > limits->rate_max;
    (void)printf("%s: release %s, %" PRId64 " of %" PRId64 " starts crashed",
                 few      ? "not enough data"
                 : failed ? "failed"
                          : "passed",
                 release, crashes, starts);
    if (starts > 0)
        (void)printf(": %.3f %% (95 %% confidence: %.3f %% to %.3f %%)",
                     100 * (double)crashes / (double)starts, 100 * low, 100 * high);
    (void)printf("; limit %.3f %%", 100 * limits->rate_max);
    if (few)
        (void)printf(", from %" PRId64 " starts on", limits->starts_min);
    (void)printf("\n");
    return few ? GATE_TOO_FEW : failed ? COMMAND_FAILED : COMMAND_DONE;
}

static int run_gate(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct text CH_CLEANUP(text_deinit) base = { 0 };
    struct text CH_CLEANUP(text_deinit) path = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    struct gate_limits limits;
    const char *release = options_value(options, "release");
    session_init(&session, options);
    release = release != NULL ? release : session.settings.release;
    if (release == NULL || release[0] == 0)
        return command_misused("gate: --release names the release to judge");
    if (!read_limits(options, &limits))
        return command_misused("gate: it takes --max-crash-rate, such as 0.2%%, and"
                               " --min-starts, such as 2000");
    text_append_string(&path, "/api/v1/starts?release=");
    collector_encode(&path, release);
    if (collector_base(&session, options_value(options, "url"), &base) != CH_OK ||
        collector_get(&session, base.bytes, path.bytes, &body) != CH_OK)
        return COMMAND_USAGE; // not 1: nothing was judged
    json_auto_t *answer =
        json_loadb(body.bytes != NULL ? body.bytes : "", body.size, 0, NULL);
    const json_t *rows = json_object_get(answer, "starts");
    if (json_is_array(rows))
        return judge_release(release, rows, &limits);
    (void)command_fail("cannot understand the collector: it sent no starts");
    return COMMAND_USAGE;
}

static const struct option gate_options[] = {
    { "release", "TEXT", "the release to judge (CRASHHOOK_RELEASE)", 0 },
    { "max-crash-rate", "SHARE", "what share of starts may crash: 0.2%", 0 },
    { "min-starts", "N", "judge no release with fewer starts (1)", 0 },
    { "url", "URL", "the collector (CRASHHOOK_URL)", 0 },
    { "token-file", "FILE", "file with its token", 0 },
    { 0 },
};

const struct command gate_command = {
    .name = "gate",
    .arguments = NULL,
    .summary = "Exit with a failure if too many starts of a release crash",
    .options = gate_options,
    .run = run_gate,
};
