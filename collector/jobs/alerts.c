// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/alerts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/moment.h"
#include "collector/jobs/alert_text.h"
#include "collector/requests/group_copy.h"
#include "collector/server/background.h"
#include "collector/store/store_alerts.h"
#include "net/backoff.h"

enum {
    PAUSE_MS = 500,
    TROUBLE_MS = 5000,           // after the store failed
    LEASE_MS = 60000,            // of a claim: longer than a message may take
    LOOK_MS = 30000,             // between two looks at what grows
    IDLE_KEEP_MS = 3600000,      // of alerts that nobody is told of
    WEEK_MS = 7 * MOMENT_DAY_MS, // rising groups are told once in it
    KEEP_MS = 9 * MOMENT_DAY_MS, // longer than any alert must be told once in
    MINUTE_MS = 60000,
    RISING_MOST = 50,
};

struct alerts {
    struct alerts_options options;
    struct background background;
    int64_t looked_ms;
};

static bool wants_alert(void *context, size_t index, const struct store_alert *alert)
{
    const struct receivers *receivers = context;
    const struct receiver *receiver = &receivers->list[index];
    const char *kind = alert->kind;
    if (receiver->project != NULL && alert->group[0] != 0 &&
        strcmp(receiver->project, alert->project) != 0)
        return false;
    if (strcmp(kind, "digest") == 0 || strcmp(kind, "test") == 0)
        return strcmp(receiver->id, alert->detail) == 0;
    if (strcmp(kind, "count") == 0)
        return strcmp(receiver->rule, alert->detail) == 0;
    return (strcmp(kind, "new") == 0 && (receiver->kinds & RECEIVER_NEW) != 0) ||
           (strcmp(kind, "regressed") == 0 &&
            (receiver->kinds & RECEIVER_REGRESSED) != 0) ||
           (strcmp(kind, "rising") == 0 && (receiver->kinds & RECEIVER_RISING) != 0);
}

// growth collects groups to be told of: a visitor must not ask the store again.
struct growth {
    struct {
        char id[ENTRY_GROUP_SIZE];
        char title[sizeof(((struct entry *)NULL)->title)];
    } groups[RISING_MOST];
    size_t count;
};

static void take_grown(struct growth *growth, const char *id, const char *title)
{
    if (growth->count == RISING_MOST)
        return;
    entry_copy(growth->groups[growth->count].id, ENTRY_GROUP_SIZE, id);
    entry_copy(growth->groups[growth->count].title,
               sizeof(growth->groups[growth->count].title), title);
    growth->count++;
}

static void take_rising(void *context, const struct store_group *group)
{
    if (strcmp(group->status, "ignored") != 0)
        take_grown(context, group->id, group->title);
}

static void take_burst(void *context, const char *group, const char *title,
                       int64_t count)
{
    (void)count;
    take_grown(context, group, title);
}

// tell_growth queues an alert for each group, unless there was one since since_ms.
static enum ch_status tell_growth(struct alerts *alerts, const struct growth *growth,
                                  const char *kind, const char *detail,
                                  int64_t since_ms, char error[STORE_ERROR_SIZE])
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; i < growth->count && status == CH_OK; i++) {
        const struct store_alert alert = { .kind = kind,
                                           .group = growth->groups[i].id,
                                           .title = growth->groups[i].title,
                                           .detail = detail,
                                           .body = "",
                                           .time_ms = moment_now() };
        status = store_alert_add(alerts->options.store, &alert, since_ms, error);
    }
    return status;
}

static enum ch_status look_for_rising(struct alerts *alerts, struct growth *growth,
                                      char error[STORE_ERROR_SIZE])
{
    const struct store_filter filter = { .terms = { { .key = STORE_KEY_RISING } },
                                         .term_count = 1,
                                         .sort = STORE_SORT_COUNT,
                                         .limit = RISING_MOST };
    char next[STORE_CURSOR_SIZE];
    growth->count = 0;
    snprintf(error, STORE_ERROR_SIZE, "cannot look for groups that rise");
    enum ch_status status =
        store_list_groups(alerts->options.store, &filter, take_rising, growth, next);
    return status == CH_OK ? tell_growth(alerts, growth, "rising", "",
                                         moment_now() - WEEK_MS, error)
                           : status;
}

// look_for_bursts follows the rule of one receiver; two with the same rule share it.
static enum ch_status look_for_bursts(struct alerts *alerts,
                                      const struct receiver *receiver,
                                      struct growth *growth,
                                      char error[STORE_ERROR_SIZE])
{
    int64_t since_ms = moment_now() - receiver->limit.period_ms;
    growth->count = 0;
    snprintf(error, STORE_ERROR_SIZE, "cannot count reports for the rule %s",
             receiver->rule);
    enum ch_status status = store_list_bursts(
        alerts->options.store, since_ms, receiver->limit.count, take_burst, growth);
    return status == CH_OK
               ? tell_growth(alerts, growth, "count", receiver->rule, since_ms, error)
               : status;
}

