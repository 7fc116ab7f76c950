// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/alert_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "collector/database/timestamp.h"

enum {
    SHOWN_TITLE = 160,
    WORD_BYTES = 42, // of a subject in one encoded word, whose length RFC 2047 limits
    LINE_BYTES = 57, // of a body in one line of base64
    DIGEST_GROUPS = 10,
    DATE_SIZE = 64,
    LISTED = 10,         // alerts that a message names
    DISCORD_MOST = 1900, // of 2,000 characters
    PAGER_MOST = 1000,   // of 1,024
};

static const struct {
    const char *kind;
    const char *words;
} headlines[] = {
    { "new", "New" },
    { "regressed", "Came back" },
    { "rising", "Rising" },
    { "count", "Many reports" },
    { "digest", "Digest" },
    { "test", "Test" },
    { "machines", "Many machines" },
};
enum { KIND_COUNT = sizeof(headlines) / sizeof(headlines[0]) };

static const char *alert_headline(const char *kind)
{
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(headlines[i].kind, kind) == 0)
            return headlines[i].words;
    }
    return kind;
}

// write_one_subject appends what happened, and to what.
static void write_one_subject(const struct store_alert *alert, struct text *out)
{
    char title[SHOWN_TITLE];
    entry_copy(title, sizeof(title), alert->title);
    text_append_string(out, alert_headline(alert->kind));
    if (strcmp(alert->kind, "regressed") == 0 && alert->detail[0] != 0)
        text_appendf(out, " in %s", alert->detail);
    if (strcmp(alert->kind, "count") == 0)
        text_appendf(out, " (%s)", alert->detail);
    if (strcmp(alert->kind, "machines") == 0)
        text_appendf(out, " (%s or more)", alert->detail);
    if (title[0] != 0)
        text_appendf(out, ": %s", title);
}

static size_t count_of_kind(const struct alert_content *content, const char *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < content->count; i++)
        count += strcmp(content->alerts[i].kind, kind) == 0;
    return count;
}

// write_subject appends one line: of several alerts, how many there are of each kind.
static void write_subject(const struct alert_content *content, struct text *out)
{
    const char *between = ": ";
    if (content->count == 1) {
        write_one_subject(&content->alerts[0], out);
        return;
    }
    text_appendf(out, "%zu alerts", content->count);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        size_t count = count_of_kind(content, headlines[i].kind);
        if (count == 0)
            continue;
        text_appendf(out, "%s%zu %s", between, count, headlines[i].kind);
        between = ", ";
    }
}

static void write_group_line(const struct store_group *group, struct text *out)
{
    text_appendf(out, "%lld %s on %lld %s", (long long)group->count,
                 group->count == 1 ? "report" : "reports", (long long)group->machines,
                 group->machines == 1 ? "machine" : "machines");
    if (group->program_count != 0)
        text_appendf(out, ", %s", group->programs[0]);
    if (group->release_count != 0)
        text_appendf(out, ", release %s", group->releases[0]);
}

// write_link appends where to read on of an alert, or, NULL, of all; false: it is not
// known.
static bool write_link(const struct alert_content *content,
                       const struct store_alert *alert, struct text *out)
{
    if (content->site == NULL)
        return false;
    text_append_string(out, content->site);
    if (alert != NULL && alert->group[0] != 0)
        text_appendf(out, "/groups/%s", alert->group);
    else
        text_append_string(out, alert != NULL ? "/" : "/alerts");
    return true;
}

// only_alert is the alert that a message is about, or NULL where there are several.
static const struct store_alert *only_alert(const struct alert_content *content)
{
    return content->count == 1 ? &content->alerts[0] : NULL;
}

static void write_alerts(const struct alert_content *content, struct text *out)
{
    for (size_t i = 0; i < content->count && i < LISTED; i++) {
        text_append_string(out, "- ");
        write_one_subject(&content->alerts[i], out);
        text_append_string(out, "\n");
        if (content->site == NULL)
            continue;
        text_append_string(out, "  ");
        (void)write_link(content, &content->alerts[i], out);
        text_append_string(out, "\n");
    }
    if (content->count > LISTED)
        text_appendf(out, "and %zu more\n", content->count - LISTED);
}

