// SPDX-License-Identifier: Apache-2.0
#include "report/summary/crash_words.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "report/file/report_tree.h"
#include "report/summary/crash_kind.h"
#include "report/summary/crash_summary.h"
#include "report/summary/report_waits.h"

enum { BARS = 32, HEIGHTS = 8 };

static int64_t sample_bytes(const json_t *samples, size_t index, const char *key)
{
    int64_t bytes = report_integer(json_array_get(samples, index), key, 0);
    return bytes > 0 ? bytes : 0;
}

static int64_t most_bytes(const json_t *samples, const char *key)
{
    int64_t most = 0;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        int64_t bytes = sample_bytes(samples, i, key);
        most = bytes > most ? bytes : most;
    }
    return most;
}

// append_bars draws at most BARS of the samples, the last of them always.
static void append_bars(const json_t *samples, int64_t most, struct text *out)
{
    static const char *const bars[HEIGHTS] = { "\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588" };
    size_t count = json_array_size(samples);
    size_t first = count > BARS ? count - BARS : 0;
    for (size_t i = first; i < count && most > 0; i++) {
        int64_t bytes = sample_bytes(samples, i, "rss_bytes");
        size_t height = (size_t)(bytes / (most / HEIGHTS + 1));
        text_append_string(out, bars[height < HEIGHTS ? height : HEIGHTS - 1]);
    }
}

bool memory_words_append(const json_t *report, struct text *out)
{
    const json_t *samples =
        json_object_get(json_object_get(report, "process"), "memory");
    size_t count = json_array_size(samples);
    if (count == 0)
        return false;
    int64_t most = most_bytes(samples, "rss_bytes");
    int64_t group = most_bytes(samples, "cgroup_bytes");
    int64_t span_ms = report_integer(json_array_get(samples, 0), "before_ms", 0);
    text_appendf(out, "%" PRId64 " to %" PRId64 " MB, at most %" PRId64 " MB",
                 sample_bytes(samples, 0, "rss_bytes") >> 20,
                 sample_bytes(samples, count - 1, "rss_bytes") >> 20, most >> 20);
    if (group != 0)
        text_appendf(out, ", its cgroup %" PRId64 " MB", group >> 20);
    text_appendf(out, ", in the last %" PRId64 ".%" PRId64 " s ", span_ms / 1000,
                 span_ms % 1000 / 100);
    append_bars(samples, most, out);
    return true;
}

// WORDS_MAX: our sentences take a line or two; a longer text was made by somebody else.
enum { WORDS_MAX = 64 << 10 };

static int32_t read_int32(const json_t *object, const char *key)
{
    int64_t value = report_integer(object, key, 0);
    return value >= INT32_MIN && value <= INT32_MAX ? (int32_t)value : 0;
}

static uint64_t read_address(const json_t *object, const char *key)
{
    uint64_t value = 0;
    (void)report_address(object, key, &value);
    return value;
}

static enum crash_access read_access(const json_t *access)
{
    static const char *const names[] = { [CRASH_ACCESS_READ] = "read",
                                         [CRASH_ACCESS_WRITE] = "write",
                                         [CRASH_ACCESS_EXECUTE] = "execute" };
    const char *operation = report_string(access, "operation");
    for (int i = CRASH_ACCESS_READ; operation != NULL && i <= CRASH_ACCESS_EXECUTE; i++)
        if (strcmp(operation, names[i]) == 0)
            return (enum crash_access)i;
    return CRASH_ACCESS_UNKNOWN;
}

static void read_crash_operand(const json_t *access, struct crash_operand *out)
{
    json_t *registers = json_object_get(access, "registers");
    const char *name;
    json_t *value;
    size_t count = 0;
    out->expression = report_string(access, "expression");
    out->size = (unsigned)read_int32(access, "size");
    out->address = read_address(access, "address");
    out->misaligned = report_flag(access, "misaligned");
    json_object_foreach(registers, name, value)
    {
        if (count == sizeof(out->registers) / sizeof(out->registers[0]))
            break;
        out->registers[count].name = name;
        out->registers[count++].value = read_address(registers, name);
    }
}

