// SPDX-License-Identifier: Apache-2.0
#include "cli/render/render_values.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "report/value/around.h"
#include "report/value/report.h"
#include "report/value/value_text.h"

enum { DEPTH_MAX = 24, INDENT = 2, ARGUMENTS_MAX = 16, LOCALS_MAX = 24 };

// level is an object or array some of whose members have been written.
struct level {
    const json_t *container;
    void *member; // of an object
    size_t index; // of an array
};

struct listing {
    const struct pen *pen;
    struct level levels[DEPTH_MAX];
    int depth;
    size_t lines_left;
};

static void append_one_line(const json_t *value, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) plain = { 0 };
    value_text_append(value, &plain);
    if (text_ok(&plain) && plain.bytes != NULL)
        pen_escape(plain.bytes, out);
}

static void append_variable(const json_t *variable, struct text *out)
{
    struct text CH_CLEANUP(text_deinit) plain = { 0 };
    value_text_append_name(variable, &plain);
    text_append_string(&plain, " = ");
    value_text_append_state(variable, &plain);
    if (text_ok(&plain))
        pen_escape(plain.bytes, out);
}

void render_values_append_arguments(const json_t *frame, struct text *out)
{
    const json_t *arguments = json_object_get(frame, "arguments");
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        if (i == ARGUMENTS_MAX) {
            text_append_string(out, ", ...");
            return;
        }
        text_append_string(out, i != 0 ? ", " : "");
        append_variable(json_array_get(arguments, i), out);
    }
}

// append_of_reason appends the variables that have no value for the reason of number
// first.
static void append_of_reason(const json_t *list, size_t first, struct text *out)
{
    const char *reason = value_text_reason(json_array_get(list, first));
    for (size_t i = first; i < json_array_size(list) && i < LOCALS_MAX; i++) {
        const json_t *variable = json_array_get(list, i);
        const char *name = report_string(variable, "name");
        if (value_text_is_known(variable) || name == NULL ||
            value_text_reason(variable) != reason)
            continue;
        text_append_string(out, i != first ? ", " : "");
        pen_escape(name, out);
    }
    text_append_string(out, ": ");
    text_append_string(out, reason);
}

// is_first_of_reason returns true if no variable before number i lacks a value for the
// same reason.
static bool is_first_of_reason(const json_t *list, size_t i)
{
    const json_t *variable = json_array_get(list, i);
    const char *reason = value_text_reason(variable);
    if (value_text_is_known(variable) || reason == NULL)
        return false;
    for (size_t k = 0; k < i; k++)
        if (!value_text_is_known(json_array_get(list, k)) &&
            value_text_reason(json_array_get(list, k)) == reason)
            return false;
    return true;
}

void render_values_append_unknown(const json_t *frame, struct text *out)
{
    const json_t *list = json_object_get(frame, "locals");
    for (size_t i = 0; i < json_array_size(list) && i < LOCALS_MAX; i++) {
        if (!is_first_of_reason(list, i))
            continue;
        text_append_string(out, out->size != 0 ? "; " : "no value: ");
        append_of_reason(list, i, out);
    }
}

const json_t *render_values_next_variable(const json_t *list, size_t *at,
                                          struct text *out)
{
    while (*at < json_array_size(list) && *at < LOCALS_MAX) {
        const json_t *local = json_array_get(list, (*at)++);
        if (!value_text_is_known(local))
            continue;
        append_variable(local, out);
        return local;
    }
    return NULL;
}

// inner is what is to be listed below a value, or NULL.
static const json_t *inner(const json_t *value)
{
    const json_t *to = value_text_pointee(value);
    const json_t *shown = to != NULL ? to : value;
    if (to == NULL && report_string(value, "address") != NULL)
        return NULL;
    if (json_is_array(shown))
        return value_text_is_scalar(json_array_get(shown, 0)) ? NULL : shown;
    bool listed = json_is_object(shown) && report_string(shown, "error") == NULL;
    return listed && !value_text_is_whole(shown) ? shown : NULL;
}

static void enter_rendered_value(struct listing *listing, const json_t *container)
{
    if (container == NULL || listing->depth == DEPTH_MAX)
        return;
    listing->levels[listing->depth++] =
        (struct level){ .container = container,
                        .member = json_object_iter((json_t *)(uintptr_t)container) };
}

// next_member returns the next member of the level and appends its name; NULL: there is
// none.
static const json_t *next_member(struct level *level, struct text *name)
{
    const json_t *value;
    if (json_is_array(level->container)) {
        value = json_array_get(level->container, level->index);
        text_appendf(name, "[%zu]", level->index++);
        return value;
    }
    if (level->member == NULL)
        return NULL;
    pen_escape(json_object_iter_key(level->member), name);
    value = json_object_iter_value(level->member);
    level->member =
        json_object_iter_next((json_t *)(uintptr_t)level->container, level->member);
    return value;
}

static void render_value_line(struct listing *listing, const char *name,
                              const json_t *value)
{
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    int indent = INDENT * (listing->depth + 1);
    bool nested = inner(value) != NULL && report_string(value, "address") == NULL;
    if (!nested) {
        text_append_string(&line, " = ");
        append_one_line(value, &line);
    }
    pen_plain(listing->pen, "%*s%s%s\n", indent, "", name,
              line.bytes != NULL ? line.bytes : "");
    listing->lines_left--;
}