// write_due_digest queues the digest of a receiver once a day, from its time on.
static enum ch_status write_due_digest(struct alerts *alerts,
                                       const struct receiver *receiver,
                                       char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = moment_now();
    int64_t day = now_ms / MOMENT_DAY_MS;
    char once[64];
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    if (now_ms < day * MOMENT_DAY_MS + (int64_t)receiver->digest_minute * MINUTE_MS)
        return CH_OK;
    (void)snprintf(once, sizeof(once), "digest %s %lld", receiver->id, (long long)day);
    snprintf(error, STORE_ERROR_SIZE, "cannot write the digest");
    enum ch_status status = alert_write_digest(
        alerts->options.store, now_ms, receiver->project, alerts->options.site, &body);
    if (status != CH_OK || !text_ok(&body))
        return status == CH_OK ? CH_ERR_NO_MEMORY : status;
    const struct store_alert alert = { .once = once,
                                       .kind = "digest",
                                       .group = "",
                                       .title = "",
                                       .detail = receiver->id,
                                       .body = body.bytes,
                                       .time_ms = now_ms };
    return store_alert_add(alerts->options.store, &alert, day * MOMENT_DAY_MS - 1,
                           error);
}

// look_around finds what no single report gives rise to, and removes what is over.
static enum ch_status look_around(struct alerts *alerts, char error[STORE_ERROR_SIZE])
{
    const struct receivers *receivers = alerts->options.receivers;
    int64_t now_ms = moment_now();
    bool rising = false;
    enum ch_status status = CH_OK;
    if (now_ms - alerts->looked_ms < LOOK_MS && now_ms >= alerts->looked_ms)
        return CH_OK;
    struct growth *growth = calloc(1, sizeof(*growth));
    if (growth == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < receivers->count && status == CH_OK; i++) {
        const struct receiver *receiver = &receivers->list[i];
        rising |= (receiver->kinds & RECEIVER_RISING) != 0;
        if (receiver->rule[0] != 0)
            status = look_for_bursts(alerts, receiver, growth, error);
        if (status == CH_OK && receiver->digest_minute >= 0)
            status = write_due_digest(alerts, receiver, error);
    }
    if (status == CH_OK && rising)
        status = look_for_rising(alerts, growth, error);
    if (status == CH_OK)
        status =
            store_alerts_forget(alerts->options.store,
                                receivers->count != 0 ? KEEP_MS : IDLE_KEEP_MS, error);
    if (status == CH_OK)
        alerts->looked_ms = now_ms;
    free(growth);
    return status;
}

// outgoing is an alert on its way to a receiver.
struct outgoing {
    const struct alerts *alerts;
    const struct receiver *receiver;
    int64_t number;
    int64_t tries;
    char id[48];
    char group[ENTRY_GROUP_SIZE];
    char *strings[6]; // kind, title, detail, body, report
    struct store_alert alert;
};

static void free_outgoing(struct outgoing *outgoing)
{
    for (size_t i = 0; i < sizeof(outgoing->strings) / sizeof(outgoing->strings[0]);
         i++)
        free(outgoing->strings[i]);
}

static void take_outgoing(void *context, const struct store_alert *alert)
{
    struct outgoing *outgoing = context;
    const char *const from[] = { alert->kind, alert->title,  alert->detail,
                                 alert->body, alert->report, alert->group };
    outgoing->alert = *alert;
    snprintf(outgoing->id, sizeof(outgoing->id), "%s", alert->id);
    outgoing->alert.id = outgoing->id;
    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++)
        outgoing->strings[i] = strdup(from[i]);
    outgoing->alert.kind = outgoing->strings[0];
    outgoing->alert.title = outgoing->strings[1];
    outgoing->alert.detail = outgoing->strings[2];
    outgoing->alert.body = outgoing->strings[3];
    outgoing->alert.report = outgoing->strings[4];
    outgoing->alert.group = outgoing->strings[5];
}

static bool outgoing_ok(const struct outgoing *outgoing)
{
    for (size_t i = 0; i < sizeof(outgoing->strings) / sizeof(outgoing->strings[0]);
         i++) {
        if (outgoing->strings[i] == NULL)
            return false;
    }
    return true;
}

static enum ch_status send_alert(struct alerts *alerts, const struct receiver *receiver,
                                 const struct store_alert *alert,
                                 struct message_fate *out)
{
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    bool found = alert->group[0] != 0 && group_copy_find(alerts->options.store, "",
                                                         alert->group, &copy) == CH_OK;
    const struct alert_content content = { alert, found ? &copy.group : NULL,
                                           alerts->options.site };
    const struct message_hook hook = { receiver->target, receiver->secret, alert->id };
    const struct message_server *server = &alerts->options.receivers->server;
    if (receiver->mail)
        alert_write_mail(&content, server, receiver->target, &body);
    else
        alert_write_json(&content, &body);
    *out = (struct message_fate){ .wait_s = -1, .why = "out of memory" };
    if (!text_ok(&body))
        return CH_ERR_NO_MEMORY;
    return receiver->mail
               ? message_mail(server, receiver->target, body.bytes, body.size, out)
               : message_post(&hook, body.bytes, body.size, out);
}

