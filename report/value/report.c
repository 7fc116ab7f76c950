// SPDX-License-Identifier: Apache-2.0
//
// How it works: parse_report reads the JSON (json_reader.h) and open_tree makes a
// report of it: check_identity checks schema and id, open_tables gives a report of
// version 2 the form of version 1 (report_open.h), and check_report checks the shapes
// of all known members (report_shape.h). So all other code sees one form.
//
// Writing is the way back: report_print packs (report_pack.h) and prints;
// report_print_expanded prints the form of version 1.
//
// Invariants: after report_parse every known member has its shape, so callers need no
// checks; unknown members are preserved and written back. An error says where in the
// report it is: a check words the failure, and its callers put the place before it
// (report_error).
#include "report/value/report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/system/own_user.h"
#include "report/file/report_id.h"
#include "report/file/report_open.h"
#include "report/file/report_pack.h"
#include "report/file/report_shape.h"
#include "report/file/seen_frames.h"
#include "report/file/system_image.h"
#include "report/grouping/group_key.h"
#include "report/grouping/report_in_app.h"
#include "report/grouping/title.h"
#include "report/json/json_reader.h"
#include "report/json/json_tree.h"
#include "report/summary/crash_words.h"

static const char read_as[] = "read_as";

void report_rights(const json_t *report, struct rights *out)
{
    const json_t *from = json_object_get(json_object_get(report, "process"), read_as);
    const json_t *groups = json_object_get(from, "groups");
    // Nobody's rights are in place of what is missing.
    *out = (struct rights){
        .fewer = from != NULL && own_user() == 0,
        .user = (uid_t)report_integer(from, "uid", RIGHTS_NOBODY),
        .group = (gid_t)report_integer(from, "gid", RIGHTS_NOBODY),
        .capabilities = (uint64_t)report_integer(from, "capabilities", 0),
    };
    for (size_t i = 0; i < json_array_size(groups) && i < RIGHTS_GROUPS_MAX; i++)
        out->groups[out->group_count++] =
            (gid_t)json_integer_value(json_array_get(groups, i));
}

void report_rights_set(json_t *report, const struct rights *rights)
{
    json_t *groups = json_array();
    for (size_t i = 0; i < rights->group_count; i++)
        (void)json_array_append_new(groups, json_integer(rights->groups[i]));
    json_t *noted =
        json_pack("{s:I, s:I, s:i, s:o}", "uid", (json_int_t)rights->user, "gid",
                  (json_int_t)rights->group, "capabilities", 0, "groups", groups);
    (void)json_object_set_new(json_object_get(report, "process"), read_as, noted);
}

static const char *shape_name(enum report_shape shape)
{
    static const char *const names[] = {
        [REPORT_SHAPE_STRING] = "a string",
        [REPORT_SHAPE_ADDRESS] = "an address such as \"0x1f\"",
        [REPORT_SHAPE_INTEGER] = "a whole number",
        [REPORT_SHAPE_FLAG] = "true or false",
        [REPORT_SHAPE_OBJECT] = "an object",
        [REPORT_SHAPE_ARRAY] = "an array",
    };
    return names[shape];
}

static bool report_has_shape(const json_t *value, enum report_shape shape)
{
    uint64_t address;
    switch (shape) {
    case REPORT_SHAPE_STRING:
        return json_is_string(value);
    case REPORT_SHAPE_ADDRESS:
        return json_is_string(value) &&
               report_read_address(json_string_value(value), &address);
    case REPORT_SHAPE_INTEGER:
        return json_is_integer(value);
    case REPORT_SHAPE_FLAG:
        return json_is_boolean(value);
    case REPORT_SHAPE_OBJECT:
        return json_is_object(value);
    case REPORT_SHAPE_ARRAY:
        return json_is_array(value);
    }
    return false;
}

// find_shape is the row of key, or NULL. It looks at from first, and what is after it:
// members of a report are mostly in the order of the table.
static const struct report_shape_member *
find_shape(const struct report_shape_member *members,
           const struct report_shape_member *from, const char *key)
{
    const struct report_shape_member *row;
    for (row = from; row->key != NULL; row++) {
        if (row->key[0] == key[0] && strcmp(row->key, key) == 0)
            return row;
    }
    for (row = members; row != from; row++) {
        if (row->key[0] == key[0] && strcmp(row->key, key) == 0)
            return row;
    }
    return NULL;
}