static void read_crash_region(const json_t *region, struct crash_place *out)
{
    const char *state = report_string(region, "state");
    const char *access = report_string(region, "permissions");
    out->mapped = state != NULL && strcmp(state, "mapped") == 0;
    out->unmapped = state != NULL && strcmp(state, "unmapped") == 0;
    out->readable = access != NULL && strchr(access, 'r') != NULL;
    out->writable = access != NULL && strchr(access, 'w') != NULL;
    out->executable = access != NULL && strchr(access, 'x') != NULL;
    out->path = report_string(region, "path");
    out->path_size = out->path != NULL ? strlen(out->path) : 0;
    out->file = out->path != NULL;
}

bool crash_words_is_in_data(const json_t *crash)
{
    struct crash_place place = { 0 };
    enum crash_kind kind = crash_words_kind(crash);
    read_crash_region(json_object_get(crash, "region"), &place);
    return kind == CRASH_KIND_EXECUTE_OF_DATA ||
           (kind == CRASH_KIND_OVERWRITTEN_RETURN && place.mapped);
}

static void read_way(const json_t *crash, struct crash_facts *out)
{
    const json_t *way = json_object_get(crash, "target");
    const char *by = report_string(way, "by");
    if (by != NULL && strcmp(by, "return") == 0)
        out->way = CRASH_WAY_RETURN;
    if (by != NULL && strcmp(by, "branch") == 0)
        out->way = CRASH_WAY_BRANCH;
    out->way_address = read_address(way, "address");
}

static void read_instruction(const json_t *crash, struct crash_facts *out)
{
    const json_t *instruction = json_object_get(crash, "instruction");
    const json_t *blamed = json_object_get(crash, "register");
    const char *text = report_string(instruction, "text");
    out->instruction = text != NULL && text[0] != 0 ? text : NULL;
    out->trap = report_flag(instruction, "trap");
    out->blamed.name = report_string(blamed, "name");
    out->blamed.value = read_address(blamed, "value");
}

static struct crash_heap_event read_heap_event(const json_t *event)
{
    return (struct crash_heap_event){
        .thread = (uint32_t)read_int32(event, "thread"),
        .name = report_string(event, "thread_name"),
        .by = report_string(event, "by"),
        .age_ms = report_integer(event, "age_ms", CRASH_HEAP_NO_AGE),
    };
}

void crash_words_heap(const json_t *crash, struct crash_heap *out)
{
    const json_t *heap = json_object_get(crash, "heap");
    const json_t *block = json_object_get(heap, "block");
    *out = (struct crash_heap){
        .kind = json_is_object(heap) ? crash_words_kind(crash) : CRASH_KIND_NONE,
        .found_by = report_string(heap, "found_by"),
        .address = read_address(heap, "address"),
        .block = read_address(block, "address"),
        .size = (uint64_t)report_integer(block, "size", 0),
        .allocated = read_heap_event(json_object_get(heap, "allocated")),
        .freed = read_heap_event(json_object_get(heap, "freed")),
    };
}

static void read_sender(const json_t *crash, struct crash_facts *out)
{
    const json_t *sender = json_object_get(crash, "sender");
    out->sent = json_is_object(sender);
    out->sender = read_int32(sender, "pid");
    out->sender_user = (uint32_t)report_integer(sender, "uid", 0);
    out->sender_name = report_string(sender, "name");
    out->had_children = report_flag(sender, "had_children");
}

static void read_crash_limits(const json_t *crash, struct crash_facts *out)
{
    const json_t *stack = json_object_get(crash, "stack");
    const json_t *memory = json_object_get(crash, "memory_limit");
    out->stack = (struct crash_stack){
        .start = read_address(stack, "start"),
        .end = read_address(stack, "end"),
        .grows = report_flag(stack, "grows"),
        .limit_bytes = (uint64_t)report_integer(stack, "limit_bytes", 0),
    };
    out->memory = (struct crash_memory){
        .limit = report_string(memory, "name"),
        .limit_bytes = (uint64_t)report_integer(memory, "limit_bytes", 0),
        .used_bytes = (uint64_t)report_integer(memory, "used_bytes", 0),
    };
}

