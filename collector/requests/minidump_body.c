// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/minidump_body.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "collector/entry/user_name.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"

enum {
    FIELD_NAME = 200,   // bytes of a field's name
    FIELD_VALUE = 4096, // of its value, where it is a fact
    TAGS_MAX = 100,
    BOUNDARY_MAX = 200,
};

// member_of is the member of a report that a fact of this name becomes; NULL: a tag.
static const char *member_of(const char *name)
{
    static const char *const releases[] = { "release", "ver", "version", "Version",
                                            "_version" };
    for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
        if (strcmp(name, releases[i]) == 0)
            return "release";
    return strcmp(name, "environment") == 0 ? "environment" : NULL;
}

void minidump_body_note(json_t *facts, const char *name, const char *value)
{
    struct text CH_CLEANUP(text_deinit) masked = { 0 };
    const char *member = member_of(name);
    json_t *tags = json_object_get(facts, "tags");
    if (tags == NULL) {
        tags = json_object();
        (void)json_object_set_new(facts, "tags", tags);
    }
    json_t *into = member != NULL ? facts : tags;
    const char *key = member != NULL ? member : name;
    sanitize_named(name, strlen(name), value, NULL, &masked);
    if (*key != 0 && json_object_get(into, key) == NULL &&
        json_object_size(tags) < TAGS_MAX && text_ok(&masked) && masked.size != 0)
        (void)json_object_set_new(into, key, json_string(masked.bytes));
}

// note_sentry_event adds what an event of Sentry's has: tags are an object, or pairs.
static void note_sentry_event(json_t *facts, const void *bytes, size_t size)
{
    static const char *const members[] = { "release", "environment" };
    json_auto_t *event = json_loadb(bytes, size, JSON_DISABLE_EOF_CHECK, NULL);
    json_t *tags = json_object_get(event, "tags");
    const char *key;
    json_t *value;
    size_t i;
    for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *said = report_string(event, members[i]);
        if (said != NULL)
            minidump_body_note(facts, members[i], said);
    }
    const char *user = report_string(json_object_get(event, "user"), "id");
    if (user != NULL)
        minidump_body_note(facts, USER_NAME_TAG, user);
    json_object_foreach(tags, key, value)
    {
        if (json_is_string(value))
            minidump_body_note(facts, key, json_string_value(value));
    }
    json_array_foreach(tags, i, value)
    {
        key = json_string_value(json_array_get(value, 0));
        const char *said = json_string_value(json_array_get(value, 1));
        if (key != NULL && said != NULL)
            minidump_body_note(facts, key, said);
    }
}

// note_field adds a field of a form. sentry[tags][x] is the tag x.
static void note_field(json_t *facts, const char *name, struct cursor value)
{
    static const char tag[] = "sentry[tags][";
    static const char fact[] = "sentry[";
    char text[FIELD_VALUE];
    char key[FIELD_NAME];
    size_t size = cursor_left(&value);
    if (strcmp(name, "sentry") == 0) {
        note_sentry_event(facts, value.at, size);
        return;
    }
    if (size == 0 || size >= sizeof(text) || memchr(value.at, 0, size) != NULL)
        return;
    (void)snprintf(text, sizeof(text), "%.*s", (int)size, (const char *)value.at);
    if (strncmp(name, tag, sizeof(tag) - 1) == 0)
        name += sizeof(tag) - 1;
    else if (strncmp(name, fact, sizeof(fact) - 1) == 0)
        name += sizeof(fact) - 1;
    (void)snprintf(key, sizeof(key), "%.*s", (int)strcspn(name, "]"), name);
    minidump_body_note(facts, key, text);
}

// take_until gives the bytes before mark and passes over both. False: there is no mark.
static bool take_until(struct cursor *c, const char *mark, size_t mark_size,
                       struct cursor *out)
{
    size_t left = cursor_left(c);
    const uint8_t *found = left != 0 ? memmem(c->at, left, mark, mark_size) : NULL;
    if (found == NULL)
        return false;
    *out = cursor_child(c, (size_t)(found - c->at));
    cursor_skip(c, mark_size);
    return true;
}

