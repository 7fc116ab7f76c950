// SPDX-License-Identifier: Apache-2.0
//
// How it works: event_json makes the event as a tree. sentry_event_write writes it, and
// if it exceeds EVENT_MAX_BYTES makes it again with the next smaller extent: fewer
// frames, then fewer threads, then without watches and breadcrumbs. The report is
// attached to the event as a whole, so nothing is lost.
//
// Sentry's conventions that differ from ours:
// - Frames are outermost first. Sentry takes the addresses of callers for return
//   addresses; where that is wrong (returns_alone), addresses are inside of the call
//   (add_addresses).
// - The crash is the last of the exceptions; the C++ exception that led to it is before
//   it, as its cause (thrown_json, mechanism_json).
// - A goroutine is one more thread. Each frame may have a platform of its own.
// - Images have debug ids, made from the build ID (sentry_event_debug_id).
//
// NULL from a function that makes a part: the report has none, and the member is left
// out.
#include "upload/bodies/sentry_event.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/system/file.h"
#include "base/utf8.h"
#include "report/grouping/report_in_app.h"
#include "report/json/json_tree.h"
#include "report/summary/crash_words.h"
#include "report/summary/report_waits.h"
#include "report/value/frame_source.h"
#include "report/value/report.h"
#include "report/value/value_text.h"
#include "upload/bodies/crash_type.h"
#include "upload/bodies/telemetry.h"

// A thread's backtrace in the order of Sentry's stack traces: outermost frame first,
// the frame that crashed last, inlined calls after the frame they were inlined into.

// The lines of source around a frame, as Sentry shows them.
//
// Limits: five lines before and after, 256 bytes of each.

enum { LINES_AROUND = 5, LINE_MAX_BYTES = 256 };

// line_json is a line, cut; one that is not UTF-8 is empty.
static json_t *line_json(const char *line)
{
    json_t *json = json_stringn(line, utf8_cut(line, strlen(line), LINE_MAX_BYTES));
    return json != NULL ? json : json_string("");
}

static void add_source_lines(json_t *to, const struct frame_source *source,
                             int64_t line)
{
    json_t *before = json_array();
    json_t *after = json_array();
    for (size_t i = 0; i < source->count; i++) {
        int64_t number = source->first + (int64_t)i;
        json_t *json = line_json(source->lines[i]);
        if (number == line)
            (void)json_object_set_new(to, "context_line", json);
        else
            (void)json_array_append_new(number < line ? before : after, json);
    }
    // Neither makes sense without the line itself.
    if (json_object_get(to, "context_line") != NULL) {
        (void)json_object_set(to, "pre_context", before);
        (void)json_object_set(to, "post_context", after);
    }
    json_decref(before);
    json_decref(after);
}

// sentry_source_add adds context_line, pre_context and post_context to a frame of
// Sentry's, where the file that was built is on this machine. Of a program of another
// user nothing is read: the sender of a report may be allowed to read more than it was.
static void sentry_source_add(json_t *to, const json_t *report, const json_t *frame)
{
    const json_t *process = json_object_get(report, "process");
    struct frame_source source;
    if (report_integer(process, "uid", -1) != (int64_t)geteuid() ||
        frame_source_read(report, frame, LINES_AROUND, NULL, &source) != CH_OK)
        return;
    if (source.state == FRAME_SOURCE_BUILT)
        add_source_lines(to, &source, report_integer(frame, "line", 0));
    frame_source_deinit(&source);
}

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
    bool certain = trust != NULL &&
                   (strcmp(trust, "sframe") == 0 || strcmp(trust, "shadow-stack") == 0);
    return certain ? "cfi" : trust;
}

// sentry_variable is the value of a variable, or text where more is to be said of it
// than that: `3 (2 when called)`, `? (the compiler left it out)`.
static json_t *sentry_variable(const json_t *variable)
{
    struct text CH_CLEANUP(text_deinit) state = { 0 };
    if (value_text_is_certain(variable))
        return json_incref(json_object_get(variable, "value"));
    value_text_append_state(variable, &state);
    return text_ok(&state) ? json_string(state.bytes) : NULL;
}

// add_variables adds the variables of a list. Of several with one name the first is in
// the innermost block: the one that the source means.
static void add_variables(json_t *variables, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        struct text CH_CLEANUP(text_deinit) name = { 0 };
        value_text_append_name(one, &name);
        if (text_ok(&name) && json_object_get(variables, name.bytes) == NULL)
            (void)json_object_set_new(variables, name.bytes, sentry_variable(one));
    }
}