static void write_text(const struct alert_content *content, struct text *out)
{
    write_subject(content, out);
    text_append_string(out, "\n");
    if (content->count > 1)
        write_alerts(content, out);
    if (content->group != NULL) {
        text_appendf(out, "%s\n", content->group->summary);
        write_group_line(content->group, out);
        text_append_string(out, "\n");
    }
    if (content->count == 1)
        text_append_string(out, content->alerts[0].body);
    if (write_link(content, only_alert(content), out))
        text_append_string(out, "\n");
}

static json_t *alert_group_json(const struct store_group *group)
{
    json_t *releases = json_array();
    for (size_t i = 0; i < group->release_count; i++)
        json_array_append_new(releases, json_string(group->releases[i]));
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:o}", "id", group->id,
                     "title", group->title, "summary", group->summary, "status",
                     group->status, "count", (json_int_t)group->count, "machines",
                     (json_int_t)group->machines, "first_release", group->first_release,
                     "releases", releases);
}

// alert_json is one alert of a message.
static json_t *alert_json(const struct alert_content *content,
                          const struct store_alert *alert)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    char time_text[TIMESTAMP_SIZE];
    timestamp_write(alert->time_ms, time_text);
    json_t *json = json_pack("{s:s, s:s, s:s}", "id", alert->id, "kind", alert->kind,
                             "time", time_text);
    if (alert->detail[0] != 0 && strcmp(alert->kind, "regressed") == 0)
        json_object_set_new(json, "release", json_string(alert->detail));
    if (alert->detail[0] != 0 &&
        (strcmp(alert->kind, "count") == 0 || strcmp(alert->kind, "machines") == 0))
        json_object_set_new(json, "rule", json_string(alert->detail));
    if (alert->report[0] != 0)
        json_object_set_new(json, "report", json_string(alert->report));
    if (write_link(content, alert, &url) && text_ok(&url))
        json_object_set_new(json, "url", json_string(url.bytes));
    return json;
}

// several_json returns how many alerts of each kind there are, and names them.
static json_t *several_json(const struct alert_content *content)
{
    json_t *counts = json_object();
    json_t *list = json_array();
    json_t *json = alert_json(content, &content->alerts[0]);
    for (size_t i = 0; i < KIND_COUNT; i++) {
        size_t count = count_of_kind(content, headlines[i].kind);
        if (count != 0)
            json_object_set_new(counts, headlines[i].kind,
                                json_integer((json_int_t)count));
    }
    for (size_t i = 0; i < content->count; i++) {
        const struct store_alert *alert = &content->alerts[i];
        json_t *one = alert_json(content, alert);
        json_object_set_new(one, "group", json_string(alert->group));
        json_object_set_new(one, "title", json_string(alert->title));
        json_array_append_new(list, one);
    }
    json_object_set_new(json, "kind", json_string("several"));
    json_object_set_new(json, "counts", counts);
    json_object_set_new(json, "alerts", list);
    json_object_del(json, "report");
    json_object_del(json, "release");
    json_object_del(json, "rule");
    return json;
}

static json_t *own_json(const struct alert_content *content, const char *text)
{
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    json_t *json = content->count == 1 ? alert_json(content, &content->alerts[0])
                                       : several_json(content);
    json_object_set_new(json, "text", json_string(text));
    if (content->count > 1 && write_link(content, NULL, &url) && text_ok(&url))
        json_object_set_new(json, "url", json_string(url.bytes));
    if (content->group != NULL)
        json_object_set_new(json, "group", alert_group_json(content->group));
    return json;
}

// slack_json escapes what is markup there, so that no title mentions anybody.
static json_t *slack_json(const char *text)
{
    struct text CH_CLEANUP(text_deinit) escaped = { 0 };
    for (; *text != 0; text++) {
        if (*text == '&')
            text_append_string(&escaped, "&amp;");
        else if (*text == '<')
            text_append_string(&escaped, "&lt;");
        else if (*text == '>')
            text_append_string(&escaped, "&gt;");
        else
            text_append(&escaped, text, 1);
    }
    return json_pack("{s:s}", "text", text_string(&escaped));
}

