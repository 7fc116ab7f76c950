// SPDX-License-Identifier: Apache-2.0
#include "collector/entry/entry.h"

#include <stdio.h>
#include <string.h>

#include "base/system/file.h"
#include "base/utf8.h"
#include "collector/database/timestamp.h"
#include "report/file/digest.h"
#include "report/grouping/group_key.h"
#include "report/grouping/title.h"
#include "report/value/report.h"

enum { HELD_MAX = 1000000000 }; // of one report, so that sums do not overflow

// EARLIEST_MS is the beginning of 2020: no report is older.
#define EARLIEST_MS INT64_C(1577836800000)

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

const char *entry_program(const struct entry *entry)
{
    return file_name(entry->executable);
}

// put_key replaces a fingerprint by the key that it has in a project.
static void put_key(char key[ENTRY_GROUP_SIZE], const char *project)
{
    enum { KEY_DIGITS = 32 };
    char joined[ENTRY_GROUP_SIZE + ENTRY_PROJECT_SIZE + 1];
    char sum[SHA256_HEX_SIZE];
    if (key[0] == 0)
        return;
    (void)snprintf(joined, sizeof(joined), "%s\n%s", project, key);
    sha256_hex(joined, strlen(joined), sum);
    memcpy(key, sum, KEY_DIGITS);
    key[KEY_DIGITS] = 0;
}

void entry_set_project(struct entry *entry, const char *project)
{
    entry_copy(entry->project, sizeof(entry->project), project);
    if (project[0] == 0)
        return;
    put_key(entry->group, project);
    put_key(entry->old_group, project);
    for (size_t i = 0; i < entry->held_count; i++)
        put_key(entry->held[i].fingerprint, project);
}

bool entry_is_group_id(const char *id)
{
    size_t length = strspn(id, "0123456789abcdef");
    return id[length] == 0 && length >= 8 && length < ENTRY_GROUP_SIZE;
}

// copy_stack copies the lines of a stack that fit.
static void copy_stack(char *out, size_t size, const struct text *stack)
{
    size_t length = stack->size < size ? stack->size : size - 1;
    while (length > 0 && stack->bytes[length - 1] != '\n')
        length--;
    if (length != 0)
        memcpy(out, stack->bytes, length);
    out[length] = 0;
}

// chosen_key is a fingerprint that the sender chose: one that is not what its version
// of crashhook would have computed. NULL: it chose none.
static const char *chosen_key(const json_t *report, const char *said)
{
    char computed[FINGERPRINT_SIZE];
    if (said == NULL || !entry_is_group_id(said) ||
        report_string(report, "fingerprint2") != NULL ||
        (report_fingerprint(report, computed) && strcmp(said, computed) == 0))
        return NULL;
    return said;
}

// write_old_key writes the key of version 1.
static void write_old_key(const json_t *report, const char *said, struct entry *out)
{
    char computed[FINGERPRINT_SIZE];
    if (said != NULL && entry_is_group_id(said))
        entry_copy(out->old_group, sizeof(out->old_group), said);
    else if (report_fingerprint(report, computed))
        entry_copy(out->old_group, sizeof(out->old_group), computed);
}

// write_group writes the keys, the title and the stack. All live reports, in which
// nothing crashed, are one group.
static void write_group(const json_t *report, struct entry *out)
{
    struct group_key key;
    CH_CLEANUP(text_deinit) struct text title = { 0 };
    const char *said = report_string(report, "fingerprint");
    const char *chosen = chosen_key(report, said);
    if (!group_key_make(report, &key)) {
        entry_copy(out->group, sizeof(out->group), live_group);
        title_write_live(report, &title);
    } else {
        entry_copy(out->group, sizeof(out->group), key.fingerprint);
        copy_stack(out->stack, sizeof(out->stack), &key.stack);
        title_write(report, &key, &title);
        group_key_deinit(&key);
    }
    write_old_key(report, said, out);
    if (chosen != NULL) {
        entry_copy(out->group, sizeof(out->group), chosen);
        out->chosen = true;
        out->old_group[0] = 0;
    }
    entry_copy(out->title, sizeof(out->title), text_ok(&title) ? title.bytes : "?");
}

static void note_nameless(const json_t *report, const json_t *frame, struct entry *out)
{
    const char *id = report_string(report_image(report, frame), "build_id");
    if (!report_frame_is_code(frame) || report_string(frame, "function") != NULL ||
        id == NULL || strlen(id) >= ENTRY_BUILD_SIZE)
        return;
    for (size_t i = 0; i < out->nameless_count; i++) {
        if (strcmp(out->nameless[i], id) == 0)
            return;
    }
    if (out->nameless_count < ENTRY_BUILDS)
        entry_copy(out->nameless[out->nameless_count++], ENTRY_BUILD_SIZE, id);
}