// check_shapes checks the members that object has.
static enum ch_status check_shapes(const json_t *object,
                                   const struct report_shape_member *members,
                                   struct report_error *error)
{
    const struct report_shape_member *next = members;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const struct report_shape_member *row = find_shape(members, next, key);
        if (row == NULL || json_is_null(value))
            continue;
        if (!report_has_shape(value, row->shape)) {
            report_error_set(error, "%s is not %s", key, shape_name(row->shape));
            return CH_ERR_MALFORMED;
        }
        next = row + 1;
    }
    return CH_OK;
}

static bool is_member_missing(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value);
}

// check_report_members checks that object is an object, has what is required, and that
// each known member has its shape; null counts as missing.
static enum ch_status check_report_members(const json_t *object,
                                           const struct report_shape_member *members,
                                           struct report_error *error)
{
    if (!json_is_object(object)) {
        report_error_set(error, "it is not an object");
        return CH_ERR_MALFORMED;
    }
    for (const struct report_shape_member *row = members; row->key != NULL; row++) {
        if (row->required && is_member_missing(object, row->key)) {
            report_error_set(error, "%s is missing", row->key);
            return CH_ERR_MALFORMED;
        }
    }
    return check_shapes(object, members, error);
}

// checking is what the checks of the parts of one report share.
struct checking {
    size_t images;           // number of images in the report
    struct seen_frames seen; // frames found valid
};

// check_each checks each element of an array.
static enum ch_status check_each(
    const json_t *array, const char *name, struct checking *all,
    enum ch_status (*check)(const json_t *, struct checking *, struct report_error *),
    struct report_error *error)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        enum ch_status status = check(json_array_get(array, i), all, error);
        if (status != CH_OK) {
            report_error_within(error, name, i);
            return status;
        }
    }
    return CH_OK;
}

static enum ch_status check_frame(const json_t *frame, struct checking *all,
                                  struct report_error *error)
{
    const json_t **seen = seen_frames_slot(&all->seen, frame);
    if (*seen == frame)
        return CH_OK;
    enum ch_status status = check_report_members(frame, report_shape_frame, error);
    if (status != CH_OK)
        return status;
    uint64_t address;
    if (report_frame_is_code(frame) && !report_address(frame, "address", &address)) {
        report_error_set(error, "address is missing");
        return CH_ERR_MALFORMED;
    }
    int64_t image = report_integer(frame, "image", 0);
    if (json_is_integer(json_object_get(frame, "image")) &&
        (image < 0 || (uint64_t)image >= all->images)) {
        report_error_set(error, "image is not in the list of images");
        return CH_ERR_MALFORMED;
    }
    *seen = frame;
    return CH_OK;
}

static enum ch_status check_thread(const json_t *thread, struct checking *all,
                                   struct report_error *error)
{
    enum ch_status status = check_report_members(thread, report_shape_thread, error);
    const json_t *backtrace = json_object_get(thread, "backtrace");
    if (status != CH_OK || !json_is_object(backtrace))
        return status;
    status = check_report_members(backtrace, report_shape_backtrace, error);
    if (status != CH_OK)
        return status;
    return check_each(report_frames(thread), "frames", all, check_frame, error);
}

static enum ch_status check_image(const json_t *image, struct checking *all,
                                  struct report_error *error)
{
    (void)all;
    return check_report_members(image, report_shape_image, error);
}

static enum ch_status check_problem(const json_t *problem, struct checking *all,
                                    struct report_error *error)
{
    (void)all;
    return check_report_members(problem, report_shape_problem, error);
}

// check_object checks a member that is an object, if it exists.
static enum ch_status check_object(const json_t *report, const char *key,
                                   const struct report_shape_member *members,
                                   struct report_error *error)
{
    const json_t *object = json_object_get(report, key);
    if (!json_is_object(object))
        return CH_OK;
    enum ch_status status = check_report_members(object, members, error);
    if (status != CH_OK) {
        struct report_error inner = *error;
        report_error_set(error, "%s.%.200s", key, inner.text);
    }
    return status;
}

// schema_is compares the whole schema, which may contain a NUL.
static bool schema_is(const json_t *report, const char *wanted)
{
    const json_t *schema = json_object_get(report, "schema");
    return json_is_string(schema) && json_string_length(schema) == strlen(wanted) &&
           memcmp(json_string_value(schema), wanted, strlen(wanted)) == 0;
}

