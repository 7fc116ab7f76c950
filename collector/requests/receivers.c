// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/receivers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/server/rate.h"
#include "collector/server/setting_line.h"
#include "collector/store/store_alerts.h"
#include "report/file/digest.h"

static const char server_word[] = "server=";

enum {
    FILE_BYTES = 64 << 10,
    HOUR_MINUTES = 60,
    DAY_HOURS = 24,
    WINDOW_MS = 60000, // unless a receiver says otherwise
    LIMIT_COUNT = 30,
    LIMIT_MS = 3600000,
};

static const struct setting_flag kinds[] = {
    { "new", RECEIVER_NEW },
    { "regressed", RECEIVER_REGRESSED },
    { "rising", RECEIVER_RISING },
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

// read_minute reads `07:00`.
static bool read_minute(const char *text, int *out)
{
    static const char digits[] = "0123456789";
    if (strspn(text, digits) != 2 || text[2] != ':' || strspn(text + 3, digits) != 2 ||
        text[5] != 0)
        return false;
    int hour = (text[0] - '0') * 10 + text[1] - '0';
    int minute = (text[3] - '0') * 10 + text[4] - '0';
    *out = hour * HOUR_MINUTES + minute;
    return hour < DAY_HOURS && minute < HOUR_MINUTES;
}

static const char *const formats[] = {
    [RECEIVER_JSON] = "json",
    [RECEIVER_SLACK] = "slack",
    [RECEIVER_DISCORD] = "discord",
    [RECEIVER_PAGERDUTY] = "pagerduty",
    [RECEIVER_ALERTMANAGER] = "alertmanager",
};

static bool read_format(const char *value, enum receiver_format *out)
{
    if (strcmp(value, "mattermost") == 0)
        value = "slack";
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(value, formats[i]) != 0)
            continue;
        *out = (enum receiver_format)i;
        return true;
    }
    return false;
}

// take_condition takes a setting that says which groups a receiver wants. NULL: it is
// another one; empty: it was taken; else what is wrong.
static const char *take_condition(struct receiver *receiver, const char *key,
                                  const char *value)
{
    const struct {
        const char *key;
        const char **to;
    } texts[] = {
        { "project", &receiver->project },
        { "program", &receiver->program },
        { "environment", &receiver->environment },
        { "kind", &receiver->crash_kind },
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (strcmp(key, texts[i].key) != 0)
            continue;
        *texts[i].to = value;
        return "";
    }
    if (strcmp(key, "in_app") == 0) {
        receiver->in_app = strcmp(value, "yes") == 0;
        return receiver->in_app || strcmp(value, "no") == 0 ? ""
                                                            : "in_app= takes yes or no";
    }
    if (strcmp(key, "machines") == 0) {
        char *end = NULL;
        receiver->machines = strtol(value, &end, 10);
        return receiver->machines > 0 && *end == 0 ? "" : "machines= takes a number";
    }
    return NULL;
}

// read_message_window reads `1m`, or `0s`.
static bool read_message_window(const char *value, int64_t *out)
{
    char rate[RECEIVER_RULE_SIZE];
    struct rate_limit one = { 0 };
    (void)snprintf(rate, sizeof(rate), "1/%s", value);
    *out = 0;
    if (strcmp(value, "0s") == 0)
        return true;
    bool read = rate_parse(rate, &one) == CH_OK;
    *out = one.period_ms;
    return read;
}

// take_pace takes a setting that says how often and in which form a receiver is
// notified, as take_condition does.
static const char *take_pace(struct receiver *receiver, const char *key,
                             const char *value)
{
    if (strcmp(key, "window") == 0)
        return read_message_window(value, &receiver->window_ms)
                   ? ""
                   : "window= takes a time such as 1m, or 0s";
    if (strcmp(key, "limit") == 0)
        return rate_parse(value, &receiver->most) == CH_OK
                   ? ""
                   : "limit= takes messages in a time such as 30/1h";
    if (strcmp(key, "format") == 0 && !receiver->mail)
        return read_format(value, &receiver->format)
                   ? ""
                   : "format= takes json, slack, mattermost, discord, pagerduty or"
                     " alertmanager";
    if (strcmp(key, "key") != 0 || receiver->mail)
        return NULL;
    receiver->key = value;
    return "";
}

