// SPDX-License-Identifier: Apache-2.0
#include "cli/session/delivery.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/http.h"
#include "report/spool/spool_state.h"
#include "symbolizer/symbolization.h"
#include "upload/bodies/otlp_headers.h"

static void say_delivered(const struct delivery *delivery, const char *format, ...)
    CH_PRINTF(2, 3);

static void say_delivered(const struct delivery *delivery, const char *format, ...)
{
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    delivery->say(delivery->context, line);
}

static void refuse_target(void *context, const char *shown)
{
    say_delivered(context,
                  "cannot upload to '%s': it is no http, sentry+http, otlp+http or "
                  "minidump+http URL",
                  shown);
}

static void say_delivery_line(void *context, const char *line)
{
    const struct delivery *delivery = context;
    delivery->say(delivery->context, line);
}

static void tell_delivery_progress(void *context, const struct queue_step *step)
{
    const struct delivery *delivery = context;
    if (delivery->progress != NULL)
        delivery->progress(delivery->context, step);
}

static void prepare_delivery(void *context, json_t *report)
{
    // One report without caches is no reason to write them.
    enum { CACHED_FROM = 2 };
    const struct session *session = ((const struct delivery *)context)->session;
    size_t before = session->memo != NULL ? session->memo->file_readers : 0;
    bool ours = session_complete(session, report, &(const struct session_files){ 0 });
    if (ours && session->memo != NULL && session->memo->file_readers > before &&
        session->memo->file_readers >= CACHED_FROM)
        session_cache_symbols(session, report);
}

static bool has_log_intake(const struct target_list *list)
{
    bool found = false;
    for (size_t i = 0; i < list->count; i++)
        found |= list->targets[i].kind == TARGET_KIND_OTLP;
    return found;
}

// read_otlp_headers reads the headers from OpenTelemetry's own variables; the one for
// logs takes precedence. They belong to other programs too: without a log intake they
// are not read.
static void read_otlp_headers(struct delivery *delivery)
{
    static const char *const variables[] = { "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
                                             "OTEL_EXPORTER_OTLP_HEADERS" };
    const char *list = NULL;
    const char *why = "";
    size_t i = 0;
    for (; i < sizeof(variables) / sizeof(variables[0]); i++) {
        list = getenv(variables[i]);
        if (list != NULL && *list != 0)
            break;
    }
    if (list == NULL || *list == 0 || !has_log_intake(&delivery->queue.targets))
        return;
    if (otlp_headers_read(list, &delivery->otlp_headers, &why) != CH_OK)
        say_delivered(delivery, "cannot use %s: %s", variables[i], why);
    delivery->queue.otlp_headers = delivery->otlp_headers.bytes;
}

// wants_protobuf reads OpenTelemetry's variables for the protocol. Their default is
// protobuf, but intakes that take this take JSON too, which people can read on its way.
static bool wants_protobuf(void)
{
    const char *logs = getenv("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL");
    const char *all = getenv("OTEL_EXPORTER_OTLP_PROTOCOL");
    const char *named = logs != NULL && *logs != 0 ? logs : all;
    return named != NULL && strcmp(named, "http/protobuf") == 0;
}

enum ch_status delivery_init(struct delivery *delivery, struct session *session,
                             queue_say_fn *to, void *context)
{
    const struct settings *settings = &session->settings;
    const char *why = "";
    (void)signal(SIGPIPE, SIG_IGN); // a server that hangs up is an error like any other
    *delivery = (struct delivery){ .session = session, .say = to, .context = context };
    delivery->queue = (struct queue){
        .spool = &session->spool,
        .timeout_ms = settings->timeout_ms,
        .rate = { .count = settings->rate_count, .ms = settings->rate_ms },
        .prepare = prepare_delivery,
        .say = say_delivery_line,
        .progress = tell_delivery_progress,
        .context = delivery,
    };
    enum ch_status status =
        token_read(settings->token_file, settings->token, &delivery->token, &why);
    if (status != CH_OK) {
        say_delivered(delivery, "cannot use the token in '%s': %s",
                      settings->token_file != NULL ? settings->token_file
                                                   : "CRASHHOOK_TOKEN",
                      why);
        return status;
    }
    delivery->queue.token = delivery->token.bytes;
    status = target_list_parse(settings->url, refuse_target, delivery,
                               &delivery->queue.targets);
    if (status != CH_OK) {
        say_delivered(delivery, "cannot upload: out of memory");
        return status;
    }
    read_otlp_headers(delivery);
    delivery->queue.otlp_protobuf = wants_protobuf();
    return CH_OK;
}

void delivery_deinit(struct delivery *delivery)
{
    target_list_deinit(&delivery->queue.targets);
    text_deinit(&delivery->token);
    text_deinit(&delivery->otlp_headers);
    http_close();
}

static void note_dropped(void *context, const char *id)
{
    const struct delivery *delivery = context;
    const struct settings *settings = &delivery->session->settings;
    say_delivered(
        delivery,
        "deleted report %s, which was not sent: the spool holds %llu reports and %llu "
        "bytes at most",
        id, (unsigned long long)settings->spool_max_reports,
        (unsigned long long)settings->spool_max_bytes);
}

bool delivery_prune(struct delivery *delivery, const char *keep_id)
{
    bool over = false;
    const struct session *session = delivery->session;
    const struct spool_caps caps = { .reports = session->settings.spool_max_reports,
                                     .bytes = session->settings.spool_max_bytes,
                                     .sent_age_s = session->settings.spool_max_age_s };
    enum ch_status status =
        spool_prune(&session->spool, caps, keep_id, note_dropped, delivery, &over);
    if (status != CH_OK)
        say_delivered(delivery, "cannot clean up spool '%s': %s", session->spool_path,
                      spool_why(status));
    (void)spool_sweep(&session->spool);
    return !over;
}
