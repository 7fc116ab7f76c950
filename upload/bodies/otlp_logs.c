// SPDX-License-Identifier: Apache-2.0
//
// How it works: request_json makes the request, one resource with one scope with one
// log record, as a tree; otlp_logs_write writes it, and if it exceeds BODY_MAX_BYTES
// makes it again without the other threads.
//
// The resource has what is true of the program (service, process, host), the record
// what is true of the crash. Attributes that the program's environment gives
// (OTEL_RESOURCE_ATTRIBUTES) are added only where resource_json does not know better
// (is_known_better).
//
// NULL is the value of what the report lacks: otlp_value_add then adds nothing, so
// callers need no checks. Functions that take a value take ownership of it.
#include "upload/bodies/otlp_logs.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/system/file.h"
#include "base/text.h"
#include "report/file/report_id.h"
#include "report/json/json_tree.h"
#include "report/summary/crash_words.h"
#include "report/summary/report_waits.h"
#include "report/value/report.h"
#include "report/value/value_text.h"
#include "upload/bodies/crash_type.h"
#include "upload/bodies/protobuf_json.h"
#include "upload/bodies/telemetry.h"

// A backtrace as lines of text, innermost frame first, as debuggers of native programs
// print it: for intakes that take stacks only as strings.
//
// #0  0x000055d0c0de1139 in cart_total at /src/cart.c:41:5 from /srv/shop

// add_plain appends a string from outside so that it cannot leave its line.
static void add_plain(struct text *out, const char *string)
{
    size_t begin = out->size;
    text_append_string(out, string);
    for (size_t i = begin; i < out->size; i++) {
        if ((unsigned char)out->bytes[i] < ' ' || out->bytes[i] == 0x7f)
            out->bytes[i] = '?';
    }
}

static void append_place_text(struct text *out, const json_t *frame)
{
    const char *file = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    int64_t column = report_integer(frame, "column", 0);
    if (file == NULL)
        return;
    text_append_string(out, " at ");
    add_plain(out, file);
    if (line > 0)
        text_appendf(out, ":%" PRId64, line);
    if (line > 0 && column > 0)
        text_appendf(out, ":%" PRId64, column);
}

static void add_code(struct text *out, const json_t *report, const json_t *frame)
{
    uint64_t address = 0;
    const json_t *image = report_image(report, frame);
    const char *function = report_string(frame, "function");
    const char *path = report_string(image, "path");
    path = path != NULL ? path : report_string(image, "name");
    (void)report_address(frame, "address", &address);
    text_appendf(out, "0x%016" PRIx64 " in ", address);
    add_plain(out, function != NULL ? function : "??");
    append_place_text(out, frame);
    if (report_string(frame, "language") != NULL)
        text_appendf(out, " [%s]", report_frame_mark(frame));
    if (report_flag(frame, "creator"))
        text_append_string(out, " [created it]");
    if (report_flag(frame, "tail_call"))
        text_append_string(out, " [by a tail call]");
    if (path != NULL && !report_frame_is_interpreted(frame)) {
        text_append_string(out, " from ");
        add_plain(out, path);
    }
}

static void append_frame_text(struct text *out, const json_t *report,
                              const json_t *frame, size_t index)
{
    int64_t count = report_integer(frame, "count", 0);
    text_appendf(out, "#%-3zu", index);
    if (report_frame_is_code(frame))
        add_code(out, report, frame);
    else if (count > 0)
        text_appendf(out, "(%" PRId64 " frames left out)", count);
    else
        text_append_string(out, "(the stack goes on)");
    const json_t *callers = json_object_get(frame, "tail_callers");
    for (size_t i = 0; i < json_array_size(callers); i++) {
        const json_t *caller = json_array_get(callers, i);
        const char *function = report_string(caller, "function");
        text_append_string(out, "\n-    ");
        add_plain(out, function != NULL ? function : "??");
        append_place_text(out, caller);
        text_append_string(out, " [inferred, gone by a tail call]");
    }
}

// stack_text_write appends the thread's frames, at most limit_bytes of them and then a
// line which says that there are more. Control characters become `?`.
static void stack_text_write(const json_t *report, const json_t *thread,
                             size_t limit_bytes, struct text *out)
{
    const json_t *frames = report_frames(thread);
    size_t begin = out->size;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        struct text CH_CLEANUP(text_deinit) line = { 0 };
        append_frame_text(&line, report, json_array_get(frames, i), i);
        if (out->size - begin + line.size > limit_bytes) {
            text_append_string(out, i == 0 ? "" : "\n");
            text_append_string(out, "(more frames are left out)");
            return;
        }
        text_append_string(out, i == 0 ? "" : "\n");
        text_append(out, line.bytes, line.size);
    }
}