static json_t *variables_of(const json_t *frame)
{
    json_t *variables = json_object();
    add_variables(variables, json_object_get(frame, "locals"));
    add_variables(variables, json_object_get(frame, "arguments"));
    add_variables(variables, json_object_get(frame, "globals"));
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

// add_tail_callers adds the functions that ran between a frame and its caller and left
// no frames, the outermost first.
static void add_tail_callers(json_t *to, const json_t *report, const json_t *frame)
{
    const json_t *callers = json_object_get(frame, "tail_callers");
    for (size_t i = json_array_size(callers); i > 0; i--)
        (void)json_array_append_new(
            to, code_frame(report, json_array_get(callers, i - 1), false));
}

// sentry_stack_make makes the stack trace of thread with at most frames_max frames,
// without those in the middle, or returns NULL if the thread has none or memory is
// short. The program's own among the innermost sources_max frames get their lines of
// source.
static json_t *sentry_stack_make(const json_t *report, const json_t *thread,
                                 size_t frames_max, size_t sources_max)
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
        add_tail_callers(to, report, frame);
        json_t *made = frame_json(report, frame, call_sites);
        if (i <= sources_max && json_is_true(json_object_get(made, "in_app")))
            sentry_source_add(made, report, frame);
        (void)json_array_append_new(to, made);
    }
    return json_pack("{s:o, s:s, s:O*}", "frames", to, "instruction_addr_adjustment",
                     call_sites ? "none" : "all_but_first", "registers",
                     json_object_get(thread, "registers"));
}

// EVENT_MAX_BYTES is Sentry's limit, less some room for what a relay adds.
enum {
    EVENT_MAX_BYTES = 1000000,
    GUID_BYTES = 16,
    BUILD_ID_MAX = 64,
    SOURCES_MAX = 64, // frames with lines of source
};

// extent is how much of a report goes into an event.
struct extent {
    size_t crashed_frames;
    size_t threads;
    size_t frames; // of each other thread
    bool bare;     // without watches, breadcrumbs and problems
};

void sentry_event_time(int64_t unix_ms, char out[static SENTRY_TIME_SIZE])
{
    char seconds[SENTRY_TIME_SIZE];
    time_t at = (time_t)(unix_ms / 1000);
    struct tm parts = { 0 };
    if (gmtime_r(&at, &parts) == NULL ||
        strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts) == 0)
        seconds[0] = 0;
    (void)snprintf(out, SENTRY_TIME_SIZE, "%.30s.%03dZ", seconds,
                   (int)(unix_ms % 1000));
}

void sentry_event_id(const char *report_id, char out[static SENTRY_EVENT_ID_SIZE])
{
    size_t length = 0;
    for (; *report_id != 0 && length + 1 < SENTRY_EVENT_ID_SIZE; report_id++) {
        if (*report_id != '-')
            out[length++] = *report_id;
    }
    out[length] = 0;
}

enum ch_status sentry_event_debug_id(const char *build_id,
                                     char out[static SENTRY_DEBUG_ID_SIZE])
{
    // Sentry reads the first 16 bytes as a GUID whose first three fields are
    // little-endian.
    static const uint8_t order[GUID_BYTES] = { 3, 2, 1,  0,  5,  4,  7,  6,
                                               8, 9, 10, 11, 12, 13, 14, 15 };
    uint8_t bytes[BUILD_ID_MAX] = { 0 };
    size_t size = 0;
    size_t length = 0;
    if (hex_decode(build_id, strlen(build_id), bytes, sizeof(bytes), &size) != CH_OK ||
        size == 0)
        return CH_ERR_MALFORMED;
    for (size_t i = 0; i < GUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[length++] = '-';
        hex_encode(&bytes[order[i]], 1, out + length);
        length += 2;
    }
    return CH_OK;
}

static const char *sentry_arch(const json_t *report)
{
    const char *arch = report_string(json_object_get(report, "host"), "arch");
    return arch != NULL && strcmp(arch, "aarch64") == 0 ? "arm64" : arch;
}

