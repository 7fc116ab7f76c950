// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/alerts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/jobs/alert_text.h"
#include "collector/requests/group_copy.h"
#include "collector/server/background.h"
#include "collector/store/store_alerts.h"
#include "net/http.h"

enum {
    PAUSE_MS = 500,
    TROUBLE_MS = 5000,              // after the store failed
    LEASE_MS = 60000,               // of a claim: longer than a message may take
    LOOK_MS = 30000,                // between two looks at what grows
    LOAD_MS = 2000,                 // between two looks for receivers
    IDLE_KEEP_MS = 3600000,         // of alerts that nobody receives
    WEEK_MS = 7 * TIMESTAMP_DAY_MS, // rising groups are reported once in it
    KEEP_MS =
        9 * TIMESTAMP_DAY_MS, // longer than the time in which an alert is sent once
    MINUTE_MS = 60000,
    RISING_MOST = 50,
};

struct alerts {
    struct alerts_options options;
    struct background background;
    int64_t looked_ms;
    int64_t loaded_ms; // the receivers
};

static bool is_or_any(const char *wanted, const char *value)
{
    return wanted == NULL || strcmp(wanted, value) == 0;
}

// meets_conditions returns true if the group of an alert is one that a receiver wants.
static bool meets_conditions(const struct receiver *receiver,
                             const struct store_alert *alert)
{
    return is_or_any(receiver->program, alert->program) &&
           is_or_any(receiver->environment, alert->environment) &&
           is_or_any(receiver->crash_kind, alert->crash_kind) &&
           (!receiver->in_app || alert->in_app) &&
           alert->machines >= receiver->machines;
}

static bool wants_alert(void *context, size_t index, const struct store_alert *alert)
{
    const struct receivers *receivers = context;
    const struct receiver *receiver = &receivers->list[index];
    const char *kind = alert->kind;
    if (alert->time_ms < receiver->since_ms)
        return false;
    if (receiver->project != NULL && alert->group[0] != 0 &&
        strcmp(receiver->project, alert->project) != 0)
        return false;
    if (strcmp(kind, "digest") == 0 || strcmp(kind, "test") == 0)
        return strcmp(receiver->id, alert->detail) == 0;
    if (!meets_conditions(receiver, alert))
        return false;
    if (strcmp(kind, "count") == 0)
        return strcmp(receiver->rule, alert->detail) == 0;
    if (strcmp(kind, "machines") == 0)
        return receiver->machines == strtoll(alert->detail, NULL, 10);
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
                                           .time_ms = timestamp_now() };
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
                                         timestamp_now() - WEEK_MS, error)
                           : status;
}

// look_for_bursts follows the rule of one receiver; two with the same rule share it.
static enum ch_status look_for_bursts(struct alerts *alerts,
                                      const struct receiver *receiver,
                                      struct growth *growth,
                                      char error[STORE_ERROR_SIZE])
{
    int64_t since_ms = timestamp_now() - receiver->limit.period_ms;
    growth->count = 0;
    snprintf(error, STORE_ERROR_SIZE, "cannot count reports for the rule %s",
             receiver->rule);
    enum ch_status status = store_list_bursts(
        alerts->options.store, since_ms, receiver->limit.count, take_burst, growth);
    return status == CH_OK
               ? tell_growth(alerts, growth, "count", receiver->rule, since_ms, error)
               : status;
}

// look_for_spreading finds the groups that are on as many machines as a receiver waits
// for.
static enum ch_status look_for_spreading(struct alerts *alerts,
                                         const struct receiver *receiver,
                                         struct growth *growth,
                                         char error[STORE_ERROR_SIZE])
{
    int64_t since_ms = timestamp_now() - WEEK_MS;
    char detail[24];
    growth->count = 0;
    (void)snprintf(detail, sizeof(detail), "%lld", (long long)receiver->machines);
    snprintf(error, STORE_ERROR_SIZE, "cannot look for groups on %s machines", detail);
    enum ch_status status = store_list_spreading(
        alerts->options.store, since_ms, receiver->machines, take_burst, growth);
    return status == CH_OK
               ? tell_growth(alerts, growth, "machines", detail, since_ms, error)
               : status;
}

// write_due_digest queues the digest of a receiver once a day, from its time on.
static enum ch_status write_due_digest(struct alerts *alerts,
                                       const struct receiver *receiver,
                                       char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = timestamp_now();
    int64_t day = now_ms / TIMESTAMP_DAY_MS;
    char once[64];
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    if (now_ms < day * TIMESTAMP_DAY_MS + (int64_t)receiver->digest_minute * MINUTE_MS)
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
    return store_alert_add(alerts->options.store, &alert, day * TIMESTAMP_DAY_MS - 1,
                           error);
}