// keep_fate stores what became of a message, and does not give up: until it is stored,
// nothing else is sent, because a claim that runs out would send it again.
static void keep_fate(struct alerts *alerts, const struct receiver *receiver,
                      const struct store_alert *alert, enum ch_status sent,
                      const struct message_fate *fate)
{
    char error[STORE_ERROR_SIZE];
    enum ch_status status = CH_OK;
    int64_t due_ms =
        moment_now() + backoff_wait_s(fate->wait_s, (uint32_t)alert->tries) * 1000;
    do {
        status = sent == CH_OK
                     ? store_alert_done(alerts->options.store, receiver->id,
                                        alert->number, error)
                     : store_alert_later(alerts->options.store, receiver->id,
                                         alert->number, due_ms, fate->why, error);
        if (status != CH_OK)
            alerts->options.complain(error);
    } while (status != CH_OK && background_pause(&alerts->background, TROUBLE_MS));
}

// send_next sends the oldest alert that is due for a receiver, and says whether there
// was one.
static enum ch_status send_next(struct alerts *alerts, const struct receiver *receiver,
                                bool *out_more, char error[STORE_ERROR_SIZE])
{
    struct outgoing CH_CLEANUP(free_outgoing) outgoing = { 0 };
    struct message_fate fate;
    enum ch_status status = store_alert_claim(
        alerts->options.store, receiver->id, LEASE_MS, take_outgoing, &outgoing, error);
    if (status != CH_OK)
        return status == CH_ERR_NOT_FOUND ? CH_OK : status;
    if (!outgoing_ok(&outgoing))
        return CH_ERR_NO_MEMORY;
    enum ch_status sent = send_alert(alerts, receiver, &outgoing.alert, &fate);
    metrics_count(sent == CH_OK ? &alerts->options.metrics->alerts_sent
                                : &alerts->options.metrics->alert_failures);
    keep_fate(alerts, receiver, &outgoing.alert, sent, &fate);
    *out_more |= sent == CH_OK;
    return CH_OK;
}

// alerts_step does what there is to do, and returns how long to wait.
static int alerts_step(struct alerts *alerts)
{
    const struct receivers *receivers = alerts->options.receivers;
    const struct store_receivers spread = { .ids = receivers->ids,
                                            .count = receivers->count,
                                            .wanted = wants_alert,
                                            .context = (void *)(uintptr_t)receivers };
    char error[STORE_ERROR_SIZE] = "out of memory";
    size_t count = 0;
    bool more = false;
    enum ch_status status = look_around(alerts, error);
    if (status == CH_OK && receivers->count != 0)
        status = store_alerts_spread(alerts->options.store, &spread, &count, error);
    for (size_t i = 0; i < receivers->count && status == CH_OK; i++) {
        if (!background_pause(&alerts->background, 0))
            return 0;
        status = send_next(alerts, &receivers->list[i], &more, error);
    }
    if (status != CH_OK)
        alerts->options.complain(error);
    return status != CH_OK ? TROUBLE_MS : more ? 0 : PAUSE_MS;
}

static void *alerts_main(void *context)
{
    struct alerts *alerts = context;
    int wait_ms = PAUSE_MS;
    while (background_pause(&alerts->background, wait_ms))
        wait_ms = alerts_step(alerts);
    return NULL;
}

enum ch_status alerts_create(const struct alerts_options *options, struct alerts **out)
{
    *out = NULL;
    struct alerts *alerts = calloc(1, sizeof(*alerts));
    if (alerts == NULL)
        return CH_ERR_NO_MEMORY;
    alerts->options = *options;
    background_init(&alerts->background);
    enum ch_status status = background_start(&alerts->background, alerts_main, alerts);
    if (status != CH_OK) {
        alerts_destroy(alerts);
        return status;
    }
    *out = alerts;
    return CH_OK;
}

void alerts_destroy(struct alerts *alerts)
{
    if (alerts == NULL)
        return;
    background_deinit(&alerts->background);
    free(alerts);
}

enum ch_status alerts_test(struct store *store, const struct receivers *receivers,
                           const char *project, const char *id,
                           char error[STORE_ERROR_SIZE])
{
    const struct store_alert alert = { .kind = "test",
                                       .group = "",
                                       .title = "this receiver is told of crashes",
                                       .detail = id,
                                       .body = "",
                                       .time_ms = moment_now() };
    for (size_t i = 0; i < receivers->count; i++) {
        const char *own = receivers->list[i].project;
        if (strcmp(receivers->list[i].id, id) == 0 &&
            (project[0] == 0 || (own != NULL && strcmp(own, project) == 0)))
            return store_alert_add(store, &alert, alert.time_ms, error);
    }
    return CH_ERR_NOT_FOUND;
}