static json_t *image_json(const json_t *image, const char *arch)
{
    char debug_id[SENTRY_DEBUG_ID_SIZE];
    uint64_t base = 0;
    uint64_t end = 0;
    const char *build_id = report_string(image, "build_id");
    const char *path = report_string(image, "path");
    if (build_id == NULL || sentry_event_debug_id(build_id, debug_id) != CH_OK ||
        !report_address(image, "base", &base))
        return NULL;
    (void)report_address(image, "end_of_text", &end);
    return json_pack("{s:s, s:s?, s:s, s:s, s:O, s:I, s:s*}", "type", "elf",
                     "code_file", path != NULL ? path : report_string(image, "name"),
                     "code_id", build_id, "debug_id", debug_id, "image_addr",
                     json_object_get(image, "base"), "image_size",
                     (json_int_t)(end > base ? end - base : 0), "arch", arch);
}

// images_json lists the images that symbols can be found for.
static json_t *images_json(const json_t *report)
{
    const json_t *from = json_object_get(report, "images");
    json_t *images = json_array();
    for (size_t i = 0; i < json_array_size(from); i++) {
        json_t *image = image_json(json_array_get(from, i), sentry_arch(report));
        if (image != NULL)
            (void)json_array_append_new(images, image);
    }
    return json_pack("{s:o}", "images", images);
}

static json_t *mechanism_json(const json_t *crash)
{
    json_t *address = json_object_get(crash, "address");
    json_t *data =
        address != NULL ? json_pack("{s:O}", "relevant_address", address) : NULL;
    return json_pack("{s:s, s:b, s:b, s:{s:{s:I, s:I, s:s?, s:s*}}, s:o*}", "type",
                     "signalhandler", "synthetic", 1, "handled", 0, "meta", "signal",
                     "number", (json_int_t)report_integer(crash, "signal", 0), "code",
                     (json_int_t)report_integer(crash, "code", 0), "name",
                     report_string(crash, "name"), "code_name",
                     report_string(crash, "code_name"), "data", data);
}

static int64_t crashed_tid(const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    return report_integer(report_crashed_thread(report), "tid",
                          report_integer(crash, "thread", 0));
}

// find_crashed is the thread that crashed, or NULL: the report does not contain it, or
// nothing crashed.
static const json_t *find_crashed(const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    const json_t *crashed = report_crashed_thread(report);
    if (!json_is_object(json_object_get(report, "crash")))
        return NULL;
    for (size_t i = 0; i < json_array_size(threads) && crashed == NULL; i++) {
        const json_t *thread = json_array_get(threads, i);
        if (report_integer(thread, "tid", -1) == crashed_tid(report))
            crashed = thread;
    }
    return crashed;
}

// thrown_json is the C++ exception that led to the crash, with the stack that it was
// thrown with; NULL: no such stack was recorded. Sentry shows it as the crash's cause,
// which precedes the crash and refers to it by its number.
static json_t *thrown_json(const json_t *report, const struct extent *extent)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *thrown = json_object_get(crash, "exception");
    const json_t *backtrace = json_object_get(thrown, "backtrace");
    const char *what = report_string(thrown, "what");
    json_t *stack =
        sentry_stack_make(report, thrown, extent->crashed_frames, SOURCES_MAX);
    if (stack == NULL)
        return NULL;
    return json_pack("{s:s?, s:s, s:I, s:o, s:{s:s, s:s, s:b}}", "type",
                     report_string(thrown, "type"), "value", what != NULL ? what : "",
                     "thread_id", (json_int_t)report_integer(backtrace, "thread", 0),
                     "stacktrace", stack, "mechanism", "type", "chained", "source",
                     "thrown", "handled", 0);
}

// heap_cause_json is the free or the allocation of the misused block, as a cause of the
// crash; NULL: its stack is not known.
static json_t *heap_cause_json(const json_t *report, const char *key,
                               const struct crash_heap_event *facts,
                               const struct extent *extent)
{
    struct text CH_CLEANUP(text_deinit) words = { 0 };
    const json_t *crash = json_object_get(report, "crash");
    const json_t *event = json_object_get(json_object_get(crash, "heap"), key);
    json_t *stack =
        sentry_stack_make(report, event, extent->crashed_frames, SOURCES_MAX);
    if (stack == NULL)
        return NULL;
    crash_heap_append_event(facts, &words);
    return json_pack("{s:s, s:s, s:I, s:o, s:{s:s, s:s, s:b}}", "type", key, "value",
                     text_ok(&words) ? words.bytes : "", "thread_id",
                     (json_int_t)facts->thread, "stacktrace", stack, "mechanism",
                     "type", "chained", "source", key, "handled", 0);
}