// Attributes as OpenTelemetry's JSON writes them: arrays of {"key","value"}, where a
// value is an object whose one key names its type. 64-bit integers are written as
// strings.

// otlp_value_string and the functions below make one value; NULL where there is none.
static json_t *otlp_value_string(const char *string)
{
    return string != NULL ? json_pack("{s:s}", "stringValue", string) : NULL;
}

static json_t *otlp_value_integer(int64_t integer)
{
    char digits[24];
    (void)snprintf(digits, sizeof(digits), "%" PRId64, integer);
    return json_pack("{s:s}", "intValue", digits);
}

// otlp_value_bytes takes base64, which is also the form it is written in.
static json_t *otlp_value_bytes(const char *base64)
{
    return base64 != NULL ? json_pack("{s:s}", "bytesValue", base64) : NULL;
}

// otlp_value_array and otlp_value_map take ownership of an array of values or
// attributes.
static json_t *otlp_value_array(json_t *values)
{
    return json_pack("{s:{s:o}}", "arrayValue", "values", values);
}

static json_t *otlp_value_map(json_t *attributes)
{
    return json_pack("{s:{s:o}}", "kvlistValue", "values", attributes);
}

// otlp_value_any converts JSON of one of the above types to a value; NULL for other
// types.
static json_t *otlp_value_any(const json_t *json)
{
    if (json_is_integer(json))
        return otlp_value_integer(json_integer_value(json));
    if (json_is_boolean(json))
        return json_pack("{s:b}", "boolValue", json_is_true(json));
    return otlp_value_string(json_string_value(json));
}

// otlp_value_add takes ownership of value and adds it to attributes as key; a NULL
// value adds nothing.
static void otlp_value_add(json_t *attributes, const char *key, json_t *value)
{
    if (value != NULL)
        (void)json_array_append_new(
            attributes, json_pack("{s:s, s:o}", "key", key, "value", value));
}

// otlp_value_add_member adds the string or integer that object has as member.
static void otlp_value_add_member(json_t *attributes, const char *key,
                                  const json_t *object, const char *member)
{
    otlp_value_add(attributes, key, otlp_value_any(json_object_get(object, member)));
}

enum {
    BODY_MAX_BYTES = 4000000,
    STACK_MAX_BYTES = 64 << 10,
    OTHER_STACK_MAX_BYTES = 8 << 10,
    SEVERITY_INFO = 9,
    SEVERITY_FATAL = 21,
    NANOSECONDS_SIZE = 32,
};

static void write_nanoseconds(int64_t unix_ms, char out[static NANOSECONDS_SIZE])
{
    (void)snprintf(out, NANOSECONDS_SIZE, "%" PRId64 "%s", unix_ms,
                   unix_ms != 0 ? "000000" : "");
}

// host_arch is the processor's name in the semantic conventions.
static const char *host_arch(const json_t *host)
{
    const char *arch = report_string(host, "arch");
    if (arch != NULL && strcmp(arch, "x86_64") == 0)
        return "amd64";
    return arch != NULL && strcmp(arch, "aarch64") == 0 ? "arm64" : arch;
}

static json_t *strings_value(const json_t *strings)
{
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(strings); i++) {
        json_t *value =
            otlp_value_string(json_string_value(json_array_get(strings, i)));
        if (value != NULL)
            (void)json_array_append_new(values, value);
    }
    return otlp_value_array(values);
}

static void add_process(json_t *to, const json_t *process)
{
    char uid[24];
    int64_t owner = report_integer(process, "uid", -1);
    const char *executable = report_string(process, "executable");
    (void)snprintf(uid, sizeof(uid), "%" PRId64, owner);
    otlp_value_add_member(to, "process.pid", process, "pid");
    otlp_value_add_member(to, "process.parent_pid", process, "ppid");
    otlp_value_add_member(to, "process.executable.path", process, "executable");
    otlp_value_add(to, "process.executable.name",
                   otlp_value_string(file_name(executable)));
    if (json_is_array(json_object_get(process, "arguments")))
        otlp_value_add(to, "process.command_args",
                       strings_value(json_object_get(process, "arguments")));
    otlp_value_add(to, "process.owner", owner >= 0 ? otlp_value_string(uid) : NULL);
    otlp_value_add_member(to, "process.creation.time", process, "started");
    otlp_value_add_member(to, "process.working_directory", process,
                          "working_directory");
    otlp_value_add_member(to, "process.linux.cgroup", process, "cgroup");
}