// take_setting takes one setting of a receiver, and returns what is wrong with it.
static const char *take_setting(struct receiver *receiver, const char *key,
                                const char *value)
{
    if (strcmp(key, "on") == 0)
        return setting_flags_read(value, kinds, KIND_COUNT, &receiver->kinds)
                   ? NULL
                   : "on= takes new, regressed and rising, with commas";
    if (strcmp(key, "digest") == 0)
        return read_minute(value, &receiver->digest_minute)
                   ? NULL
                   : "digest= takes a time such as 07:00 (UTC)";
    if (strcmp(key, "count") == 0) {
        (void)snprintf(receiver->rule, sizeof(receiver->rule), "%s", value);
        return strlen(value) < sizeof(receiver->rule) &&
                       rate_parse(value, &receiver->limit) == CH_OK
                   ? NULL
                   : "count= takes a number in a time such as 100/1h";
    }
    if (strcmp(key, "secret") == 0 && !receiver->mail) {
        receiver->secret = value;
        return NULL;
    }
    const char *taken = take_condition(receiver, key, value);
    if (taken == NULL)
        taken = take_pace(receiver, key, value);
    if (taken == NULL)
        return "there is no such setting";
    return taken[0] != 0 ? taken : NULL;
}

static const char *take_server_setting(struct message_server *server, const char *key,
                                       const char *value)
{
    if (strcmp(key, "from") == 0)
        server->from = value;
    else if (strcmp(key, "user") == 0)
        server->user = value;
    else if (strcmp(key, "password") == 0)
        server->password = value;
    else
        return "there is no such setting of the server";
    return NULL;
}

// is_address keeps out what could end a header or name a second address.
static bool is_address(const char *text)
{
    const char *at = strchr(text, '@');
    return at != NULL && at != text && at[1] != 0 &&
           strpbrk(text, "<>,;:\"\\()[]") == NULL;
}

static bool is_web_address(const char *text)
{
    return strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;
}

// take_receiver takes a line that begins with a URL or an address.
static const char *take_receiver(struct receivers *receivers,
                                 const struct setting_line *line, bool mail)
{
    char sum[SHA256_HEX_SIZE];
    if (mail ? !is_address(line->word) : !is_web_address(line->word))
        return mail ? "the line does not begin with an address or server="
                    : "the line does not begin with http:// or https://";
    if (receivers->count == RECEIVERS_MAX)
        return "there are more than 32 receivers";
    struct receiver *receiver = &receivers->list[receivers->count];
    *receiver = (struct receiver){ .target = line->word,
                                   .mail = mail,
                                   .digest_minute = -1,
                                   .window_ms = WINDOW_MS,
                                   .most = { LIMIT_COUNT, LIMIT_MS } };
    for (size_t i = 0; i < line->count; i++) {
        const char *wrong =
            take_setting(receiver, line->pairs[i].key, line->pairs[i].value);
        if (wrong != NULL)
            return wrong;
    }
    if ((receiver->format == RECEIVER_PAGERDUTY) != (receiver->key != NULL))
        return "format=pagerduty and key= come together";
    // Without a choice of their own they get what happens seldom.
    if (receiver->kinds == 0 && receiver->rule[0] == 0 && receiver->digest_minute < 0)
        receiver->kinds = RECEIVER_NEW | RECEIVER_REGRESSED;
    sha256_hex(line->word, strlen(line->word), sum);
    memcpy(receiver->id, sum, RECEIVER_ID_SIZE - 1);
    for (size_t i = 0; i < receivers->count; i++) {
        if (strcmp(receivers->list[i].id, receiver->id) == 0)
            return "this receiver stands in another line too";
    }
    receivers->ids[receivers->count++] = receiver->id;
    return NULL;
}

static const char *take_line(struct receivers *receivers, char *text, bool mail)
{
    struct setting_line line;
    enum ch_status status = setting_line_read(text, &line);
    if (status == CH_ERR_NOT_FOUND)
        return NULL;
    if (status != CH_OK)
        return "the line is not a receiver and key=value, separated by blanks";
    if (!mail || strncmp(line.word, server_word, sizeof(server_word) - 1) != 0)
        return take_receiver(receivers, &line, mail);
    receivers->server.url = line.word + sizeof(server_word) - 1;
    for (size_t i = 0; i < line.count; i++) {
        const char *wrong = take_server_setting(&receivers->server, line.pairs[i].key,
                                                line.pairs[i].value);
        if (wrong != NULL)
            return wrong;
    }
    return NULL;
}