static json_t *discord_json(const char *text)
{
    char cut[DISCORD_MOST];
    entry_copy(cut, sizeof(cut), text);
    return json_pack("{s:s, s:{s:[]}}", "content", cut, "allowed_mentions", "parse");
}

// pagerduty_json is an event that opens an incident, or adds to that of the same group.
static json_t *pagerduty_json(const struct alert_content *content, const char *key,
                              const char *text)
{
    struct text CH_CLEANUP(text_deinit) subject = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    char cut[PAGER_MOST];
    char time_text[TIMESTAMP_SIZE];
    const struct store_alert *first = &content->alerts[0];
    bool alone = content->count == 1 && first->group[0] != 0;
    timestamp_write(first->time_ms, time_text);
    write_subject(content, &subject);
    entry_copy(cut, sizeof(cut), text_string(&subject));
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:{s:s, s:s, s:s, s:s, s:{s:s, s:s}}}", "routing_key",
        key, "event_action", "trigger", "dedup_key", alone ? first->group : first->id,
        "client", "crashhook", "payload", "summary", cut, "source",
        content->site != NULL ? content->site : "crashhook", "severity", "error",
        "timestamp", time_text, "custom_details", "id", first->id, "text", text);
    if (write_link(content, only_alert(content), &url) && text_ok(&url))
        json_object_set_new(
            json, "links",
            json_pack("[{s:s, s:s}]", "href", url.bytes, "text", "crashhook"));
    return json;
}

static json_t *firing_json(const struct alert_content *content,
                           const struct store_alert *alert)
{
    struct text CH_CLEANUP(text_deinit) subject = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    char time_text[TIMESTAMP_SIZE];
    timestamp_write(alert->time_ms, time_text);
    write_one_subject(alert, &subject);
    bool linked = write_link(content, alert, &url) && text_ok(&url);
    return json_pack("{s:s, s:{s:s, s:s, s:s}, s:{s:s}, s:s, s:s, s:s, s:s}", "status",
                     "firing", "labels", "alertname", "CrashhookAlert", "kind",
                     alert->kind, "group", alert->group, "annotations", "summary",
                     text_string(&subject), "startsAt", time_text, "endsAt",
                     "0001-01-01T00:00:00Z", "generatorURL", linked ? url.bytes : "",
                     "fingerprint", alert->id);
}

// alertmanager_json is what Alertmanager sends to its web hooks.
static json_t *alertmanager_json(const struct alert_content *content,
                                 const struct receiver *receiver)
{
    json_t *list = json_array();
    for (size_t i = 0; i < content->count; i++)
        json_array_append_new(list, firing_json(content, &content->alerts[i]));
    return json_pack("{s:s, s:s, s:i, s:s, s:s, s:{s:s}, s:{s:s}, s:{}, s:s, s:o}",
                     "version", "4", "groupKey", receiver->id, "truncatedAlerts", 0,
                     "status", "firing", "receiver", receiver->id, "groupLabels",
                     "alertname", "CrashhookAlert", "commonLabels", "alertname",
                     "CrashhookAlert", "commonAnnotations", "externalURL",
                     content->site != NULL ? content->site : "", "alerts", list);
}

void alert_write_body(const struct alert_content *content,
                      const struct receiver *receiver, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    write_text(content, &text);
    const char *said = text_string(&text);
    json_t *json = NULL;
    switch (receiver->format) {
    case RECEIVER_SLACK:
        json = slack_json(said);
        break;
    case RECEIVER_DISCORD:
        json = discord_json(said);
        break;
    case RECEIVER_PAGERDUTY:
        json = pagerduty_json(content, receiver->key, said);
        break;
    case RECEIVER_ALERTMANAGER:
        json = alertmanager_json(content, receiver);
        break;
    default:
        json = own_json(content, said);
        break;
    }
    char *dumped = json_dumps(json, JSON_COMPACT);
    text_append_string(out, dumped != NULL ? dumped : "{\"text\":\"\"}");
    free(dumped);
    json_decref(json);
}