// add_named adds an attribute that the program's environment may have named: then that
// is added by add_own_attributes.
static void add_named(json_t *to, const json_t *report, const char *key,
                      const char *value)
{
    json_auto_t *own = telemetry_attributes(report);
    if (json_object_get(own, key) == NULL)
        otlp_value_add(to, key, otlp_value_string(value));
}

// is_known_better returns true if an attribute is one that resource_json knows better
// than the environment, which several processes share.
static bool is_known_better(const char *key)
{
    return strncmp(key, "process.", 8) == 0 || strncmp(key, "telemetry.", 10) == 0 ||
           strncmp(key, "os.", 3) == 0 || strcmp(key, "host.arch") == 0;
}

static void add_own_attributes(json_t *to, const json_t *report)
{
    json_auto_t *own = telemetry_attributes(report);
    const char *key;
    json_t *value;
    json_object_foreach(own, key, value)
    {
        if (!is_known_better(key))
            otlp_value_add(to, key, otlp_value_any(value));
    }
}

static json_t *resource_json(const json_t *report)
{
    json_t *to = json_array();
    const json_t *process = json_object_get(report, "process");
    const json_t *host = json_object_get(report, "host");
    const char *service = report_program(report);
    add_named(to, report, "service.name",
              service != NULL ? service : "unknown_service");
    add_named(to, report, "service.version", report_string(report, "release"));
    add_named(to, report, "deployment.environment.name",
              report_string(report, "environment"));
    add_process(to, process);
    add_named(to, report, "host.name", report_string(host, "hostname"));
    otlp_value_add(to, "host.arch", otlp_value_string(host_arch(host)));
    otlp_value_add(to, "os.type", otlp_value_string("linux"));
    otlp_value_add_member(to, "os.version", host, "kernel");
    otlp_value_add_member(to, "os.description", host, "os");
    add_named(to, report, "container.id", report_string(host, "container"));
    otlp_value_add(to, "telemetry.sdk.name", otlp_value_string("crashhook"));
    otlp_value_add(to, "telemetry.sdk.language", otlp_value_string("cpp"));
    otlp_value_add(to, "telemetry.sdk.version", otlp_value_string(CRASHHOOK_VERSION));
    add_own_attributes(to, report);
    return json_pack("{s:o}", "attributes", to);
}

static json_t *members_value(const json_t *object)
{
    json_t *values = json_array();
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)object, key, member)
        otlp_value_add(values, key, otlp_value_any(member));
    return otlp_value_map(values);
}

// objects_value converts an array of objects to a list of maps.
static json_t *objects_value(const json_t *objects)
{
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(objects); i++)
        (void)json_array_append_new(values, members_value(json_array_get(objects, i)));
    return otlp_value_array(values);
}

static json_t *stack_value(const json_t *report, const json_t *thread, size_t limit)
{
    struct text CH_CLEANUP(text_deinit) stack = { 0 };
    stack_text_write(report, thread, limit, &stack);
    return otlp_value_string(stack.bytes);
}

static json_t *cbf_value(const json_t *thread)
{
    return otlp_value_bytes(report_string(json_object_get(thread, "backtrace"), "cbf"));
}

// threads_value is what the threads that did not crash were doing; NULL: there are
// none.
static json_t *threads_value(const json_t *report)
{
    const json_t *crashed = report_crashed_thread(report);
    const json_t *threads = json_object_get(report, "threads");
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        json_t *members = json_array();
        if (thread == crashed) {
            json_decref(members);
            continue;
        }
        otlp_value_add_member(members, "thread.id", thread, "tid");
        otlp_value_add_member(members, "thread.name", thread, "name");
        otlp_value_add_member(members, "state", thread, "state");
        otlp_value_add(members, "stacktrace",
                       stack_value(report, thread, OTHER_STACK_MAX_BYTES));
        otlp_value_add(members, "cbf", cbf_value(thread));
        (void)json_array_append_new(values, otlp_value_map(members));
    }
    if (json_array_size(values) != 0)
        return otlp_value_array(values);
    json_decref(values);
    return NULL;
}