static enum ch_status read_receiver_file(const char *path, bool mail,
                                         struct receivers *out, char *why, size_t size)
{
    struct text *text = &out->files[mail];
    enum ch_status status = setting_file_read(path, FILE_BYTES, text);
    if (status != CH_OK) {
        (void)snprintf(why, size, "cannot read '%.200s': %s", path,
                       status == CH_ERR_LIMIT ? "it is longer than 64 KiB"
                                              : strerror(errno));
        return status;
    }
    int number = 0;
    for (char *at = text->size != 0 ? text->bytes : NULL; at != NULL;) {
        char *end = strchr(at, '\n');
        if (end != NULL)
            *end = 0;
        number++;
        const char *wrong = take_line(out, at, mail);
        if (wrong != NULL) {
            (void)snprintf(why, size, "'%.200s', line %d: %s", path, number, wrong);
            return CH_ERR_MALFORMED;
        }
        at = end != NULL ? end + 1 : NULL;
    }
    return CH_OK;
}

// check_server returns what mail lacks.
static const char *check_server(const struct message_server *server)
{
    if (server->url == NULL || (strncmp(server->url, "smtp://", 7) != 0 &&
                                strncmp(server->url, "smtps://", 8) != 0))
        return "a line server=smtp://HOST or smtps://HOST is missing";
    if (server->from == NULL || !is_address(server->from))
        return "from=ADDRESS is missing beside server=";
    if ((server->user == NULL) != (server->password == NULL))
        return "user= and password= come together";
    return NULL;
}

static void receivers_free(struct receivers *receivers)
{
    for (size_t i = 0; i < sizeof(receivers->files) / sizeof(receivers->files[0]); i++)
        text_deinit(&receivers->files[i]);
    free(receivers);
}

// receivers_read reads the files of a list.
static enum ch_status receivers_read(const struct receiver_list *list,
                                     struct receivers **out, char *why, size_t size)
{
    enum ch_status status = CH_OK;
    struct receivers *receivers = calloc(1, sizeof(*receivers));
    *out = receivers;
    (void)snprintf(why, size, "out of memory");
    if (receivers == NULL)
        return CH_ERR_NO_MEMORY;
    receivers->references = 1;
    if (list->hooks != NULL)
        status = read_receiver_file(list->hooks, false, receivers, why, size);
    if (status == CH_OK && list->mail != NULL)
        status = read_receiver_file(list->mail, true, receivers, why, size);
    const char *wrong =
        status == CH_OK && list->mail != NULL ? check_server(&receivers->server) : NULL;
    if (wrong != NULL) {
        (void)snprintf(why, size, "'%.200s': %s", list->mail, wrong);
        status = CH_ERR_MALFORMED;
    }
    if (status != CH_OK) {
        receivers_free(receivers);
        *out = NULL;
    }
    return status;
}

// take_kept_line takes the line of a receiver in the store; what is wrong with it, or
// NULL.
static const char *take_kept_line(struct receivers *receivers, char *text)
{
    struct setting_line line;
    size_t before = receivers->count;
    if (setting_line_read(text, &line) != CH_OK)
        return "the line is not a receiver and key=value, separated by blanks";
    bool mail = !is_web_address(line.word);
    if (mail && receivers->server.url == NULL)
        return "mail needs a server: start the collector with --mail-file";
    const char *wrong = take_receiver(receivers, &line, mail);
    if (receivers->count > before)
        receivers->list[before].kept = true;
    return wrong;
}

static void take_kept_row(void *context, const struct store_receiver_row *row)
{
    struct text *lines = context;
    if (row->line[0] != 0)
        text_append(lines, row->line, strlen(row->line) + 1);
}

static void take_since(void *context, const struct store_receiver_row *row)
{
    struct receivers *receivers = context;
    for (size_t i = 0; i < receivers->count; i++) {
        if (strcmp(receivers->list[i].id, row->id) == 0)
            receivers->list[i].since_ms = row->since_ms;
    }
}

