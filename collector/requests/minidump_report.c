// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/minidump_report.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/core_capture.h"
#include "agent/core/minidump_core.h"
#include "agent/raw/raw_report.h"
#include "base/cursor.h"
#include "base/status.h"
#include "base/system/confine.h"
#include "base/system/file.h"
#include "base/text.h"
#include "collector/entry/user_name.h"
#include "collector/requests/collector.h"
#include "collector/symbols/symbol_folder.h"
#include "formats/interchange/minidump.h"
#include "report/file/digest.h"
#include "report/secrets/sanitize.h"
#include "report/value/report.h"
#include "symbolizer/search/guarded_child.h"

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

enum { TIMEOUT_MS = 20000 };

// A conversion is what the child works with; nothing of it is freed.
struct conversion {
    const struct minidump_upload *upload;
    struct cursor dump;
    struct minidump parsed;
    json_t *facts;
    json_t *problems;
    json_t *names;                     // of modules, by their paths in the core
    char own[SYMBOL_FOLDER_PATH_SIZE]; // the project's folder of debug files
    const char *made[3];
    struct text raw;
};

static void note_annotation(void *context, const char *name, const char *value)
{
    // What another collector of ours found out is found out again.
    if (strncmp(name, "crashhook_", 10) != 0)
        minidump_body_note(context, name, value);
}

// say_problem is a core_say_fn.
static void say_problem(void *context, const char *format, ...) CH_PRINTF(2, 3);
static void say_problem(void *context, const char *format, ...)
{
    struct conversion *conversion = context;
    va_list arguments;
    va_start(arguments, format);
    json_t *message = json_vsprintf(format, arguments);
    va_end(arguments);
    (void)json_array_append_new(
        conversion->problems,
        json_pack("{s:s, s:o}", "stage", "core", "status", message));
}

// note_module is a minidump_named_fn.
static void note_module(void *context, const char *path, const char *name)
{
    struct conversion *conversion = context;
    (void)json_object_set_new(conversion->names, path, json_string(name));
}

static const char *no_setting(void *context, const char *name)
{
    (void)context;
    (void)name;
    return NULL;
}

// write_dump_id makes the report's id of the dump's time and bytes, so that a dump that
// arrives again is the same report.
static void write_dump_id(const struct conversion *conversion, char out[REPORT_ID_SIZE])
{
    char sum[SHA256_HEX_SIZE];
    const uint64_t ms = (uint64_t)conversion->parsed.time * 1000;
    sha256_hex(conversion->dump.at, cursor_left(&conversion->dump), sum);
    (void)snprintf(out, REPORT_ID_SIZE, "%08x-%04x-7%.3s-8%.3s-%.12s",
                   (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), sum, sum + 3,
                   sum + 6);
}

// write_raw makes the raw report of the core on fd.
static enum ch_status write_raw(struct conversion *conversion, int fd)
{
    char id[REPORT_ID_SIZE];
    struct settings settings;
    struct core_capture *core = calloc(1, sizeof(*core));
    const struct core_options options = {
        .settings = &settings,
        .places = { .sysroot = conversion->upload->symbols, .made = conversion->made },
    };
    if (core == NULL)
        return CH_ERR_NO_MEMORY;
    settings_read(&settings, no_setting, NULL, NULL);
    write_dump_id(conversion, id);
    enum ch_status status = core_capture_open(core, fd, &options);
    return status == CH_OK ? raw_report_write(&core->capture, id, -1, &conversion->raw)
                           : status;
}

