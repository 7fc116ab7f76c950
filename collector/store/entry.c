// SPDX-License-Identifier: Apache-2.0
#include "collector/store/entry.h"

#include <stdio.h>
#include <string.h>

#include "collector/store/moment.h"
#include "report/readable_name.h"
#include "report/report.h"

enum { HELD_MAX = 1000000000 }; // of one report, so that sums do not overflow

// live_group is the group of all reports in which nothing crashed.
static const char live_group[] = "00000000000000000000000000000000";

void entry_copy(char *out, size_t size, const char *string)
{
    size_t length = strnlen(string, size - 1);
    // Cut before the first byte of a UTF-8 character, never before a continuation byte.
    while (length > 0 && ((unsigned char)string[length] & 0xc0) == 0x80)
        length--;
    memcpy(out, string, length);
    out[length] = 0;
}

bool entry_is_group_id(const char *id)
{
    size_t length = strspn(id, "0123456789abcdef");
    return id[length] == 0 && length >= 8 && length < ENTRY_GROUP_SIZE;
}

// titled_frame is the frame a person would name the crash after: the program's first
// own frame with a name, else the first frame with a name, else the first in a known
// image.
static const json_t *titled_frame(const json_t *frames)
{
    const json_t *named = NULL;
    const json_t *located = NULL;
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame)
    {
        if (report_string(frame, "function") == NULL) {
            if (located == NULL && json_is_integer(json_object_get(frame, "image")))
                located = frame;
            continue;
        }
        if (!json_is_true(json_object_get(frame, "system")))
            return frame;
        if (named == NULL)
            named = frame;
    }
    return named != NULL ? named : located;
}

static void write_title(const json_t *report, const char *signal_name,
                        struct entry *out)
{
    const json_t *frames = report_frames(report_crashed_thread(report));
    const json_t *frame = titled_frame(frames);
    const char *function = report_string(frame, "function");
    char title[1024];
    if (function != NULL) {
        struct text name = { 0 };
        readable_name(function, &name);
        snprintf(title, sizeof(title), "%s in %s", signal_name,
                 name.bytes != NULL ? name.bytes : function);
        text_deinit(&name);
    } else if (frame != NULL) {
        const char *image = report_string(report_image(report, frame), "name");
        const char *offset = report_string(frame, "image_offset");
        snprintf(title, sizeof(title), "%s in %s+%s", signal_name,
                 image != NULL ? image : "an unknown image",
                 offset != NULL ? offset : "?");
    } else {
        snprintf(title, sizeof(title), "%s", signal_name);
    }
    entry_copy(out->title, sizeof(out->title), title);
}

static void copy_tags(const json_t *tags, struct entry *out)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)tags, key, value)
    {
        if (!json_is_string(value) || out->tag_count == ENTRY_TAGS)
            continue;
        struct entry_tag *tag = &out->tags[out->tag_count++];
        entry_copy(tag->key, sizeof(tag->key), key);
        entry_copy(tag->value, sizeof(tag->value), json_string_value(value));
    }
}

// copy_held copies the counts of crashes that the sender's spool held back, by
// fingerprint.
static void copy_held(const json_t *spool, struct entry *out)
{
    const char *fingerprint;
    json_t *count;
    json_object_foreach(json_object_get(spool, "held_back_by_fingerprint"), fingerprint,
                        count)
    {
        int64_t held = json_integer_value(count);
        if (held <= 0 || held > HELD_MAX || !entry_is_group_id(fingerprint) ||
            out->held_count == ENTRY_HELD)
            continue;
        struct entry_held *to = &out->held[out->held_count++];
        entry_copy(to->fingerprint, sizeof(to->fingerprint), fingerprint);
        to->count = held;
    }
}

static void copy_value(char *out, size_t size, const json_t *object, const char *key)
{
    const char *value = report_string(object, key);
    entry_copy(out, size, value != NULL ? value : "");
}

// copy_group copies the report's fingerprint, or computes it where the report has none.
// All live reports, in which nothing crashed, are one group.
static void copy_group(const json_t *report, struct entry *out)
{
    const char *fingerprint = report_string(report, "fingerprint");
    char computed[FINGERPRINT_SIZE];
    if (fingerprint == NULL || !entry_is_group_id(fingerprint))
        fingerprint = report_fingerprint(report, computed) ? computed : live_group;
    entry_copy(out->group, sizeof(out->group), fingerprint);
}

enum ch_status entry_from_report(const json_t *report, int64_t received_ms,
                                 struct entry *out)
{
    struct entry entry = { .received_ms = received_ms, .time_ms = received_ms };
    const json_t *crash = json_object_get(report, "crash");
    const char *id = report_string(report, "id");
    if (id == NULL || !report_id_ok(id))
        return CH_ERR_MALFORMED;
    entry_copy(entry.id, sizeof(entry.id), id);
    copy_group(report, &entry);
    entry.revision = report_integer(report, "revision", 0);
    entry.signal = report_integer(crash, "signal", 0);
    const char *time = report_string(report, "time");
    int64_t time_ms = 0;
    // A machine whose clock is ahead must not stay at the top of every list.
    if (time != NULL && moment_read(time, received_ms, &time_ms) == CH_OK &&
        time_ms >= 0 && time_ms < received_ms)
        entry.time_ms = time_ms;

    const char *signal_name = report_string(crash, "name");
    copy_value(entry.signal_name, sizeof(entry.signal_name), crash, "name");
    copy_value(entry.kind, sizeof(entry.kind), crash, "kind");
    copy_value(entry.summary, sizeof(entry.summary), crash, "summary");
    copy_value(entry.release, sizeof(entry.release), report, "release");
    copy_value(entry.environment, sizeof(entry.environment), report, "environment");
    copy_value(entry.executable, sizeof(entry.executable),
               json_object_get(report, "process"), "executable");
    copy_value(entry.hostname, sizeof(entry.hostname), json_object_get(report, "host"),
               "hostname");
    copy_tags(json_object_get(report, "tags"), &entry);
    copy_held(json_object_get(report, "spool"), &entry);
    write_title(report, signal_name != NULL ? signal_name : "live report", &entry);
    *out = entry;
    return CH_OK;
}