// note_nameless_builds lists in out the builds whose debug files would name frames, of
// a live report in every thread.
static void note_nameless_builds(const json_t *report, struct entry *out)
{
    const json_t *crashed = report_crashed_thread(report);
    size_t i;
    size_t k;
    json_t *thread;
    json_t *frame;
    json_array_foreach(json_object_get(report, "threads"), i, thread)
    {
        if (crashed != NULL && thread != crashed)
            continue;
        json_array_foreach(report_frames(thread), k, frame)
        {
            note_nameless(report, frame, out);
        }
    }
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

enum ch_status entry_from_report(const json_t *report, int64_t received_ms,
                                 struct entry *out)
{
    const json_t *crash = json_object_get(report, "crash");
    const char *id = report_string(report, "id");
    if (id == NULL || !report_id_ok(id))
        return CH_ERR_MALFORMED;
    *out = (struct entry){ .received_ms = received_ms, .time_ms = received_ms };
    entry_copy(out->id, sizeof(out->id), id);
    write_group(report, out);
    note_nameless_builds(report, out);
    out->revision = report_integer(report, "revision", 0);
    out->signal = report_integer(crash, "signal", 0);
    const char *time = report_string(report, "time");
    int64_t time_ms = 0;
    // A machine whose clock is ahead must not stay at the top of every list, and one
    // without a clock, which begins in 1970, must not make its groups the oldest.
    if (time != NULL && timestamp_read(time, received_ms, &time_ms) == CH_OK &&
        time_ms >= EARLIEST_MS && time_ms < received_ms)
        out->time_ms = time_ms;

    copy_value(out->signal_name, sizeof(out->signal_name), crash, "name");
    copy_value(out->kind, sizeof(out->kind), crash, "kind");
    copy_value(out->summary, sizeof(out->summary), crash, "summary");
    copy_value(out->release, sizeof(out->release), report, "release");
    copy_value(out->environment, sizeof(out->environment), report, "environment");
    copy_value(out->executable, sizeof(out->executable),
               json_object_get(report, "process"), "executable");
    copy_value(out->hostname, sizeof(out->hostname), json_object_get(report, "host"),
               "hostname");
    copy_value(out->session, sizeof(out->session), report, "session");
    copy_tags(json_object_get(report, "tags"), out);
    copy_held(json_object_get(report, "spool"), out);
    return CH_OK;
}

// entry_text_ok: a string of size bytes is UTF-8 and ends within them.
static bool entry_text_ok(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    uint32_t character;
    for (size_t at = 0; at < length;) {
        size_t step = utf8_decode(text + at, length - at, &character);
        if (step == 0)
            return false;
        at += step;
    }
    return length < size;
}

// entry_marks_ok: every mark ends with a NUL and begins as entry_marks.h says.
static bool entry_marks_ok(const struct entry *entry)
{
    size_t size = entry->marks_size;
    if (size == 0)
        return true;
    if (size > sizeof(entry->marks) || entry->marks[size - 1] != 0)
        return false;
    for (size_t at = 0; at < size; at += strlen(entry->marks + at) + 1) {
        const char *mark = entry->marks + at;
        if (strlen(mark) < 4 || strspn(mark, "0123456789") < 2 ||
            mark[2] != ENTRY_MARK_BLANK)
            return false;
    }
    return true;
}

bool entry_is_sane(const struct entry *entry)
{
#define TEXT_OK(member) entry_text_ok(member, sizeof(member))
    bool sane =
        TEXT_OK(entry->id) && report_id_ok(entry->id) && TEXT_OK(entry->group) &&
        entry_is_group_id(entry->group) && TEXT_OK(entry->old_group) &&
        TEXT_OK(entry->signal_name) && TEXT_OK(entry->kind) && TEXT_OK(entry->title) &&
        TEXT_OK(entry->stack) && TEXT_OK(entry->summary) && TEXT_OK(entry->release) &&
        TEXT_OK(entry->environment) && TEXT_OK(entry->executable) &&
        TEXT_OK(entry->hostname) && TEXT_OK(entry->session) &&
        entry->tag_count <= ENTRY_TAGS && entry->held_count <= ENTRY_HELD &&
        entry->nameless_count <= ENTRY_BUILDS && entry_marks_ok(entry);
    for (size_t i = 0; sane && i < entry->tag_count; i++)
        sane = TEXT_OK(entry->tags[i].key) && TEXT_OK(entry->tags[i].value);
    for (size_t i = 0; sane && i < entry->nameless_count; i++)
        sane = TEXT_OK(entry->nameless[i]);
#undef TEXT_OK
    return sane;
}
