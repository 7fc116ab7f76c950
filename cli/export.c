// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/fdr/fdr_export.h"
#include "cli/render/render.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/value/report.h"
#include "upload/bodies/minidump_file.h"
#include "upload/bodies/otlp_logs.h"
#include "upload/bodies/sentry_envelope.h"

static int print_body(const struct text *body, enum ch_status status)
{
    if (status != CH_OK)
        return command_fail("cannot export: %s", ch_status_name(status));
    (void)fwrite(body->bytes, 1, body->size, stdout);
    return COMMAND_DONE;
}

static int export_sentry(const json_t *report, const struct options *options)
{
    (void)options;
    struct text CH_CLEANUP(text_deinit) json = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    enum ch_status status = report_print(report, &json);
    if (status == CH_OK)
        status = sentry_envelope_write(report, json.bytes, json.size,
                                       (int64_t)time(NULL) * 1000, &body);
    return print_body(&body, status);
}

static int export_otlp_protobuf(const json_t *report, const struct options *options)
{
    (void)options;
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    enum ch_status status =
        otlp_logs_write(report, (int64_t)time(NULL) * 1000, OTLP_PROTOBUF, &body);
    return print_body(&body, status);
}

static int export_otlp(const json_t *report, const struct options *options)
{
    (void)options;
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    enum ch_status status =
        otlp_logs_write(report, (int64_t)time(NULL) * 1000, OTLP_JSON, &body);
    text_append_string(&body, "\n");
    return print_body(&body, status);
}

static int export_minidump(const json_t *report, const struct options *options)
{
    (void)options;
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    enum ch_status status = minidump_file_write(report, &body);
    if (status == CH_ERR_UNSUPPORTED)
        return command_fail("cannot export: the report has no registers of x86-64 or"
                            " aarch64");
    return print_body(&body, status);
}

static int export_text(const json_t *report, const struct options *options)
{
    (void)options;
    static const struct render_style plain = { .preset = PRESET_FULL };
    render_report(report, &plain, stdout);
    return COMMAND_DONE;
}

static int export_trace(const json_t *report, const struct options *options)
{
    return fdr_export(report, options_value(options, "fdr-version"));
}

static const struct {
    const char *name;
    int (*run)(const json_t *report, const struct options *options);
} forms[] = {
    { "sentry", export_sentry },
    { "otlp", export_otlp },
    { "otlp-protobuf", export_otlp_protobuf },
    { "minidump", export_minidump },
    { "fdr", export_trace },
    { "text", export_text },
};

static int run_export(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    json_auto_t *report = NULL;
    const char *format = options_value(options, "format");
    session_init(&session, options);
    for (size_t i = 0; format != NULL && i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(format, forms[i].name) != 0)
            continue;
        if (session_spool_report(&session, options->arguments[0], &report) != CH_OK)
            return COMMAND_FAILED;
        return forms[i].run(report, options);
    }
    return command_misused("export: --format '%s': it takes sentry, otlp, "
                           "otlp-protobuf, minidump, fdr or text",
                           format != NULL ? format : "");
}

static const struct option export_options[] = {
    { "format", "sentry|otlp|otlp-protobuf|minidump|fdr|text", "the form to write", 0 },
    { "fdr-version", "1|3|5", "of a trace in XRay's form (1)", 0 },
    { "spool", "DIR", "where to look an id up", 0 },
    { 0 },
};

const struct command export_command = {
    .name = "export",
    .arguments = "REPORT|ID",
    .summary = "Write a report in another form",
    .options = export_options,
    .run = run_export,
    .arguments_min = 1,
    .arguments_max = 1,
};
