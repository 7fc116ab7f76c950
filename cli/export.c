// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "cli/command.h"
#include "cli/render.h"
#include "cli/session.h"

static void drop_json(json_t *const *value)
{
    json_decref(*value);
}

static int run_export(const struct options *options)
{
    static const struct render_style plain = { .preset = PRESET_FULL };
    struct session CH_CLEANUP(session_deinit) session;
    json_t *CH_CLEANUP(drop_json) report = NULL;
    const char *format = options_value(options, "format");
    session_init(&session, options);
    if (format == NULL || strcmp(format, "text") != 0)
        return command_misused("export: --format '%s': it takes text",
                               format != NULL ? format : "");
    if (session_read_report(&session, options->arguments[0], &report) != CH_OK)
        return COMMAND_FAILED;
    render_report(report, &plain, stdout);
    return COMMAND_DONE;
}

static const struct option export_options[] = {
    { "format", "text", "the form to write", 0 },
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
