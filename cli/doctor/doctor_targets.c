// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "cli/doctor/doctor.h"
#include "cli/session/delivery.h"
#include "upload/probe.h"

// note_complaint notes what keeps a delivery from using its settings.
static void note_complaint(void *context, const char *line)
{
    struct doctor_finding *out = context;
    text_appendf(&out->line, "%s%s", out->line.size != 0 ? "; " : "", line);
}

// note_checked_target sends a request to a target, and notes the result.
static bool note_checked_target(const struct delivery *delivery,
                                const struct target *target, struct doctor_finding *out)
{
    const struct probe_credentials credentials = {
        .token = delivery->queue.token,
        .otlp_headers = delivery->queue.otlp_headers,
    };
    char why[512];
    char line[1024];
    enum ch_status status = probe_target(target, &credentials, why, sizeof(why));
    (void)snprintf(line, sizeof(line), "%s %s", target->shown, why);
    note_complaint(out, line);
    bool no_token = credentials.token == NULL || credentials.token[0] == 0;
    if (status != CH_ERR_UNSUPPORTED)
        return status == CH_OK;
    if (target->kind == TARGET_KIND_COLLECTOR)
        text_append_string(&out->line, no_token ? " (no token is set)" : "");
    if (target->kind == TARGET_KIND_COLLECTOR)
        text_append_string(&out->fix, "export CRASHHOOK_TOKEN_FILE=FILE "
                                      "# that holds a token of the collector\n");
    if (target->kind == TARGET_KIND_OTLP)
        text_append_string(&out->fix, "export OTEL_EXPORTER_OTLP_HEADERS=NAME=VALUE "
                                      "# that the log intake asks for\n");
    return false;
}

enum doctor_verdict doctor_targets(struct doctor *doctor, struct doctor_finding *out)
{
    struct delivery delivery;
    if (doctor->session->settings.url == NULL) {
        text_append_string(&out->line,
                           "CRASHHOOK_URL is not set: reports stay in the spool");
        return DOCTOR_NOTE;
    }
    enum ch_status status =
        delivery_init(&delivery, doctor->session, note_complaint, out);
    bool fine = status == CH_OK && out->line.size == 0;
    for (size_t i = 0; status == CH_OK && i < delivery.queue.targets.count; i++)
        fine =
            note_checked_target(&delivery, &delivery.queue.targets.targets[i], out) &&
            fine;
    delivery_deinit(&delivery);
    // Nothing is lost yet, because what cannot be sent waits in the spool.
    return fine ? DOCTOR_FINE : DOCTOR_TROUBLE;
}