// read_said reads the libraries' messages. If there is an exception, the message was
// made from it.
static void read_said(const json_t *crash, struct crash_facts *out)
{
    const json_t *exception = json_object_get(crash, "exception");
    out->exception_type = report_string(exception, "type");
    out->exception_what = report_string(exception, "what");
    if (out->exception_type == NULL)
        out->message = report_string(crash, "message");
    const json_t *nested = json_object_get(exception, "nested");
    for (size_t i = 0; i < CRASH_NESTED_MAX; i++)
        out->nested[i] = (struct crash_nested){
            report_string(json_array_get(nested, i), "type"),
            report_string(json_array_get(nested, i), "what"),
        };
    out->thrown_in = report_string(json_object_get(exception, "thrown_in"), "function");
    const char *again =
        report_string(json_object_get(exception, "rethrown_in"), "function");
    out->rethrown = out->thrown_in == NULL && again != NULL;
    out->thrown_in = out->rethrown ? again : out->thrown_in;
    out->raised_in = report_string(json_object_get(crash, "raised_in"), "function");
    out->reason = report_string(crash, "reason");
    out->check.name = report_string(json_object_get(crash, "check"), "name");
    if (out->check.name != NULL)
        out->check.by = report_string(json_object_get(crash, "check"), "by");
}

enum crash_kind crash_words_kind(const json_t *crash)
{
    return crash_kind_of(report_string(crash, "kind"));
}

bool crash_words_is_kind(const json_t *crash, uint64_t kinds)
{
    return (kinds >> crash_words_kind(crash) & 1) != 0;
}

void crash_words_set_kind(json_t *crash, enum crash_kind kind)
{
    (void)json_object_set_new(crash, "kind", json_string(crash_kind_word(kind)));
}

bool crash_words_is_variable(const json_t *value)
{
    const json_t *frame = json_object_get(value, "frame");
    const json_t *held = json_object_get(value, "value");
    return report_string(value, "expression") != NULL &&
           report_string(value, "confidence") != NULL && json_is_integer(frame) &&
           json_integer_value(frame) >= 0 &&
           (json_is_null(held) || json_is_string(held) || json_is_integer(held));
}

bool crash_words_is_nearest(const json_t *value)
{
    return report_string(value, "object") != NULL &&
           report_string(value, "container") != NULL &&
           report_string(value, "side") != NULL &&
           report_integer(value, "bytes", 0) > 0 &&
           report_integer(value, "distance", -1) >= 0;
}

// read_damaged_chunk reads the damaged chunk; what does not have its form is left out.
static void read_damaged_chunk(const json_t *crash, struct crash_chunk *out)
{
    const json_t *chunk = json_object_get(crash, "chunk");
    const json_t *before = json_object_get(chunk, "before");
    struct crash_chunk read = { .field = report_string(chunk, "field"),
                                .is_text = report_flag(chunk, "is_text"),
                                .text = report_string(chunk, "text"),
                                .runs_on = report_flag(before, "runs_on"),
                                .before_text = report_string(before, "text") };
    int64_t size = report_integer(before, "size", 0);
    int64_t freed = report_integer(chunk, "size", 0);
    if (!report_address(chunk, "address", &read.address) ||
        !report_address(chunk, "value", &read.value) || size < 0 || freed < 0)
        return;
    read.size = (uint64_t)freed;
    if (!report_address(before, "address", &read.before))
        read.before = 0;
    read.before_size = (uint64_t)size;
    *out = read;
}

static void read_nearest(const json_t *crash, struct crash_nearest *out)
{
    const json_t *nearest = json_object_get(crash, "nearest");
    if (!crash_words_is_nearest(nearest))
        return;
    *out = (struct crash_nearest){
        .object = report_string(nearest, "object"),
        .container = report_string(nearest, "container"),
        .side = report_string(nearest, "side"),
        .bytes = (uint64_t)report_integer(nearest, "bytes", 0),
        .distance = (uint64_t)report_integer(nearest, "distance", 0),
    };
}

static void read_overwritten(const json_t *thread, struct crash_return *out)
{
    const json_t *overwritten = json_object_get(thread, "overwritten");
    const json_t *frames = report_frames(thread);
    const char *address = report_string(overwritten, "address");
    if (address == NULL)
        return;
    out->expected = read_address(overwritten, "expected");
    out->found = read_address(overwritten, "found");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *at = report_string(frame, "address");
        if (at == NULL || strcmp(at, address) != 0 || report_flag(frame, "inline"))
            continue;
        out->function = report_string(frame, "function");
        return;
    }
}