// goroutines_value is the goroutines that do not run on a thread; NULL: there are none.
static json_t *goroutines_value(const json_t *report)
{
    const json_t *goroutines = json_object_get(report, "goroutines");
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(goroutines); i++) {
        const json_t *one = json_array_get(goroutines, i);
        if (report_frames(one) == NULL)
            continue;
        json_t *members = json_array();
        otlp_value_add_member(members, "goroutine.id", one, "id");
        otlp_value_add_member(members, "state", one, "state");
        otlp_value_add_member(members, "reason", one, "reason");
        otlp_value_add(members, "stacktrace",
                       stack_value(report, one, OTHER_STACK_MAX_BYTES));
        (void)json_array_append_new(values, otlp_value_map(members));
    }
    if (json_array_size(values) != 0)
        return otlp_value_array(values);
    json_decref(values);
    return NULL;
}

static void add_tags(json_t *to, const json_t *report)
{
    const char *key;
    json_t *tag;
    json_object_foreach(json_object_get(report, "tags"), key, tag)
    {
        struct text CH_CLEANUP(text_deinit) name = { 0 };
        text_appendf(&name, "crashhook.tag.%s", key);
        if (text_ok(&name))
            otlp_value_add(to, name.bytes, otlp_value_any(tag));
    }
}

// variable_value is a variable of a frame: its value where one is known, and what
// people are shown.
static json_t *variable_value(const json_t *variable, const char *function,
                              size_t frame)
{
    const json_t *value = json_object_get(variable, "value");
    json_t *members = json_array();
    struct text CH_CLEANUP(text_deinit) state = { 0 };
    value_text_append_state(variable, &state);
    char *whole = json_is_object(value) || json_is_array(value) || json_is_real(value)
                      ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT)
                      : NULL;
    json_auto_t *number = json_integer((json_int_t)frame);
    otlp_value_add(members, "frame", otlp_value_any(number));
    otlp_value_add(members, "function", otlp_value_string(function));
    otlp_value_add_member(members, "name", variable, "name");
    if (value != NULL)
        otlp_value_add(members, "value",
                       whole != NULL         ? otlp_value_string(whole)
                       : json_is_null(value) ? otlp_value_string("null")
                                             : otlp_value_any(value));
    otlp_value_add(members, "shown",
                   otlp_value_string(text_ok(&state) ? state.bytes : NULL));
    otlp_value_add_member(members, "text", variable, "text");
    free(whole);
    return otlp_value_map(members);
}

// variables_value is the arguments, local and global variables of the thread's
// innermost frames; NULL: there are none.
static json_t *variables_value(const json_t *thread)
{
    enum { VARIABLES_MAX = 200, LISTS = 3 };
    static const char *const lists[LISTS] = { "arguments", "locals", "globals" };
    const json_t *frames = report_frames(thread);
    json_t *values = json_array();
    for (size_t i = 0; i < LISTS * json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i / LISTS);
        const char *function = report_string(frame, "function");
        const json_t *list = json_object_get(frame, lists[i % LISTS]);
        for (size_t j = 0; j < json_array_size(list); j++) {
            if (json_array_size(values) == VARIABLES_MAX)
                return otlp_value_array(values);
            (void)json_array_append_new(
                values, variable_value(json_array_get(list, j), function, i / LISTS));
        }
    }
    if (json_array_size(values) != 0)
        return otlp_value_array(values);
    json_decref(values);
    return NULL;
}

// thrown_value is the C++ exception that led to the crash, with the stack that it was
// thrown with; NULL: no such stack was recorded.
static json_t *thrown_value(const json_t *report)
{
    const json_t *thrown =
        json_object_get(json_object_get(report, "crash"), "exception");
    const json_t *backtrace = json_object_get(thrown, "backtrace");
    json_t *members = json_array();
    if (json_array_size(report_frames(thrown)) == 0) {
        json_decref(members);
        return NULL;
    }
    otlp_value_add_member(members, "type", thrown, "type");
    otlp_value_add_member(members, "message", thrown, "what");
    otlp_value_add_member(members, "thread.id", backtrace, "thread");
    otlp_value_add(members, "stacktrace",
                   stack_value(report, thrown, OTHER_STACK_MAX_BYTES));
    otlp_value_add(members, "cbf", cbf_value(thrown));
    return otlp_value_map(members);
}