static enum ch_status check_identity(const json_t *report, struct report_error *error)
{
    if (!schema_is(report, REPORT_SCHEMA) &&
        !schema_is(report, REPORT_SCHEMA_EXPANDED)) {
        report_error_set(error, "its schema is neither " REPORT_SCHEMA
                                " nor " REPORT_SCHEMA_EXPANDED);
        return CH_ERR_UNSUPPORTED;
    }
    const char *id = report_string(report, "id");
    if (id == NULL || !report_id_ok(id)) {
        report_error_set(error, "id is not a UUID in lower case");
        return CH_ERR_MALFORMED;
    }
    return CH_OK;
}

static enum ch_status check_report(const json_t *report, struct report_error *error)
{
    const json_t *images = json_object_get(report, "images");
    struct checking all = { .images = json_array_size(images) };
    enum ch_status status = check_report_members(report, report_shape_report, error);
    if (status == CH_OK)
        status = check_object(report, "crash", report_shape_crash, error);
    if (status == CH_OK)
        status = check_object(report, "process", report_shape_process, error);
    if (status == CH_OK)
        status = check_each(images, "images", &all, check_image, error);
    if (status == CH_OK)
        status = check_each(json_object_get(report, "threads"), "threads", &all,
                            check_thread, error);
    if (status == CH_OK)
        status = check_each(json_object_get(report, "problems"), "problems", &all,
                            check_problem, error);
    return status;
}

// open_tables puts every frame of a report of version 2 in its place; in memory reports
// of both versions are alike.
static enum ch_status open_tables(json_t *report, bool brief,
                                  struct report_error *error)
{
    if (!schema_is(report, REPORT_SCHEMA))
        return CH_OK;
    enum ch_status status = report_open(report, brief, error);
    if (status == CH_OK &&
        json_object_set_new(report, "schema", json_string(REPORT_SCHEMA_EXPANDED)) != 0)
        status = CH_ERR_NO_MEMORY;
    return status;
}

// open_tree turns the tree that was parsed into a report.
static enum ch_status open_tree(json_t *report, bool brief, struct report_error *error)
{
    if (!json_is_object(report)) {
        report_error_set(error, "it is not an object");
        return CH_ERR_MALFORMED;
    }
    enum ch_status status = check_identity(report, error);
    if (status == CH_OK)
        status = open_tables(report, brief, error);
    if (status == CH_OK)
        status = check_report(report, error);
    if (status == CH_OK)
        crash_words_complete(report);
    return status;
}

static enum ch_status parse_report(const char *bytes, size_t size, bool brief,
                                   json_t **out, struct report_error *error)
{
    json_error_t why;
    if (size > REPORT_MAX_BYTES) {
        report_error_set(error, "it is larger than %d MiB", REPORT_MAX_BYTES >> 20);
        return CH_ERR_LIMIT;
    }
    json_t *report = json_reader_read(bytes, size, &why);
    if (report == NULL) {
        report_error_set(error, "it is not JSON: %.120s at byte %d", why.text,
                         why.position);
        return CH_ERR_MALFORMED;
    }
    enum ch_status status = open_tree(report, brief, error);
    if (status == CH_OK)
        *out = report;
    else
        json_decref(report);
    return status;
}

enum ch_status report_parse(const char *bytes, size_t size, json_t **out,
                            struct report_error *error)
{
    return parse_report(bytes, size, false, out, error);
}

enum ch_status report_parse_brief(const char *bytes, size_t size, json_t **out,
                                  struct report_error *error)
{
    return parse_report(bytes, size, true, out, error);
}

static enum ch_status read_bytes(int fd, struct text *out, struct report_error *error)
{
    enum ch_status status = text_read(out, fd, REPORT_MAX_BYTES);
    if (status == CH_ERR_LIMIT)
        report_error_set(error, "it is larger than %d MiB", REPORT_MAX_BYTES >> 20);
    else if (status == CH_ERR_IO)
        report_error_set(error, "%s", strerror(errno));
    else if (status != CH_OK)
        report_error_set(error, "out of memory");
    else
        text_append(out, "", 0); // so that bytes is not NULL
    return status;
}

enum ch_status report_read(int fd, json_t **out, struct report_error *error)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    enum ch_status status = read_bytes(fd, &bytes, error);
    return status == CH_OK ? report_parse(bytes.bytes, bytes.size, out, error) : status;
}