// convert_dump makes the raw report of the dump.
static enum ch_status convert_dump(struct conversion *conversion, const char **out_why)
{
    const struct minidump_upload *upload = conversion->upload;
    char own[2 * ENTRY_PROJECT_SIZE];
    const char *const builds[] = { own, "/.build-id", NULL };
    conversion->made[0] =
        symbol_folder_of(upload->symbols, upload->project, conversion->own);
    conversion->made[1] = upload->symbols;
    const struct minidump_places places = { .sysroot = upload->symbols,
                                            .made = conversion->made,
                                            .builds = upload->project[0] != 0
                                                          ? builds
                                                          : builds + 1,
                                            .named = note_module,
                                            .say = say_problem,
                                            .context = conversion };
    const void *bytes = conversion->dump.at;
    size_t size = cursor_left(&conversion->dump);
    int core;
    int fd = memfd_create("minidump", MFD_CLOEXEC);
    (void)snprintf(own, sizeof(own), "/projects/%s/.build-id", upload->project);
    enum ch_status status = minidump_open(&conversion->parsed, bytes, size, out_why);
    if (status != CH_OK)
        return status;
    minidump_annotations(&conversion->parsed, note_annotation, conversion->facts);
    if (fd < 0 || !file_write_all(fd, bytes, size))
        return CH_ERR_NO_MEMORY;
    status = minidump_to_core(fd, &places, &core, out_why);
    return status == CH_OK ? write_raw(conversion, core) : status;
}

// restore_paths replaces paths of the core, in what is not a thread, by those that the
// modules have in the dump.
// NOLINTNEXTLINE(misc-no-recursion): our own report is not deep
static void restore_paths(const struct conversion *conversion, json_t *in)
{
    const char *key;
    json_t *value;
    void *next;
    size_t i;
    json_object_foreach_safe(in, next, key, value)
    {
        const json_t *name =
            json_object_get(conversion->names, json_string_value(value));
        if (name != NULL)
            (void)json_object_set(in, key, (json_t *)(uintptr_t)name);
        else if (strcmp(key, "threads") != 0)
            restore_paths(conversion, value);
    }
    json_array_foreach(in, i, value)
    {
        restore_paths(conversion, value);
    }
}

static void restore_names(json_t *report)
{
    size_t i;
    json_t *image;
    json_array_foreach(json_object_get(report, "images"), i, image)
    {
        const char *path = report_string(image, "path");
        if (path != NULL)
            (void)json_object_set_new(image, "name", json_string(file_name(path)));
    }
}

// make_report is a guarded_child_fn. It writes the report, or why there is none.
static enum ch_status make_report(void *context, int to_parent)
{
    const struct minidump_upload *upload = context;
    struct conversion conversion = { .upload = upload,
                                     .facts = json_object(),
                                     .problems = json_array(),
                                     .names = json_object() };
    struct report_error error;
    struct text text = { 0 };
    const char *why = "the report could not be made";
    json_t *report;
    // The store's files and other clients' connections stay out of reach.
    if (to_parent > STDERR_FILENO + 1)
        (void)syscall(SYS_close_range, STDERR_FILENO + 1, to_parent - 1, 0);
    (void)syscall(SYS_close_range, to_parent + 1, ~0U, 0);
    confine_reader();
    enum ch_status status =
        minidump_body_read(upload->form, upload->body->bytes, upload->body->size,
                           conversion.facts, &conversion.dump, &why);
    if (status == CH_OK)
        status = convert_dump(&conversion, &why);
    if (status == CH_OK)
        status =
            report_parse(conversion.raw.bytes, conversion.raw.size, &report, &error);
    if (status == CH_OK) {
        restore_paths(&conversion, report);
        restore_names(report);
        (void)json_object_update(report, conversion.facts);
        (void)json_array_extend(json_object_get(report, "problems"),
                                conversion.problems);
        status = report_update_fingerprint(report);
    }
    if (status == CH_OK)
        status = report_print_kept(report, &text);
    if (status != CH_OK) {
        text_clear(&text);
        text_append_string(&text, why);
    }
    return file_write_all(to_parent, text.bytes, text.size) ? status : CH_ERR_IO;
}

enum ch_status minidump_report_make(const struct minidump_upload *upload,
                                    struct text *out)
{
    struct minidump_upload copy = *upload;
    out->limit_bytes = COLLECTOR_DECODED_MAX;
    return guarded_child_run(make_report, &copy, guarded_child_now_ms() + TIMEOUT_MS,
                             out);
}