// add_causes adds what Sentry shows as the crash's causes, the first of them last
// before the crash.
static size_t add_causes(const json_t *report, const struct extent *extent, json_t *to)
{
    struct crash_heap heap;
    crash_words_heap(json_object_get(report, "crash"), &heap);
    json_t *causes[] = { heap_cause_json(report, "allocated", &heap.allocated, extent),
                         heap_cause_json(report, "freed", &heap.freed, extent),
                         thrown_json(report, extent) };
    size_t count = 0;
    for (size_t i = sizeof(causes) / sizeof(causes[0]); i-- > 0;) {
        json_t *mechanism = json_object_get(causes[i], "mechanism");
        if (causes[i] == NULL)
            continue;
        (void)json_object_set_new(mechanism, "exception_id",
                                  json_integer((json_int_t)++count));
        (void)json_object_set_new(mechanism, "parent_id",
                                  json_integer((json_int_t)count - 1));
        (void)json_array_insert_new(to, 0, causes[i]);
    }
    return count;
}

static json_t *exception_json(const json_t *report, const struct extent *extent)
{
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    const json_t *crash = json_object_get(report, "crash");
    const char *summary = report_string(crash, "summary");
    const char *message = report_unsaid_message(crash);
    text_append_string(&value, summary != NULL ? summary : "");
    if (message != NULL)
        text_appendf(&value, "%s%s", value.size != 0 ? ": " : "", message);
    json_t *values = json_array();
    json_t *mechanism = mechanism_json(crash);
    if (add_causes(report, extent, values) != 0)
        (void)json_object_set_new(mechanism, "exception_id", json_integer(0));
    // An exception that precedes the crash, as its cause, has its type there.
    const char *kind = report_string(crash, "kind");
    bool has_cause = json_array_size(values) != 0;
    json_t *signal =
        json_pack("{s:s?, s:s, s:I, s:o, s:o*}", "type",
                  has_cause && kind != NULL ? kind : crash_type(crash), "value",
                  value.bytes != NULL ? value.bytes : "", "thread_id",
                  (json_int_t)crashed_tid(report), "mechanism", mechanism, "stacktrace",
                  sentry_stack_make(report, find_crashed(report),
                                    extent->crashed_frames, SOURCES_MAX));
    (void)json_array_append_new(values, signal);
    return json_pack("{s:o}", "values", values);
}

static json_t *thread_json(const json_t *report, const json_t *thread, bool crashed,
                           size_t frames)
{
    int64_t pid = report_integer(json_object_get(report, "process"), "pid", 0);
    int64_t tid = report_integer(thread, "tid", 0);
    // The stack of the crashed thread is part of the exception.
    json_t *stack = crashed ? NULL : sentry_stack_make(report, thread, frames, 0);
    if (stack != NULL)
        (void)json_object_set_new(stack, "snapshot", json_true());
    return json_pack("{s:I, s:b, s:b, s:b, s:s*, s:s*, s:o*}", "id", (json_int_t)tid,
                     "crashed", crashed, "current", crashed, "main", tid == pid, "name",
                     report_string(thread, "name"), "state",
                     report_string(thread, "state"), "stacktrace", stack);
}

// goroutine_json is a goroutine that does not run on a thread, as a thread. Its number
// is a string, because a thread may have the same.
static json_t *goroutine_json(const json_t *report, const json_t *goroutine,
                              size_t frames)
{
    struct text CH_CLEANUP(text_deinit) id = { 0 };
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    const char *reason = report_string(goroutine, "reason");
    text_appendf(&id, "goroutine %" PRId64, report_integer(goroutine, "id", 0));
    text_appendf(&name, "%s%s%s%s", id.bytes, reason != NULL ? " [" : "",
                 reason != NULL ? reason : "", reason != NULL ? "]" : "");
    json_t *stack = sentry_stack_make(report, goroutine, frames, 0);
    if (stack != NULL)
        (void)json_object_set_new(stack, "snapshot", json_true());
    return json_pack("{s:s, s:b, s:b, s:b, s:s, s:s*, s:o*}", "id", id.bytes, "crashed",
                     0, "current", 0, "main", 0, "name", name.bytes, "state",
                     report_string(goroutine, "state"), "stacktrace", stack);
}