// heap_event_value is the allocation or the free of the misused block, with its stack.
static json_t *heap_event_value(const json_t *report, const json_t *event)
{
    json_t *members = json_array();
    otlp_value_add_member(members, "thread.id", event, "thread");
    otlp_value_add_member(members, "thread.name", event, "thread_name");
    otlp_value_add_member(members, "by", event, "by");
    otlp_value_add_member(members, "age_ms", event, "age_ms");
    otlp_value_add(members, "stacktrace",
                   stack_value(report, event, OTHER_STACK_MAX_BYTES));
    otlp_value_add(members, "cbf", cbf_value(event));
    return otlp_value_map(members);
}

// heap_value is the block that was misused; NULL: none is known.
static json_t *heap_value(const json_t *report)
{
    static const char *const events[] = { "freed", "allocated" };
    const json_t *heap = json_object_get(json_object_get(report, "crash"), "heap");
    if (!json_is_object(heap))
        return NULL;
    json_t *members = json_array();
    const json_t *block = json_object_get(heap, "block");
    otlp_value_add_member(members, "block", block, "address");
    otlp_value_add_member(members, "size", block, "size");
    otlp_value_add_member(members, "address", heap, "address");
    otlp_value_add_member(members, "found_by", heap, "found_by");
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        const json_t *event = json_object_get(heap, events[i]);
        if (json_is_object(event))
            otlp_value_add(members, events[i], heap_event_value(report, event));
    }
    return otlp_value_map(members);
}

// add_crash_objects adds the parts of the crash that are maps.
static void add_crash_objects(json_t *to, const json_t *crash)
{
    static const char *const objects[][2] = {
        { "crashhook.crash.variable", "variable" },
        { "crashhook.crash.provenance", "provenance" },
        { "crashhook.crash.death", "death" },
    };
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        const json_t *object = json_object_get(crash, objects[i][1]);
        if (json_is_object(object))
            otlp_value_add(to, objects[i][0], members_value(object));
    }
}

static void add_crash(json_t *to, const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) message = { 0 };
    const json_t *crash = json_object_get(report, "crash");
    const json_t *thread = report_crashed_thread(report);
    const char *summary = report_string(crash, "summary");
    const char *unsaid = report_unsaid_message(crash);
    if (!json_is_object(crash))
        return;
    text_append_string(&message, summary != NULL ? summary : "");
    if (unsaid != NULL)
        text_appendf(&message, "%s%s", message.size != 0 ? ": " : "", unsaid);
    struct text CH_CLEANUP(text_deinit) memory = { 0 };
    if (memory_words_append(report, &memory) && text_ok(&memory))
        otlp_value_add(to, "crashhook.process.memory", otlp_value_string(memory.bytes));
    otlp_value_add_member(to, "app.crash.id", report, "id");
    otlp_value_add(to, "exception.type", otlp_value_string(crash_type(crash)));
    otlp_value_add(to, "exception.message",
                   otlp_value_string(message.size != 0 ? message.bytes : NULL));
    otlp_value_add(to, "exception.stacktrace",
                   stack_value(report, thread, STACK_MAX_BYTES));
    otlp_value_add_member(to, "thread.id", crash, "thread");
    otlp_value_add_member(to, "thread.name", thread, "name");
    otlp_value_add_member(to, "crashhook.crash.kind", crash, "kind");
    otlp_value_add_member(to, "crashhook.crash.signal", crash, "signal");
    otlp_value_add_member(to, "crashhook.crash.code", crash, "code");
    otlp_value_add_member(to, "crashhook.crash.code_name", crash, "code_name");
    otlp_value_add_member(to, "crashhook.crash.address", crash, "address");
    add_crash_objects(to, crash);
    otlp_value_add(to, "crashhook.crash.thrown", thrown_value(report));
    otlp_value_add(to, "crashhook.crash.heap", heap_value(report));
    otlp_value_add(to, "crashhook.variables", variables_value(thread));
    otlp_value_add(to, "crashhook.cbf", cbf_value(thread));
    if (json_object_size(json_object_get(thread, "registers")) != 0)
        otlp_value_add(to, "crashhook.registers",
                       members_value(json_object_get(thread, "registers")));
}