static void read_variable(const json_t *crash, struct crash_variable *out)
{
    const json_t *variable = json_object_get(crash, "variable");
    const json_t *value = json_object_get(variable, "value");
    if (!crash_words_is_variable(variable))
        return;
    int64_t elements = report_integer(variable, "elements", 0);
    int64_t bytes = report_integer(variable, "block_bytes", 0);
    const char *passed_as = report_string(variable, "passed_as");
    *out = (struct crash_variable){
        .expression = report_string(variable, "expression"),
        .function = report_string(variable, "function"),
        .role = report_string(variable, "role"),
        .address = json_string_value(value),
        .is_number = json_is_integer(value),
        .number = json_integer_value(value),
        .elements = elements > 0 ? (uint64_t)elements : 0,
        .array = report_string(variable, "array"),
        .container = report_string(variable, "container"),
        .state = report_string(variable, "state"),
        .text = report_string(variable, "text"),
        .block_bytes = bytes > 0 ? (uint64_t)bytes : 0,
        .bytes = passed_as != NULL && strcmp(passed_as, "length") == 0,
    };
}

static void read_crash_origin(const json_t *crash, struct crash_origin *out)
{
    const json_t *origin = json_object_get(crash, "provenance");
    *out = (struct crash_origin){
        .kind = report_string(origin, "kind"),
        .register_name = report_string(origin, "register"),
        .address = report_string(origin, "address"),
        .next = report_string(origin, "next"),
        .text = report_string(origin, "text"),
        .filler = report_string(origin, "filler"),
        .holder = report_string(origin, "holder"),
        .image = report_string(origin, "image"),
        .member = report_string(origin, "member"),
        .variable = report_string(origin, "variable"),
        .file = report_string(origin, "file"),
        .line = report_integer(origin, "line", 0),
        .bit = report_integer(origin, "bit", 0),
        .thread = report_integer(origin, "thread", 0),
        .offset = report_integer(origin, "offset", 0),
    };
}

// read_pc is the crashed thread's program counter.
static uint64_t read_pc(const json_t *crash, const json_t *thread)
{
    const json_t *registers = json_object_get(thread, "registers");
    uint64_t pc;
    if (report_address(json_object_get(crash, "instruction"), "address", &pc) ||
        report_address(registers, "rip", &pc) ||
        report_address(registers, "eip", &pc) || report_address(registers, "pc", &pc))
        return pc;
    return 0;
}

// crash_words_facts reads the facts of the crash; out points into the report, which
// must have the shape that report_parse checks.
static void crash_words_facts(const json_t *report, struct crash_facts *out)
{
    const json_t *crash = json_object_get(report, "crash");
    const json_t *thread = report_crashed_thread(report);
    const json_t *access = json_object_get(crash, "access");
    const json_t *call = json_object_get(crash, "system_call");
    const char *kind = report_string(crash, "kind");
    const char *thread_name = report_string(thread, "name");
    *out = (struct crash_facts){
        .kind = kind != NULL ? crash_kind_of(kind) : CRASH_KIND_UNKNOWN,
        .signal = read_int32(crash, "signal"),
        .code = read_int32(crash, "code"),
        .address = read_address(crash, "address"),
        .pc = read_pc(crash, thread),
        .access = read_access(access),
        .memory_tag = (int)report_integer(crash, "memory_tag", -1),
        .protection_key = (uint32_t)read_int32(crash, "protection_key"),
        // The instruction may have told the rest (symbolizer/diagnosis/).
        .signal_only = report_flag(crash, "signal_only") &&
                       json_object_get(crash, "address") == NULL,
        .pid = read_int32(json_object_get(report, "process"), "pid"),
        .system_call = read_int32(call, "number"),
        .system_call_machine = (uint32_t)read_address(call, "machine"),
        .thread_name = thread_name != NULL ? thread_name : "",
    };
    read_crash_operand(access, &out->operand);
    read_crash_region(json_object_get(crash, "region"), &out->address_place);
    read_way(crash, out);
    read_instruction(crash, out);
    read_sender(crash, out);
    read_crash_limits(crash, out);
    read_said(crash, out);
    crash_words_heap(crash, &out->heap);
    read_variable(crash, &out->variable);
    read_nearest(crash, &out->nearest);
    read_overwritten(thread, &out->overwritten);
    read_damaged_chunk(crash, &out->chunk);
    read_crash_origin(crash, &out->origin);
}

