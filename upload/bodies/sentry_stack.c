// SPDX-License-Identifier: Apache-2.0
#include "upload/bodies/sentry_stack.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/system/file.h"
#include "report/grouping/report_in_app.h"
#include "report/value/report.h"
#include "upload/bodies/sentry_source.h"

enum { ADDRESS_SIZE = 24, GAP_SIZE = 64 };

static bool frame_is_kind(const json_t *frame, const char *kind)
{
    const char *is = report_string(frame, "kind");
    return is != NULL && strcmp(is, kind) == 0;
}

static bool same_address(const json_t *a, const json_t *b)
{
    const char *left = report_string(a, "address");
    const char *right = report_string(b, "address");
    return left != NULL && right != NULL && strcmp(left, right) == 0;
}

// returns_alone is true if every frame but the innermost is a return address, as Sentry
// assumes. A stack that was interrupted by a signal has more frames that are at their
// current instruction.
static bool returns_alone(const json_t *frames)
{
    const json_t *innermost = json_array_get(frames, 0);
    for (size_t i = 1; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (frame_is_kind(frame, "pc") && !same_address(frame, innermost))
            return false;
    }
    return true;
}

static void set_frame_address(json_t *to, const char *key, uint64_t address)
{
    char text[ADDRESS_SIZE];
    (void)snprintf(text, sizeof(text), "0x%" PRIx64, address);
    (void)json_object_set_new(to, key, json_string(text));
}

static void set_copy(json_t *to, const char *key, json_t *value)
{
    if (value != NULL && !json_is_null(value))
        (void)json_object_set(to, key, value);
}

static const char *trust_of(const json_t *frame)
{
    const char *trust = report_string(frame, "trust");
    return trust != NULL && strcmp(trust, "sframe") == 0 ? "cfi" : trust;
}

// add_variables adds the variables of a list that have a value. Of several with one
// name the first is in the innermost block: the one that the source means.
static void add_variables(json_t *variables, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = report_string(one, "name");
        char number[GAP_SIZE];
        (void)snprintf(number, sizeof(number), "argument %zu", i);
        const char *key = name != NULL ? name : number;
        if (json_object_get(variables, key) == NULL)
            set_copy(variables, key, json_object_get(one, "value"));
    }
}

static json_t *variables_of(const json_t *frame)
{
    json_t *variables = json_object();
    add_variables(variables, json_object_get(frame, "locals"));
    add_variables(variables, json_object_get(frame, "arguments"));
    if (json_object_size(variables) != 0)
        return variables;
    json_decref(variables);
    return NULL;
}

// add_addresses adds where the frame is; call_site: as an address inside the call
// instruction, not of the instruction after it.
static void add_addresses(json_t *to, const json_t *report, const json_t *frame,
                          bool call_site)
{
    const json_t *image = report_image(report, frame);
    const char *path = report_string(image, "path");
    uint64_t address = 0;
    uint64_t base = 0;
    if (report_address(frame, "address", &address)) {
        bool back = call_site && frame_is_kind(frame, "ra") && address != 0;
        int64_t offset = report_integer(frame, "function_offset", -1);
        // The last byte of the call is enough to find its line.
        set_frame_address(to, "instruction_addr", back ? address - 1 : address);
        if (offset >= 0 && (uint64_t)offset <= address)
            set_frame_address(to, "symbol_addr", address - (uint64_t)offset);
    }
    if (report_address(image, "base", &base))
        set_frame_address(to, "image_addr", base);
    set_copy(to, "package", json_object_get(image, path != NULL ? "path" : "name"));
}

// is_go returns true if a native frame is of Go: its functions have their package
// before a dot, which the C of a file with cgo has not.
static bool is_go(const json_t *frame)
{
    const char *function = report_string(frame, "function");
    const char *file = report_string(frame, "file");
    size_t size = file != NULL ? strlen(file) : 0;
    return function != NULL && strchr(function, '.') != NULL && size > 3 &&
           (strcmp(file + size - 3, ".go") == 0 ||
            (strcmp(file + size - 2, ".s") == 0 &&
             strncmp(function, "runtime.", 8) == 0));
}