json_t *report_file(const json_t *report)
{
    json_t *packed = report_pack(report);
    if (packed != NULL)
        crash_words_leave_out(packed);
    return packed;
}

enum ch_status report_print(const json_t *report, struct text *out)
{
    json_t *packed = report_file(report);
    if (packed == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = json_tree_print(packed, out);
    json_decref(packed);
    return status;
}

enum ch_status report_print_expanded(const json_t *report, struct text *out)
{
    struct text CH_CLEANUP(text_deinit)
        all = { .limit_bytes = REPORT_EXPANDED_MAX_BYTES };
    enum ch_status status = json_tree_print(report, &all);
    if (status != CH_OK)
        return all.size >= REPORT_EXPANDED_MAX_BYTES / 2 ? CH_ERR_LIMIT : status;
    text_append(out, all.bytes, all.size);
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}

enum ch_status report_print_kept(const json_t *report, struct text *out)
{
    size_t before = out->size;
    enum ch_status status = report_print(report, out);
    if (status == CH_OK && out->size - before > REPORT_MAX_BYTES)
        status = CH_ERR_LIMIT;
    return status;
}

// frame_was_system is what version 1 of the key took for the system's: by the image's
// path and the names of a few functions. `system` says so where no rule decided it.
static bool frame_was_system(const json_t *frame, const char *path)
{
    const json_t *said = json_object_get(frame, "system");
    const char *raw_name = report_string(frame, "raw_name");
    if (json_is_boolean(said) && report_string(frame, "rule") == NULL)
        return json_is_true(said);
    return system_frame(path, raw_name);
}

static void add_report_frame(struct fingerprint *fingerprint, const json_t *report,
                             const json_t *frame)
{
    const json_t *image = report_image(report, frame);
    const char *path = report_string(image, "path");
    struct fingerprint_frame key = {
        .function = report_string(frame, "function"),
        .image = path != NULL ? path : report_string(image, "name"),
        .build_id = report_string(image, "build_id"),
        .system = frame_was_system(frame, path),
    };
    (void)report_address(frame, "image_offset", &key.image_offset);
    fingerprint_add(fingerprint, &key);
}

bool report_fingerprint(const json_t *report, char out[static FINGERPRINT_SIZE])
{
    struct fingerprint fingerprint;
    const json_t *crash = json_object_get(report, "crash");
    const json_t *frames = report_frames(report_crashed_thread(report));
    if (!json_is_object(crash))
        return false;
    fingerprint_init(&fingerprint, (int)report_integer(crash, "signal", 0),
                     report_string(crash, "kind"));
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (report_frame_is_code(frame))
            add_report_frame(&fingerprint, report, frame);
    }
    if (json_array_size(frames) == 0 && json_object_get(crash, "death") != NULL)
        fingerprint_add(
            &fingerprint,
            &(struct fingerprint_frame){
                .function = report_string(json_object_get(crash, "death"), "cause"),
                .image =
                    report_string(json_object_get(report, "process"), "executable") });
    fingerprint_finish(&fingerprint, out);
    return true;
}

static int set_group_key(json_t *report)
{
    struct group_key key;
    struct text CH_CLEANUP(text_deinit) title = { 0 };
    if (!group_key_make(report, &key))
        return -1;
    title_write(report, &key, &title);
    int failed =
        json_object_set_new(report, "fingerprint2", json_string(key.fingerprint)) !=
            0 ||
        json_object_set_new(report, "title",
                            json_string(text_ok(&title) ? title.bytes : "")) != 0;
    group_key_deinit(&key);
    return failed ? -1 : 0;
}

enum ch_status report_update_fingerprint(json_t *report)
{
    char key[FINGERPRINT_SIZE];
    if (!report_fingerprint(report, key))
        return CH_OK;
    report_in_app_mark(report);
    if (json_object_set_new(report, "fingerprint", json_string(key)) != 0 ||
        set_group_key(report) != 0)
        return CH_ERR_NO_MEMORY;
    return CH_OK;
}

int64_t report_time_ms(const json_t *report)
{
    const char *id = report_string(report, "id");
    int64_t ms = clock_utc_read(report_string(report, "time"));
    if (ms >= 0)
        return ms;
    return id != NULL && report_id_ok(id) ? (int64_t)report_id_time_ms(id) : 0;
}
