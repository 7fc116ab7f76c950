// SPDX-License-Identifier: Apache-2.0
#include "report/file/report_tree.h"

#include <string.h>

#include "base/system/file.h"

bool report_read_address(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (text[0] != '0' || text[1] != 'x' || text[2] == 0)
        return false;
    for (const char *at = text + 2; *at != 0; at++) {
        bool decimal = *at >= '0' && *at <= '9';
        if (value >> 60 != 0 || (!decimal && (*at < 'a' || *at > 'f')))
            return false;
        value = value << 4 | (uint64_t)(decimal ? *at - '0' : *at - 'a' + 10);
    }
    *out = value;
    return true;
}

const char *report_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

int64_t report_integer(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool report_flag(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

bool report_address(const json_t *object, const char *key, uint64_t *out)
{
    const char *text = report_string(object, key);
    return text != NULL && report_read_address(text, out);
}

const char *report_unsaid_message(const json_t *crash)
{
    const char *message = report_string(crash, "message");
    const char *summary = report_string(crash, "summary");
    if (message == NULL || summary == NULL)
        return message;
    return strcasestr(summary, message) == NULL ? message : NULL;
}

void report_then(const json_t *crash, struct text *out)
{
    const json_t *then = json_array_get(json_object_get(crash, "then"), 0);
    const char *name = report_string(then, "name");
    if (name != NULL && report_integer(then, "code", 0) > 0)
        text_appendf(out, "Then the program's own handler failed with %s", name);
    else if (name != NULL)
        text_appendf(out, "Then the program's own handler raised %s", name);
    else if (json_is_integer(json_object_get(then, "exit_status")))
        text_appendf(out, "Then the program's own handler exited with %lld",
                     (long long)report_integer(then, "exit_status", 0));
}

json_t *report_crashed_thread(const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        json_t *thread = json_array_get(threads, i);
        if (report_flag(thread, "crashed"))
            return thread;
    }
    return NULL;
}

// first_thread_name is what the kernel calls the thread that the process began with.
static const char *first_thread_name(const json_t *report)
{
    int64_t pid = report_integer(json_object_get(report, "process"), "pid", -1);
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (report_integer(thread, "tid", 0) == pid)
            return report_string(thread, "name");
    }
    return NULL;
}

const char *report_program(const json_t *report)
{
    enum { KERNEL_NAME_MAX = 15 };
    const json_t *process = json_object_get(report, "process");
    const char *file = file_name(report_string(process, "executable"));
    const char *kernels = first_thread_name(report);
    const char *given = file_name(
        json_string_value(json_array_get(json_object_get(process, "arguments"), 0)));
    if (file == NULL || kernels == NULL || given == NULL || kernels[0] == 0)
        return file;
    size_t length = strlen(kernels);
    if (strncmp(file, kernels, length) == 0 || strncmp(given, kernels, length) != 0)
        return file;
    // A server may write its title after its name: "redis-server *:6379".
    if (given[length] == 0 || given[length] == ' ')
        return kernels;
    return length == KERNEL_NAME_MAX && strchr(given, ' ') == NULL ? given : file;
}

json_t *report_frames(const json_t *thread)
{
    return json_object_get(json_object_get(thread, "backtrace"), "frames");
}

json_t *report_exception_stack(const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    return json_object_get(json_object_get(crash, "exception"), "stack");
}

bool report_frame_is_code(const json_t *frame)
{
    const char *kind = report_string(frame, "kind");
    return kind != NULL && strcmp(kind, "omit") != 0 && strcmp(kind, "trunc") != 0;
}

static bool report_same_string(const json_t *object, const json_t *other,
                               const char *key)
{
    const char *a = report_string(object, key);
    const char *b = report_string(other, key);
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool report_same_place(const json_t *frame, const json_t *other)
{
    return frame == other || (report_string(frame, "address") != NULL &&
                              report_same_string(frame, other, "address") &&
                              report_same_string(frame, other, "function"));
}

const char *report_frame_file(const json_t *frame)
{
    bool placed = report_integer(frame, "line", 0) > 0 ||
                  report_flag(frame, "inline") ||
                  report_string(frame, "source") != NULL;
    return placed ? report_string(frame, "file") : NULL;
}

bool report_frame_is_interpreted(const json_t *frame)
{
    const char *source = report_string(frame, "source");
    return source != NULL &&
           (strcmp(source, "interpreter") == 0 || strcmp(source, "v8dbg") == 0) &&
           report_flag(frame, "inline");
}

// report_language is a language as people spell it, or NULL.
static const char *report_language(const json_t *object)
{
    static const char *const languages[][2] = {
        { "python", "Python" }, { "javascript", "JavaScript" },
        { "java", "Java" },     { "go", "Go" },
        { "lua", "Lua" },
    };
    const char *language = report_string(object, "language");
    for (size_t i = 0; language != NULL && i < sizeof(languages) / sizeof(languages[0]);
         i++)
        if (strcmp(language, languages[i][0]) == 0)
            return languages[i][1];
    return NULL;
}

const char *report_frame_mark(const json_t *frame)
{
    const char *language = report_language(frame);
    if (language != NULL)
        return language;
    if (report_string(frame, "source") != NULL)
        return "jitted";
    return report_flag(frame, "inline") ? "inlined" : NULL;
}

void report_exception_write(const json_t *thread, struct text *out)
{
    const json_t *exception = json_object_get(thread, "exception");
    const char *type = report_string(exception, "type");
    const char *what = report_string(exception, "what");
    const char *language = report_language(exception);
    if (type == NULL)
        return;
    text_appendf(out, "%s%sexception %s: %s", language != NULL ? language : "",
                 language != NULL ? " " : "",
                 report_flag(exception, "handled") ? "being handled" : "being raised",
                 type);
    if (what != NULL)
        text_appendf(out, ": %s", what);
}

json_t *report_image(const json_t *report, const json_t *frame)
{
    int64_t image = report_integer(frame, "image", -1);
    return image < 0 ? NULL
                     : json_array_get(json_object_get(report, "images"), (size_t)image);
}