// threads_json lists the crashed thread and as many others as extent allows.
static json_t *threads_json(const json_t *report, const struct extent *extent)
{
    const json_t *from = json_object_get(report, "threads");
    const json_t *crashed = find_crashed(report);
    json_t *threads = json_array();
    size_t others = 0;
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_t *thread = json_array_get(from, i);
        if (thread == crashed || others++ < extent->threads)
            (void)json_array_append_new(
                threads,
                thread_json(report, thread, thread == crashed, extent->frames));
    }
    const json_t *goroutines = json_object_get(report, "goroutines");
    for (size_t i = 0; i < json_array_size(goroutines); i++) {
        const json_t *one = json_array_get(goroutines, i);
        if (report_frames(one) != NULL && others++ < extent->threads)
            (void)json_array_append_new(threads,
                                        goroutine_json(report, one, extent->frames));
    }
    // Sentry groups by the one crashed thread, so there must be one even if we could
    // not read it.
    if (crashed == NULL && json_is_object(json_object_get(report, "crash")))
        (void)json_array_append_new(threads, json_pack("{s:I, s:b, s:b}", "id",
                                                       (json_int_t)crashed_tid(report),
                                                       "crashed", 1, "current", 1));
    return json_pack("{s:o}", "values", threads);
}

static json_t *contexts_json(const json_t *report)
{
    const json_t *host = json_object_get(report, "host");
    json_t *process = json_object_get(report, "process");
    const char *kernel = report_string(host, "kernel");
    json_t *contexts = json_pack(
        "{s:{s:s, s:s*, s:s*, s:s*}, s:{s:s*, s:O*, s:O*}, s:{s:s*, s:O*}}", "os",
        "name", "Linux", "version", kernel, "kernel_version", kernel, "raw_description",
        report_string(host, "os"), "device", "arch", sentry_arch(report), "memory_size",
        json_object_get(host, "memory_bytes"), "processor_count",
        json_object_get(host, "cpus"), "app", "app_start_time",
        report_string(process, "started"), "app_memory",
        json_object_get(process, "rss_bytes"));
    if (json_is_object(process))
        (void)json_object_set_new(contexts, "process", json_copy(process));
    json_t *termination = json_object_get(json_object_get(report, "crash"), "death");
    if (json_is_object(termination))
        (void)json_object_set(contexts, "death", termination);
    struct telemetry_trace trace;
    if (telemetry_trace_of(report, &trace))
        (void)json_object_set_new(contexts, "trace",
                                  json_pack("{s:s, s:s*}", "trace_id", trace.trace,
                                            "span_id",
                                            trace.span[0] != 0 ? trace.span : NULL));
    return contexts;
}

static json_t *tags_json(const json_t *report)
{
    const json_t *crash = json_object_get(report, "crash");
    json_t *tags = json_pack(
        "{s:s*, s:s*, s:s*}", "signal", report_string(crash, "name"), "signal.code",
        report_string(crash, "code_name"), "crash.kind", report_string(crash, "kind"));
    json_t *own = json_object_get(report, "tags");
    if (json_is_object(own))
        (void)json_object_update(tags, own);
    return tags;
}

static json_t *breadcrumbs_json(const json_t *report)
{
    const json_t *from = json_object_get(report, "breadcrumbs");
    json_t *values = json_array();
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_t *crumb = json_array_get(from, i);
        json_t *value =
            json_pack("{s:s*, s:s, s:s*}", "timestamp", report_string(crumb, "time"),
                      "type", "default", "message", report_string(crumb, "message"));
        (void)json_array_append_new(values, value);
    }
    if (json_array_size(values) != 0)
        return json_pack("{s:o}", "values", values);
    json_decref(values);
    return NULL;
}

// extra_json is what has no place of its own in an event.
static json_t *extra_json(const json_t *report, bool bare)
{
    json_t *extra =
        json_pack("{s:s?, s:I, s:O*}", "report", report_string(report, "id"),
                  "revision", (json_int_t)report_integer(report, "revision", 0),
                  "spool", json_object_get(report, "spool"));
    const json_t *crash = json_object_get(report, "crash");
    json_t *others =
        json_pack("{s:O*, s:O*, s:O*, s:O*, s:O*}", "problems",
                  json_object_get(report, "problems"), "watches",
                  json_object_get(report, "watches"), "waits", report_waits(report),
                  "variable", json_object_get(crash, "variable"), "provenance",
                  json_object_get(crash, "provenance"));
    if (!bare)
        (void)json_object_update(extra, others);
    json_decref(others);
    return extra;
}