static json_t *attributes_json(const json_t *report, bool all_threads)
{
    static const char *const lists[][2] = {
        { "crashhook.images", "images" },
        { "crashhook.breadcrumbs", "breadcrumbs" },
        { "crashhook.problems", "problems" },
    };
    json_t *to = json_array();
    const json_t *spool = json_object_get(report, "spool");
    add_crash(to, report);
    otlp_value_add_member(to, "crashhook.report.id", report, "id");
    otlp_value_add_member(to, "crashhook.report.revision", report, "revision");
    otlp_value_add_member(to, "crashhook.fingerprint", report, "fingerprint");
    otlp_value_add_member(to, "crashhook.fingerprint2", report, "fingerprint2");
    otlp_value_add_member(to, "crashhook.held_back", spool, "held_back");
    otlp_value_add_member(to, "crashhook.dropped", spool, "dropped");
    otlp_value_add(to, "crashhook.image_map",
                   otlp_value_bytes(report_string(report, "image_map")));
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const json_t *list = json_object_get(report, lists[i][1]);
        if (json_array_size(list) != 0)
            otlp_value_add(to, lists[i][0], objects_value(list));
    }
    if (json_array_size(report_waits(report)) != 0)
        otlp_value_add(to, "crashhook.waits", objects_value(report_waits(report)));
    if (all_threads)
        otlp_value_add(to, "crashhook.threads", threads_value(report));
    if (all_threads)
        otlp_value_add(to, "crashhook.goroutines", goroutines_value(report));
    add_tags(to, report);
    return to;
}

// title_value is the record in one line: "SIGSEGV: read of address 0x0: ...".
static json_t *title_value(const json_t *report)
{
    struct text CH_CLEANUP(text_deinit) title = { 0 };
    const json_t *crash = json_object_get(report, "crash");
    const char *name = report_string(crash, "name");
    const char *summary = report_string(crash, "summary");
    if (name == NULL)
        return otlp_value_string(
            report_deadlock(report, &title) ? title.bytes : "report of a live process");
    text_appendf(&title, "%s%s%s", name, summary != NULL ? ": " : "",
                 summary != NULL ? summary : "");
    return otlp_value_string(title.bytes);
}

static json_t *request_json(const json_t *report, int64_t unix_ms, bool all_threads)
{
    char when[NANOSECONDS_SIZE];
    char observed[NANOSECONDS_SIZE];
    struct telemetry_trace trace;
    bool crashed = json_is_object(json_object_get(report, "crash"));
    write_nanoseconds(report_time_ms(report), when);
    write_nanoseconds(unix_ms, observed);
    json_t *record = json_pack("{s:s, s:s, s:i, s:s, s:s, s:o, s:o}", "timeUnixNano",
                               when, "observedTimeUnixNano", observed, "severityNumber",
                               crashed ? SEVERITY_FATAL : SEVERITY_INFO, "severityText",
                               crashed ? "FATAL" : "INFO", "eventName",
                               crashed ? "app.crash" : "process.snapshot", "body",
                               title_value(report), "attributes",
                               attributes_json(report, all_threads));
    if (telemetry_trace_of(report, &trace)) {
        (void)json_object_set_new(record, "traceId", json_string(trace.trace));
        if (trace.span[0] != 0)
            (void)json_object_set_new(record, "spanId", json_string(trace.span));
    }
    return json_pack("{s:[{s:o, s:[{s:{s:s, s:s}, s:[o]}]}]}", "resourceLogs",
                     "resource", resource_json(report), "scopeLogs", "scope", "name",
                     "crashhook", "version", CRASHHOOK_VERSION, "logRecords", record);
}

enum ch_status otlp_logs_write(const json_t *report, int64_t unix_ms,
                               enum otlp_form form, struct text *out)
{
    for (int all_threads = 1; all_threads >= 0; all_threads--) {
        json_auto_t *request = request_json(report, unix_ms, all_threads != 0);
        struct text CH_CLEANUP(text_deinit) body = { 0 };
        enum ch_status status = request == NULL ? CH_ERR_NO_MEMORY
                                : form == OTLP_JSON
                                    ? json_tree_write(request, &body)
                                    : otlp_protobuf_write(request, &body);
        if (status != CH_OK)
            return status;
        if (body.size > BODY_MAX_BYTES && all_threads != 0)
            continue;
        text_append(out, body.bytes, body.size);
        break;
    }
    return text_ok(out) ? CH_OK : CH_ERR_NO_MEMORY;
}