// render_members writes the members of a value, and their members, depth first.
static void render_members(struct listing *listing, const json_t *value)
{
    enter_rendered_value(listing, value);
    while (listing->depth > 0 && listing->lines_left > 0) {
        struct text CH_CLEANUP(text_deinit) name = { 0 };
        const json_t *member = next_member(&listing->levels[listing->depth - 1], &name);
        if (member == NULL) {
            listing->depth--;
            continue;
        }
        render_value_line(listing, name.bytes != NULL ? name.bytes : "", member);
        enter_rendered_value(listing, inner(member));
    }
    if (listing->lines_left == 0)
        pen_plain(listing->pen, "    ...\n");
    listing->depth = 0;
}

// write_reason reports why there is no value: `other-size (it has 80 bytes there)`.
static void write_reason(const struct pen *pen, const json_t *watch)
{
    const json_t *candidates = json_object_get(watch, "candidates");
    pen_plain(pen, ": no value, ");
    pen_text(pen, report_string(watch, "reason"));
    for (size_t i = 0; i < json_array_size(candidates); i++) {
        const json_t *one = json_array_get(candidates, i);
        const char *unit = report_string(one, "unit");
        pen_plain(pen, "%s%" JSON_INTEGER_FORMAT " bytes", i == 0 ? " (" : ", ",
                  json_integer_value(json_object_get(one, "size")));
        pen_plain(pen, unit != NULL ? " in " : "");
        pen_text(pen, unit);
    }
    pen_plain(pen, json_array_size(candidates) != 0 ? ")\n" : "\n");
}

static void render_watch(struct listing *listing, const json_t *watch)
{
    const json_t *value = json_object_get(watch, "value");
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    pen_plain(listing->pen, "  ");
    pen_set(listing->pen, PEN_NAME);
    pen_text(listing->pen, report_string(watch, "name"));
    pen_set(listing->pen, PEN_PLAIN);
    pen_plain(listing->pen, " (");
    pen_text(listing->pen, report_string(watch, "type"));
    pen_plain(listing->pen, ") at ");
    pen_text(listing->pen, report_string(watch, "address"));
    if (value == NULL && report_string(watch, "reason") != NULL) {
        write_reason(listing->pen, watch);
        return;
    }
    if (inner(value) == NULL || value_text_pointee(value) != NULL) {
        text_append_string(&line, " = ");
        append_one_line(value, &line);
    }
    pen_plain(listing->pen, "%s\n", line.bytes != NULL ? line.bytes : "");
    render_members(listing, inner(value));
}

void render_values_watches(const struct pen *pen, const json_t *report,
                           size_t lines_max)
{
    const json_t *watches = json_object_get(report, "watches");
    if (json_array_size(watches) == 0)
        return;
    pen_set(pen, PEN_BOLD);
    pen_plain(pen, "\nWatched objects:\n");
    pen_set(pen, PEN_PLAIN);
    for (size_t i = 0; i < json_array_size(watches); i++) {
        struct listing listing = { .pen = pen, .lines_left = lines_max };
        render_watch(&listing, json_array_get(watches, i));
    }
}

// render_around_lines writes lines of text that are not escaped yet below a title.
static void render_around_lines(const struct pen *pen, const char *title,
                                const struct text *lines)
{
    if (lines->size == 0 || !text_ok(lines))
        return;
    pen_set(pen, PEN_BOLD);
    pen_plain(pen, "\n");
    pen_text(pen, title);
    pen_plain(pen, ":\n");
    pen_set(pen, PEN_PLAIN);
    pen_lines(pen, lines->bytes, INT_MAX);
}

void render_around_code(const struct pen *pen, const json_t *report, size_t around)
{
    const json_t *listings =
        json_object_get(json_object_get(report, "crash"), "disassembly");
    size_t count = around == AROUND_ALL ? json_array_size(listings) : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *listing = json_array_get(listings, i);
        const char *function = report_string(listing, "function");
        struct text CH_CLEANUP(text_deinit) lines = { 0 };
        struct text CH_CLEANUP(text_deinit) title = { 0 };
        text_appendf(&title, "Code of frame %" PRId64 "%s%s",
                     report_integer(listing, "frame", 0), function != NULL ? ", " : "",
                     function != NULL ? function : "");
        around_code_append(report, listing, around, true, &lines);
        render_around_lines(pen, text_ok(&title) ? title.bytes : "Code", &lines);
    }
}

void render_around_write(const struct pen *pen, const json_t *report, bool registers)
{
    struct text CH_CLEANUP(text_deinit) pointers = { 0 };
    struct text CH_CLEANUP(text_deinit) memory = { 0 };
    struct text CH_CLEANUP(text_deinit) process = { 0 };
    render_around_code(pen, report, AROUND_ALL);
    if (registers)
        around_pointers_append(report, &pointers);
    around_memory_append(report, &memory);
    around_process_append(report, &process);
    render_around_lines(pen, "What registers point to", &pointers);
    render_around_lines(pen, "Memory", &memory);
    render_around_lines(pen, "Process", &process);
}