// words is the text that describes a crash.
struct words {
    struct text origin;   // crash.provenance.detail
    struct text deadlock; // a part of the summary
    struct text summary;
    struct text message;
};

static void words_deinit(struct words *words)
{
    text_deinit(&words->origin);
    text_deinit(&words->deadlock);
    text_deinit(&words->summary);
    text_deinit(&words->message);
}

static void words_make(const json_t *report, const char *begun, struct words *out)
{
    struct crash_facts facts;
    *out = (struct words){ .origin = { .limit_bytes = WORDS_MAX },
                           .deadlock = { .limit_bytes = WORDS_MAX },
                           .summary = { .limit_bytes = WORDS_MAX },
                           .message = { .limit_bytes = WORDS_MAX } };
    crash_words_facts(report, &facts);
    facts.worded = begun;
    if (report_deadlock(report, &out->deadlock) && text_ok(&out->deadlock))
        facts.deadlock_words = out->deadlock.bytes;
    crash_summary(&facts, &out->summary);
    (void)crash_origin_append(&facts.origin, &out->origin);
    if (facts.exception_type != NULL)
        crash_message(&facts, &out->message);
}

static void set_words(json_t *crash, const char *key, const struct text *words)
{
    if (text_ok(words) && words->size != 0)
        (void)json_object_set_new(crash, key, json_stringn(words->bytes, words->size));
}

// set_detail sets the words of where the bad value came from, or removes them. The
// object may be shared, so it is replaced.
static void set_detail(json_t *crash, const struct text *words)
{
    const json_t *origin = json_object_get(crash, "provenance");
    json_t *copy =
        json_is_object(origin) ? json_copy((json_t *)(uintptr_t)origin) : NULL;
    if (copy == NULL)
        return;
    if (words != NULL)
        set_words(copy, "detail", words);
    else
        (void)json_object_del(copy, "detail");
    (void)json_object_set_new(crash, "provenance", copy);
}

static bool are_words(const json_t *crash, const char *key, const struct text *words)
{
    const json_t *value = json_object_get(crash, key);
    return text_ok(words) && json_is_string(value) &&
           json_string_length(value) == words->size &&
           memcmp(json_string_value(value), words->bytes, words->size) == 0;
}

void crash_words_complete(json_t *report)
{
    struct words CH_CLEANUP(words_deinit) words = { 0 };
    json_t *crash = json_object_get(report, "crash");
    bool summary = report_string(crash, "summary") == NULL;
    bool message = report_string(crash, "message") == NULL &&
                   json_object_get(crash, "exception") != NULL;
    bool origin = json_object_get(crash, "provenance") != NULL;
    if (!json_is_object(crash) || !(summary || message || origin))
        return; // of version 1 a report has all its words
    words_make(report, NULL, &words);
    if (summary)
        set_words(crash, "summary", &words.summary);
    if (message)
        set_words(crash, "message", &words.message);
    if (origin)
        set_detail(crash, &words.origin);
}

void crash_words_leave_out(json_t *report)
{
    struct words CH_CLEANUP(words_deinit) words = { 0 };
    json_t *crash = json_copy(json_object_get(report, "crash"));
    if (!json_is_object(crash) || json_object_set_new(report, "crash", crash) != 0)
        return;
    words_make(report, NULL, &words);
    if (are_words(crash, "summary", &words.summary))
        (void)json_object_del(crash, "summary");
    if (are_words(crash, "message", &words.message))
        (void)json_object_del(crash, "message");
    set_detail(crash, NULL);
}

char *crash_words_begun(const json_t *report)
{
    struct words CH_CLEANUP(words_deinit) words = { 0 };
    const json_t *crash = json_object_get(report, "crash");
    const char *summary = report_string(crash, "summary");
    if (json_object_get(crash, "exception") != NULL)
        return NULL; // for an exception both versions have all facts of the sentence
    words_make(report, NULL, &words);
    return summary == NULL || are_words(crash, "summary", &words.summary)
               ? NULL
               : strdup(summary);
}

void crash_words_renew(json_t *report, const char *begun)
{
    struct words CH_CLEANUP(words_deinit) words = { 0 };
    json_t *crash = json_object_get(report, "crash");
    words_make(report, begun, &words);
    set_words(crash, "summary", &words.summary);
    set_words(crash, "message", &words.message);
    set_detail(crash, &words.origin);
}
