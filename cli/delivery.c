// SPDX-License-Identifier: Apache-2.0
#include "cli/delivery.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#include "report/spool_prune.h"
#include "upload/http.h"
#include "upload/token.h"

static void say(const struct delivery *delivery, const char *format, ...)
    CH_PRINTF(2, 3);

static void say(const struct delivery *delivery, const char *format, ...)
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
    say(context, "cannot upload to '%s': it is no http, sentry+http or otlp+http URL",
        shown);
}

static void say_line(void *context, const char *line)
{
    const struct delivery *delivery = context;
    delivery->say(delivery->context, line);
}

static void tell_progress(void *context, const struct queue_step *step)
{
    const struct delivery *delivery = context;
    if (delivery->progress != NULL)
        delivery->progress(delivery->context, step);
}

static void prepare(void *context, json_t *report)
{
    const struct delivery *delivery = context;
    session_symbolize(delivery->session, report);
}

enum ch_status delivery_init(struct delivery *delivery, struct session *session,
                             queue_say_fn *to, void *context)
{
    const struct settings *settings = &session->settings;
    const char *why = "";
    (void)signal(SIGPIPE, SIG_IGN); // a server that hangs up is an error like others
    *delivery = (struct delivery){ .session = session, .say = to, .context = context };
    delivery->queue = (struct queue){
        .spool = &session->spool,
        .timeout_ms = settings->timeout_ms,
        .rate = { .count = settings->rate_count, .ms = settings->rate_ms },
        .prepare = prepare,
        .say = say_line,
        .progress = tell_progress,
        .context = delivery,
    };
    enum ch_status status =
        token_read(settings->token_file, settings->token, &delivery->token, &why);
    if (status != CH_OK) {
        say(delivery, "cannot use the token in '%s': %s",
            settings->token_file != NULL ? settings->token_file : "CRASHHOOK_TOKEN",
            why);
        return status;
    }
    delivery->queue.token = delivery->token.bytes;
    status = target_list_parse(settings->url, refuse_target, delivery,
                               &delivery->queue.targets);
    if (status != CH_OK)
        say(delivery, "cannot upload: out of memory");
    return status;
}

void delivery_deinit(struct delivery *delivery)
{
    target_list_deinit(&delivery->queue.targets);
    text_deinit(&delivery->token);
    http_close();
}

static void note_dropped(void *context, const char *id)
{
    const struct delivery *delivery = context;
    const struct settings *settings = &delivery->session->settings;
    say(delivery,
        "deleted report %s, which was not sent: the spool holds %llu reports and %llu "
        "bytes at most",
        id, (unsigned long long)settings->spool_max_reports,
        (unsigned long long)settings->spool_max_bytes);
}

void delivery_prune(struct delivery *delivery, const char *keep_id)
{
    const struct session *session = delivery->session;
    const struct spool_caps caps = { .reports = session->settings.spool_max_reports,
                                     .bytes = session->settings.spool_max_bytes,
                                     .sent_age_s = session->settings.spool_max_age_s };
    enum ch_status status =
        spool_prune(&session->spool, caps, keep_id, note_dropped, delivery);
    if (status != CH_OK)
        say(delivery, "cannot clean up spool '%s': %s", session->spool_path,
            spool_why(status));
    (void)spool_sweep(&session->spool);
}