// sentry_platform is what Sentry calls the language of a frame; NULL: the event's own,
// which is native.
static const char *sentry_platform(const json_t *frame)
{
    static const char *const platforms[] = { "python", "javascript", "java", "go" };
    const char *language = report_string(frame, "language");
    if (language == NULL && is_go(frame))
        language = "go";
    for (size_t i = 0; language != NULL && i < sizeof(platforms) / sizeof(platforms[0]);
         i++)
        if (strcmp(language, platforms[i]) == 0)
            return platforms[i];
    return NULL;
}

// set_java_function: Sentry has a method's class apart from its name.
static void set_java_function(json_t *to, const char *function)
{
    const char *dot = function != NULL ? strrchr(function, '.') : NULL;
    // A perf map's names have a signature as well.
    if (dot == NULL || strchr(function, '(') != NULL)
        return;
    (void)json_object_set_new(to, "module",
                              json_stringn(function, (size_t)(dot - function)));
    (void)json_object_set_new(to, "function", json_string(dot + 1));
}

static json_t *code_frame(const json_t *report, const json_t *frame, bool call_site)
{
    json_t *to = json_pack(
        "{s:b, s:s*, s:s*, s:o*}", "in_app", !report_frame_is_system(report, frame),
        "trust", trust_of(frame), "filename", file_name(report_string(frame, "file")),
        "vars", variables_of(frame));
    const char *platform = sentry_platform(frame);
    if (platform != NULL)
        (void)json_object_set_new(to, "platform", json_string(platform));
    // With an address, Sentry would look for the frame's name in debug files.
    if (!report_frame_is_interpreted(frame))
        add_addresses(to, report, frame, call_site);
    set_copy(to, "function", json_object_get(frame, "function"));
    if (platform != NULL && strcmp(platform, "java") == 0)
        set_java_function(to, report_string(frame, "function"));
    set_copy(to, "symbol", json_object_get(frame, "raw_name"));
    set_copy(to, "abs_path", json_object_get(frame, "file"));
    set_copy(to, "lineno", json_object_get(frame, "line"));
    set_copy(to, "colno", json_object_get(frame, "column"));
    return to;
}

static json_t *gap_frame(uint64_t count)
{
    char text[GAP_SIZE] = "[the stack goes on]";
    if (count != 0)
        (void)snprintf(text, sizeof(text), "[%" PRIu64 " frames left out]", count);
    return json_pack("{s:s, s:b}", "function", text, "in_app", 0);
}

static json_t *frame_json(const json_t *report, const json_t *frame, bool call_site)
{
    int64_t count = report_integer(frame, "count", 0);
    if (report_frame_is_code(frame))
        return code_frame(report, frame, call_site);
    return gap_frame(count > 0 ? (uint64_t)count : 0);
}

json_t *sentry_stack_make(const json_t *report, const json_t *thread, size_t frames_max,
                          size_t sources_max)
{
    const json_t *from = report_frames(thread);
    size_t count = json_array_size(from);
    size_t left_out = count > frames_max ? count - frames_max : 0;
    size_t inner = count > frames_max ? (frames_max + 1) / 2 : count;
    bool call_sites = !returns_alone(from);
    if (count == 0 || frames_max == 0)
        return NULL;

    json_t *to = json_array();
    for (size_t i = count; i > 0; i--) {
        if (i > inner && i <= inner + left_out) {
            (void)json_array_append_new(to, gap_frame(left_out));
            i = inner;
        }
        const json_t *frame = json_array_get(from, i - 1);
        json_t *made = frame_json(report, frame, call_sites);
        if (i <= sources_max && json_is_true(json_object_get(made, "in_app")))
            sentry_source_add(made, report, frame);
        (void)json_array_append_new(to, made);
    }
    return json_pack("{s:o, s:s, s:O*}", "frames", to, "instruction_addr_adjustment",
                     call_sites ? "none" : "all_but_first", "registers",
                     json_object_get(thread, "registers"));
}