// describe_event adds what crashed, or says that nothing did.
static void describe_event(json_t *event, const json_t *report,
                           const struct extent *extent)
{
    bool crashed = json_is_object(json_object_get(report, "crash"));
    const char *fingerprint = report_string(report, "fingerprint2");
    if (fingerprint == NULL)
        fingerprint = report_string(report, "fingerprint");
    (void)json_object_set_new(event, "level", json_string(crashed ? "fatal" : "info"));
    if (!crashed) {
        struct text CH_CLEANUP(text_deinit) deadlock = { 0 };
        bool is_deadlock = report_deadlock(report, &deadlock);
        (void)json_object_set_new(
            event, "logentry",
            json_pack("{s:s}", "formatted",
                      is_deadlock ? deadlock.bytes : "report of a live process"));
        return;
    }
    (void)json_object_set_new(event, "exception", exception_json(report, extent));
    // Sentry's own grouping goes on by its rules, of which our key is one component.
    // Without names it differs from build to build; Sentry may have the symbols.
    if (fingerprint != NULL && report_integer(report, "revision", 0) > 0)
        (void)json_object_set_new(event, "fingerprint",
                                  json_pack("[s, s]", "{{ default }}", fingerprint));
}

// user_json is by what Sentry counts the users of an issue: the tag `user`, otherwise
// which user ran the program, and where.
static json_t *user_json(const json_t *report)
{
    const char *host = report_string(json_object_get(report, "host"), "hostname");
    int64_t uid = report_integer(json_object_get(report, "process"), "uid", -1);
    const char *user = report_string(json_object_get(report, "tags"), "user");
    struct text CH_CLEANUP(text_deinit) id = { 0 };
    if (user != NULL)
        return json_pack("{s:s}", "id", user);
    if (host == NULL)
        return NULL;
    if (uid >= 0)
        text_appendf(&id, "%lld@", (long long)uid);
    text_append_string(&id, host);
    return text_ok(&id) ? json_pack("{s:s}", "id", id.bytes) : NULL;
}

static json_t *event_json(const json_t *report, const struct extent *extent)
{
    char event_id[SENTRY_EVENT_ID_SIZE];
    const char *id = report_string(report, "id");
    sentry_event_id(id != NULL ? id : "", event_id);
    json_t *event = json_pack(
        "{s:s, s:s?, s:s, s:s*, s:s*, s:s*, s:s, s:{s:s, s:s}}", "event_id", event_id,
        "timestamp", report_string(report, "time"), "platform", "native", "release",
        report_string(report, "release"), "environment",
        report_string(report, "environment"), "server_name",
        report_string(json_object_get(report, "host"), "hostname"), "logger",
        "crashhook", "sdk", "name", "crashhook", "version", CRASHHOOK_VERSION);
    json_t *breadcrumbs = extent->bare ? NULL : breadcrumbs_json(report);
    describe_event(event, report, extent);
    (void)json_object_set_new(event, "threads", threads_json(report, extent));
    (void)json_object_set_new(event, "debug_meta", images_json(report));
    (void)json_object_set_new(event, "contexts", contexts_json(report));
    (void)json_object_set_new(event, "tags", tags_json(report));
    (void)json_object_set_new(event, "extra", extra_json(report, extent->bare));
    json_t *user = user_json(report);
    if (user != NULL)
        (void)json_object_set_new(event, "user", user);
    if (breadcrumbs != NULL)
        (void)json_object_set_new(event, "breadcrumbs", breadcrumbs);
    return event;
}

enum ch_status sentry_event_write(const json_t *report, struct text *out)
{
    static const struct extent extents[] = {
        { SIZE_MAX, SIZE_MAX, SIZE_MAX, false },
        { 1000, 256, 32, false },
        { 500, 64, 16, false },
        { 250, 0, 0, true },
        { 50, 0, 0, true },
    };
    enum { EXTENTS = sizeof(extents) / sizeof(extents[0]) };
    enum ch_status status = CH_OK;
    size_t before = out->size;
    for (size_t i = 0; i < EXTENTS; i++) {
        json_auto_t *event = event_json(report, &extents[i]);
        struct text CH_CLEANUP(text_deinit) json = { 0 };
        status = event != NULL ? json_tree_write(event, &json) : CH_ERR_NO_MEMORY;
        if (status != CH_OK)
            return status;
        if (json.size > EVENT_MAX_BYTES && i + 1 < EXTENTS)
            continue;
        // The attached report has everything.
        text_append(out, json.bytes, json.size);
        break;
    }
    return text_ok(out) && out->size > before ? CH_OK : CH_ERR_NO_MEMORY;
}