// write_encoded appends a header's value as encoded words (RFC 2047): no title can end
// the header or begin another one.
static void write_encoded(const char *value, struct text *out)
{
    size_t left = strlen(value);
    while (left > 0) {
        char word[BASE64_SIZE(WORD_BYTES)];
        size_t part = left < WORD_BYTES ? left : WORD_BYTES;
        // A word holds whole characters.
        while (part < left && part > 1 && ((unsigned char)value[part] & 0xC0) == 0x80)
            part--;
        base64_encode(value, part, word);
        text_appendf(out, "=?UTF-8?B?%s?=%s", word, part < left ? "\r\n " : "");
        value += part;
        left -= part;
    }
}

static void write_lines(const char *bytes, size_t size, struct text *out)
{
    for (size_t at = 0; at < size; at += LINE_BYTES) {
        char line[BASE64_SIZE(LINE_BYTES)];
        size_t part = size - at < LINE_BYTES ? size - at : LINE_BYTES;
        base64_encode(bytes + at, part, line);
        text_appendf(out, "%s\r\n", line);
    }
}

void alert_write_mail(const struct alert_content *content,
                      const struct message_server *server, const char *to,
                      struct text *out)
{
    struct text CH_CLEANUP(text_deinit) subject = { 0 };
    struct text CH_CLEANUP(text_deinit) body = { 0 };
    char date[DATE_SIZE];
    struct tm parts;
    time_t seconds = (time_t)(content->alerts[0].time_ms / 1000);
    gmtime_r(&seconds, &parts);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", &parts);
    text_append_string(&subject, "[crashhook] ");
    write_subject(content, &subject);
    write_text(content, &body);
    text_appendf(out,
                 "Date: %s\r\nFrom: %s\r\nTo: %s\r\nMessage-ID: <%s@crashhook>\r\n"
                 "X-Crashhook-Alert: %s\r\nSubject: ",
                 date, server->from, to, content->alerts[0].id, content->alerts[0].id);
    write_encoded(text_string(&subject), out);
    text_append_string(out,
                       "\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                       "Content-Type: text/plain; charset=utf-8\r\n"
                       "Content-Transfer-Encoding: base64\r\n\r\n");
    write_lines(text_string(&body), body.size, out);
}

struct digest {
    struct text *out;
    const char *site;
    const char *heading;
    size_t count;
};

static void write_digest_group(void *context, const struct store_group *group)
{
    struct digest *digest = context;
    char title[SHOWN_TITLE];
    if (digest->count++ == 0)
        text_appendf(digest->out, "%s%s\n", digest->out->size != 0 ? "\n" : "",
                     digest->heading);
    entry_copy(title, sizeof(title), group->title);
    text_appendf(digest->out, "- %s\n  %lld in the day, ", title,
                 (long long)group->filtered_count);
    write_group_line(group, digest->out);
    text_append_string(digest->out, "\n");
    if (digest->site != NULL)
        text_appendf(digest->out, "  %s/groups/%s\n", digest->site, group->id);
}

enum ch_status alert_write_digest(struct store *store, int64_t now_ms,
                                  const char *project, const char *site,
                                  struct text *out)
{
    const struct store_term day = { .key = STORE_KEY_SINCE,
                                    .number = now_ms - TIMESTAMP_DAY_MS };
    const struct {
        const char *heading;
        struct store_term term;
    } parts[] = {
        { "New in the last day:",
          { .key = STORE_KEY_FIRST_SEEN, .number = now_ms - TIMESTAMP_DAY_MS } },
        { "Came back, and seen in the last day:",
          { .key = STORE_KEY_STATUS, .value = "regressed" } },
        { "Rising:", { .key = STORE_KEY_RISING } },
        { "Most reports in the last day:", { .key = STORE_KEY_OPEN } },
    };
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct digest digest = { out, site, parts[i].heading, 0 };
        const struct store_filter filter = { .terms = { day, parts[i].term },
                                             .term_count = 2,
                                             .project = project,
                                             .sort = STORE_SORT_COUNT,
                                             .limit = DIGEST_GROUPS };
        char next[STORE_CURSOR_SIZE];
        status = store_list_groups(store, &filter, write_digest_group, &digest, next);
    }
    if (status == CH_OK && out->size == 0)
        text_append_string(out, "No crash was reported in the last day.\n");
    return status;
}