// look_around finds what no single report gives rise to, and removes what is over.
static enum ch_status look_around(struct alerts *alerts,
                                  const struct receivers *receivers,
                                  char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = timestamp_now();
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
        if (status == CH_OK && receiver->machines != 0 &&
            (receiver->kinds & RECEIVER_NEW) != 0)
            status = look_for_spreading(alerts, receiver, growth, error);
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

// outgoing is a message on its way to a receiver, with a copy of its alerts.
struct outgoing {
    struct store_message message;
    struct store_alert alerts[STORE_MESSAGE_ALERTS];
    size_t count;
    struct {
        char *strings[7]; // of an alert
    } copies[STORE_MESSAGE_ALERTS];
    bool failed;
};

static void free_outgoing(struct outgoing *outgoing)
{
    for (size_t i = 0; outgoing != NULL && i < outgoing->count; i++) {
        for (size_t k = 0; k < 7; k++)
            free(outgoing->copies[i].strings[k]);
    }
    free(outgoing);
}

static void free_outgoing_at(struct outgoing **outgoing)
{
    free_outgoing(*outgoing);
}

static void take_outgoing(void *context, const struct store_alert *alert)
{
    struct outgoing *outgoing = context;
    if (outgoing->count == STORE_MESSAGE_ALERTS)
        return;
    struct store_alert *copy = &outgoing->alerts[outgoing->count];
    const char **const to[] = { &copy->id,   &copy->kind,   &copy->title, &copy->detail,
                                &copy->body, &copy->report, &copy->group };
    char **strings = outgoing->copies[outgoing->count++].strings;
    *copy = *alert;
    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
        strings[i] = strdup(*to[i]);
        outgoing->failed |= strings[i] == NULL;
        *to[i] = strings[i] != NULL ? strings[i] : "";
    }
}

static enum ch_status send_message(struct alerts *alerts,
                                   const struct receivers *receivers,
                                   const struct receiver *receiver,
                                   const struct outgoing *outgoing,
                                   struct message_fate *out)
{
    CH_CLEANUP(group_copy_deinit) struct group_copy copy = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    const struct store_alert *first = &outgoing->alerts[0];
    bool found =
        outgoing->count == 1 && first->group[0] != 0 &&
        group_copy_find(alerts->options.store, "", first->group, &copy) == CH_OK;
    const struct alert_content content = { outgoing->alerts, outgoing->count,
                                           found ? &copy.group : NULL,
                                           alerts->options.site };
    const struct message_hook hook = { receiver->target, receiver->secret, first->id };
    const struct message_server *server = &receivers->server;
    if (receiver->mail)
        alert_write_mail(&content, server, receiver->target, &body);
    else
        alert_write_body(&content, receiver, &body);
    *out = (struct message_fate){ .wait_s = -1, .why = "out of memory" };
    if (!text_ok(&body))
        return CH_ERR_NO_MEMORY;
    return receiver->mail
               ? message_mail(server, receiver->target, body.bytes, body.size, out)
               : message_post(&hook, body.bytes, body.size, out);
}

// keep_fate stores what became of a message, and does not give up: until it is stored,
// nothing else is sent, because a claim that runs out would send it again.
static void keep_fate(struct alerts *alerts, const struct store_message *message,
                      enum ch_status sent, const struct message_fate *fate)
{
    char error[STORE_ERROR_SIZE];
    enum ch_status status = CH_OK;
    int64_t due_ms =
        timestamp_now() + backoff_wait_s(fate->wait_s, (uint32_t)message->tries) * 1000;
    do {
        status = sent == CH_OK
                     ? store_message_done(alerts->options.store, message, error)
                     : store_message_later(alerts->options.store, message, due_ms,
                                           fate->why, error);
        if (status != CH_OK)
            alerts->options.complain(error);
    } while (status != CH_OK && background_pause(&alerts->background, TROUBLE_MS));
}

// send_next sends what is due for a receiver, and returns whether there was anything.
static enum ch_status send_next(struct alerts *alerts,
                                const struct receivers *receivers,
                                const struct receiver *receiver, bool *out_more,
                                char error[STORE_ERROR_SIZE])
{
    struct outgoing *CH_CLEANUP(free_outgoing_at) outgoing =
        calloc(1, sizeof(*outgoing));
    struct message_fate fate;
    if (outgoing == NULL)
        return CH_ERR_NO_MEMORY;
    outgoing->message =
        (struct store_message){ .receiver = receiver->id,
                                .pace = { receiver->window_ms, receiver->most.count,
                                          receiver->most.period_ms } };
    enum ch_status status =
        store_message_claim(alerts->options.store, &outgoing->message, LEASE_MS,
                            take_outgoing, outgoing, error);
    if (status != CH_OK)
        return status == CH_ERR_NOT_FOUND ? CH_OK : status;
    if (outgoing->failed || outgoing->count == 0)
        return CH_ERR_NO_MEMORY;
    enum ch_status sent = send_message(alerts, receivers, receiver, outgoing, &fate);
    metrics_count(sent == CH_OK ? &alerts->options.metrics->alerts_sent
                                : &alerts->options.metrics->alert_failures);
    keep_fate(alerts, &outgoing->message, sent, &fate);
    *out_more |= sent == CH_OK;
    return CH_OK;
}

