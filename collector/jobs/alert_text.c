// SPDX-License-Identifier: Apache-2.0
#include "collector/jobs/alert_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "collector/database/moment.h"

enum {
    SHOWN_TITLE = 160,
    WORD_BYTES = 42, // of a subject in one encoded word, whose length RFC 2047 limits
    LINE_BYTES = 57, // of a body in one line of base64
    DIGEST_GROUPS = 10,
    DATE_SIZE = 64,
};

static const struct {
    const char *kind;
    const char *words;
} headlines[] = {
    { "new", "New" },       { "regressed", "Came back" },
    { "rising", "Rising" }, { "count", "Many reports" },
    { "digest", "Digest" }, { "test", "Test" },
};

static const char *alert_headline(const char *kind)
{
    for (size_t i = 0; i < sizeof(headlines) / sizeof(headlines[0]); i++) {
        if (strcmp(headlines[i].kind, kind) == 0)
            return headlines[i].words;
    }
    return kind;
}

// write_subject appends one line: what happened, and to what.
static void write_subject(const struct alert_content *content, struct text *out)
{
    const struct store_alert *alert = content->alert;
    char title[SHOWN_TITLE];
    entry_copy(title, sizeof(title), alert->title);
    text_append_string(out, alert_headline(alert->kind));
    if (strcmp(alert->kind, "regressed") == 0 && alert->detail[0] != 0)
        text_appendf(out, " in %s", alert->detail);
    if (strcmp(alert->kind, "count") == 0)
        text_appendf(out, " (%s)", alert->detail);
    if (title[0] != 0)
        text_appendf(out, ": %s", title);
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

// write_link appends where to read on, and whether it did.
static bool write_link(const struct alert_content *content, struct text *out)
{
    if (content->site == NULL)
        return false;
    text_append_string(out, content->site);
    if (content->alert->group[0] != 0)
        text_appendf(out, "/groups/%s", content->alert->group);
    else
        text_append_string(out, "/");
    return true;
}

static void write_text(const struct alert_content *content, struct text *out)
{
    write_subject(content, out);
    text_append_string(out, "\n");
    if (content->group != NULL) {
        text_appendf(out, "%s\n", content->group->summary);
        write_group_line(content->group, out);
        text_append_string(out, "\n");
    }
    if (content->alert->body[0] != 0)
        text_append_string(out, content->alert->body);
    if (write_link(content, out))
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

void alert_write_json(const struct alert_content *content, struct text *out)
{
    const struct store_alert *alert = content->alert;
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    struct text CH_CLEANUP(text_deinit) url = { 0 };
    char time_text[MOMENT_SIZE];
    moment_write(alert->time_ms, time_text);
    write_text(content, &text);
    json_auto_t *json =
        json_pack("{s:s, s:s, s:s, s:s}", "id", alert->id, "kind", alert->kind, "time",
                  time_text, "text", text_ok(&text) ? text.bytes : "");
    if (alert->detail[0] != 0 && strcmp(alert->kind, "regressed") == 0)
        json_object_set_new(json, "release", json_string(alert->detail));
    if (alert->detail[0] != 0 && strcmp(alert->kind, "count") == 0)
        json_object_set_new(json, "rule", json_string(alert->detail));
    if (alert->report[0] != 0)
        json_object_set_new(json, "report", json_string(alert->report));
    if (write_link(content, &url) && text_ok(&url))
        json_object_set_new(json, "url", json_string(url.bytes));
    if (content->group != NULL)
        json_object_set_new(json, "group", alert_group_json(content->group));
    char *dumped = json_dumps(json, JSON_COMPACT);
    text_append_string(out, dumped != NULL ? dumped : "{\"text\":\"\"}");
    free(dumped);
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
    time_t seconds = (time_t)(content->alert->time_ms / 1000);
    gmtime_r(&seconds, &parts);
    (void)strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", &parts);
    text_append_string(&subject, "[crashhook] ");
    write_subject(content, &subject);
    write_text(content, &body);
    text_appendf(out,
                 "Date: %s\r\nFrom: %s\r\nTo: %s\r\nMessage-ID: <%s@crashhook>\r\n"
                 "X-Crashhook-Alert: %s\r\nSubject: ",
                 date, server->from, to, content->alert->id, content->alert->id);
    write_encoded(text_ok(&subject) ? subject.bytes : "", out);
    text_append_string(out,
                       "\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n"
                       "Content-Type: text/plain; charset=utf-8\r\n"
                       "Content-Transfer-Encoding: base64\r\n\r\n");
    write_lines(text_ok(&body) ? body.bytes : "", body.size, out);
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
                                    .number = now_ms - MOMENT_DAY_MS };
    const struct {
        const char *heading;
        struct store_term term;
    } parts[] = {
        { "New in the last day:",
          { .key = STORE_KEY_FIRST_SEEN, .number = now_ms - MOMENT_DAY_MS } },
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