// read_kept adds the receivers that the store has, and since when each is one.
static enum ch_status read_kept(struct store *store, bool reading,
                                struct receivers *receivers, char *why, size_t size)
{
    char error[STORE_ERROR_SIZE] = "cannot read the receivers";
    struct text *lines = &receivers->files[2];
    enum ch_status status =
        reading ? CH_OK
                : store_receivers_seen(store, receivers->ids, receivers->count, error);
    if (status == CH_OK)
        status = store_list_receivers(store, take_kept_row, lines);
    if (status == CH_OK && !text_ok(lines))
        status = CH_ERR_NO_MEMORY;
    for (size_t at = 0; status == CH_OK && at < lines->size;) {
        char *line = lines->bytes + at;
        at += strlen(line) + 1;
        // One that a file has too is in the list already.
        (void)take_kept_line(receivers, line);
    }
    if (status == CH_OK)
        status = store_list_receivers(store, take_since, receivers);
    (void)snprintf(why, size, "%s", error);
    return status;
}

enum ch_status receiver_list_init(struct receiver_list *list, const char *hooks,
                                  const char *mail, char *why, size_t size)
{
    *list = (struct receiver_list){ .hooks = hooks, .mail = mail };
    enum ch_status status = receivers_read(list, &list->current, why, size);
    if (status == CH_OK)
        pthread_mutex_init(&list->lock, NULL);
    return status;
}

void receiver_list_deinit(struct receiver_list *list)
{
    receivers_free(list->current);
    pthread_mutex_destroy(&list->lock);
}

enum ch_status receiver_list_load(struct receiver_list *list, bool reading, char *why,
                                  size_t size)
{
    struct receivers *loaded = NULL;
    enum ch_status status = receivers_read(list, &loaded, why, size);
    if (status == CH_OK)
        status = read_kept(list->store, reading, loaded, why, size);
    if (status != CH_OK) {
        if (loaded != NULL)
            receivers_free(loaded);
        return status;
    }
    pthread_mutex_lock(&list->lock);
    struct receivers *before = list->current;
    list->current = loaded;
    pthread_mutex_unlock(&list->lock);
    receivers_release(list, before);
    return CH_OK;
}

struct receivers *receivers_take(struct receiver_list *list)
{
    pthread_mutex_lock(&list->lock);
    struct receivers *receivers = list->current;
    receivers->references++;
    pthread_mutex_unlock(&list->lock);
    return receivers;
}

void receivers_release(struct receiver_list *list, struct receivers *receivers)
{
    pthread_mutex_lock(&list->lock);
    bool last = --receivers->references == 0;
    pthread_mutex_unlock(&list->lock);
    if (last)
        receivers_free(receivers);
}

enum ch_status receiver_check(struct receiver_list *list, const char *line,
                              char id[RECEIVER_ID_SIZE], char *why, size_t size)
{
    struct receivers alone = { .count = 0 };
    char text[RECEIVER_LINE_SIZE];
    struct receivers *current = receivers_take(list);
    alone.server = current->server;
    bool full = current->count == RECEIVERS_MAX;
    receivers_release(list, current);
    if (strlen(line) >= sizeof(text) || strpbrk(line, "\r\n") != NULL || full) {
        (void)snprintf(why, size,
                       full ? "there are %d receivers already"
                            : "a receiver is one line of less than %d bytes",
                       full ? (int)RECEIVERS_MAX : (int)RECEIVER_LINE_SIZE);
        return CH_ERR_MALFORMED;
    }
    (void)snprintf(text, sizeof(text), "%s", line);
    const char *wrong = take_kept_line(&alone, text);
    if (wrong != NULL) {
        (void)snprintf(why, size, "%s", wrong);
        return CH_ERR_MALFORMED;
    }
    memcpy(id, alone.list[0].id, RECEIVER_ID_SIZE);
    return CH_OK;
}

void receiver_write_name(const struct receiver *receiver, struct text *out)
{
    const char *host = strstr(receiver->target, "://");
    size_t length = strlen(receiver->target);
    if (host != NULL)
        length = (size_t)(host + 3 - receiver->target) + strcspn(host + 3, "/?#");
    text_append(out, receiver->target, length);
    if (length < strlen(receiver->target))
        text_append_string(out, "/\u2026");
}