// load_receivers takes what another collector, or somebody here, changed.
static enum ch_status load_receivers(struct alerts *alerts,
                                     char error[STORE_ERROR_SIZE])
{
    int64_t now_ms = timestamp_now();
    if (now_ms - alerts->loaded_ms < LOAD_MS && now_ms >= alerts->loaded_ms)
        return CH_OK;
    alerts->loaded_ms = now_ms;
    return receiver_list_load(alerts->options.receivers, false, error,
                              STORE_ERROR_SIZE);
}

// notify looks around, and sends what is due.
static enum ch_status notify(struct alerts *alerts, struct receivers *receivers,
                             bool *out_more, char error[STORE_ERROR_SIZE])
{
    const struct store_receivers spread = { .ids = receivers->ids,
                                            .count = receivers->count,
                                            .wanted = wants_alert,
                                            .context = receivers };
    size_t count = 0;
    enum ch_status status = look_around(alerts, receivers, error);
    // Where there are no receivers, too: one that is added later starts from then.
    if (status == CH_OK)
        status = store_alerts_spread(alerts->options.store, &spread, &count, error);
    for (size_t i = 0; i < receivers->count && status == CH_OK; i++) {
        if (!background_pause(&alerts->background, 0))
            return CH_OK;
        status = send_next(alerts, receivers, &receivers->list[i], out_more, error);
    }
    return status;
}

// alerts_step does what there is to do, and returns how long to wait.
static int alerts_step(struct alerts *alerts)
{
    char error[STORE_ERROR_SIZE] = "out of memory";
    bool more = false;
    enum ch_status status = load_receivers(alerts, error);
    if (status == CH_OK) {
        struct receivers *receivers = receivers_take(alerts->options.receivers);
        status = notify(alerts, receivers, &more, error);
        receivers_release(alerts->options.receivers, receivers);
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
    char error[STORE_ERROR_SIZE];
    // Before a report can come: who is notified of it is known then.
    enum ch_status status = load_receivers(alerts, error);
    if (status != CH_OK)
        options->complain(error);
    status = background_start(&alerts->background, alerts_main, alerts);
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

enum ch_status alerts_test(struct store *store, struct receiver_list *list,
                           const char *project, const char *id,
                           char error[STORE_ERROR_SIZE])
{
    const struct store_alert alert = { .kind = "test",
                                       .group = "",
                                       .title = "this receiver is told of crashes",
                                       .detail = id,
                                       .body = "",
                                       .time_ms = timestamp_now() };
    struct receivers *receivers = receivers_take(list);
    enum ch_status status = CH_ERR_NOT_FOUND;
    for (size_t i = 0; i < receivers->count && status == CH_ERR_NOT_FOUND; i++) {
        const char *own = receivers->list[i].project;
        if (strcmp(receivers->list[i].id, id) == 0 &&
            (project[0] == 0 || (own != NULL && strcmp(own, project) == 0)))
            status = store_alert_add(store, &alert, alert.time_ms, error);
    }
    receivers_release(list, receivers);
    return status;
}

enum ch_status alerts_add_receiver(struct receiver_list *receivers, const char *project,
                                   const char *line, char id[RECEIVER_ID_SIZE],
                                   char why[STORE_ERROR_SIZE])
{
    char whole[RECEIVER_LINE_SIZE];
    bool bound = project[0] != 0;
    if (bound && strstr(line, " project=") != NULL) {
        snprintf(why, STORE_ERROR_SIZE, "this receiver is of your project");
        return CH_ERR_MALFORMED;
    }
    int length = snprintf(whole, sizeof(whole), "%s%s%s", line,
                          bound ? " project=" : "", project);
    if (length < 0 || (size_t)length >= sizeof(whole))
        whole[0] = 0;
    enum ch_status status = receiver_check(receivers, whole, id, why, STORE_ERROR_SIZE);
    if (status == CH_OK)
        status = store_receiver_add(receivers->store, id, whole, why);
    return status == CH_OK ? receiver_list_load(receivers, false, why, STORE_ERROR_SIZE)
                           : status;
}

enum ch_status alerts_remove_receiver(struct receiver_list *list, const char *project,
                                      const char *id, char error[STORE_ERROR_SIZE])
{
    bool found = false;
    struct receivers *receivers = receivers_take(list);
    for (size_t i = 0; i < receivers->count; i++) {
        const char *own = receivers->list[i].project;
        found |= strcmp(receivers->list[i].id, id) == 0 && receivers->list[i].kept &&
                 (project[0] == 0 || (own != NULL && strcmp(own, project) == 0));
    }
    receivers_release(list, receivers);
    enum ch_status status =
        found ? store_receiver_remove(list->store, id, error) : CH_ERR_NOT_FOUND;
    return status == CH_OK ? receiver_list_load(list, false, error, STORE_ERROR_SIZE)
                           : status;
}