// read_field_name reads the name out of the head of a part.
static bool read_field_name(struct cursor head, char out[static FIELD_NAME])
{
    static const char mark[] = " name=\"";
    struct cursor name;
    if (!take_until(&head, mark, sizeof(mark) - 1, &name) ||
        !take_until(&head, "\"", 1, &name) || cursor_left(&name) >= FIELD_NAME)
        return false;
    (void)snprintf(out, FIELD_NAME, "%.*s", (int)cursor_left(&name),
                   (const char *)name.at);
    return true;
}

// read_multipart goes through the parts of a form. Its first line is the boundary.
static bool read_multipart(struct cursor body, json_t *facts, struct cursor *out_dump)
{
    char boundary[BOUNDARY_MAX + 2] = "\r\n";
    char name[FIELD_NAME];
    struct cursor line;
    struct cursor head;
    struct cursor value;
    bool found = false;
    if (!take_until(&body, "\r\n", 2, &line) || cursor_left(&line) < 3 ||
        cursor_left(&line) > BOUNDARY_MAX || memcmp(line.at, "--", 2) != 0)
        return false;
    size_t boundary_size = 2 + cursor_left(&line);
    memcpy(boundary + 2, line.at, cursor_left(&line));
    while (take_until(&body, "\r\n\r\n", 4, &head) &&
           take_until(&body, boundary, boundary_size, &value)) {
        if (!read_field_name(head, name))
            continue;
        if (strcmp(name, "upload_file_minidump") != 0)
            note_field(facts, name, value);
        else if (!found)
            *out_dump = value;
        found = found || strcmp(name, "upload_file_minidump") == 0;
    }
    return found;
}

// take_line_json takes a line of JSON; NULL: it is none.
static json_t *take_line_json(struct cursor *c)
{
    struct cursor line;
    if (!take_until(c, "\n", 1, &line))
        line = cursor_child(c, cursor_left(c));
    return json_loadb((const char *)line.at, cursor_left(&line), 0, NULL);
}

// read_envelope goes through the items of an envelope.
static bool read_envelope(struct cursor body, json_t *facts, struct cursor *out_dump)
{
    json_auto_t *envelope = take_line_json(&body);
    bool found = false;
    while (envelope != NULL && cursor_left(&body) != 0) {
        json_auto_t *head = take_line_json(&body);
        const char *type = report_string(head, "type");
        const char *attachment = report_string(head, "attachment_type");
        json_int_t length = report_integer(head, "length", -1);
        struct cursor item;
        if (head == NULL || type == NULL)
            break;
        if (length >= 0) {
            item = cursor_child(&body, (size_t)length);
            cursor_skip(&body, cursor_left(&body) != 0);
        } else if (!take_until(&body, "\n", 1, &item)) {
            item = cursor_child(&body, cursor_left(&body));
        }
        if (!cursor_ok(&item))
            break; // the envelope is cut
        if (strcmp(type, "event") == 0)
            note_sentry_event(facts, item.at, cursor_left(&item));
        if (found || strcmp(type, "attachment") != 0 || attachment == NULL ||
            strcmp(attachment, "event.minidump") != 0)
            continue;
        *out_dump = item;
        found = true;
    }
    return found;
}

enum ch_status minidump_body_read(enum minidump_body_form form, const void *bytes,
                                  size_t size, json_t *facts, struct cursor *out_dump,
                                  const char **out_why)
{
    bool envelope = form == MINIDUMP_BODY_ENVELOPE;
    struct cursor body = cursor_over(bytes, size);
    bool found = envelope ? read_envelope(body, facts, out_dump)
                          : read_multipart(body, facts, out_dump);
    *out_why = envelope ? "the envelope has no attachment of type event.minidump"
                        : "the form has no field upload_file_minidump";
    return found ? CH_OK : CH_ERR_MALFORMED;
}
