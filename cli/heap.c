// SPDX-License-Identifier: Apache-2.0
//
// Estimates the live memory of a program with libcrashhook-heap by the stacks that
// allocated it: of a process that goes on, or as a report has it.
//
// A sample stands for as many allocations as the rate r says. The estimate of all bytes
// is r times those of the samples, and its variance r (r - 1) times the sum of their
// squares: each allocation is sampled on its own.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attach.h"
#include "base/system/confine.h"
#include "base/text.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/value/report.h"
#include "upload/bodies/protobuf_json.h"

// The samples of a report's heap as a profile of pprof
// (https://github.com/google/pprof/blob/main/proto/profile.proto): estimates of the
// live blocks (inuse_objects) and their bytes (inuse_space), not compressed.
//
// Strings, functions and locations are lists, which others refer to by number: strings
// from 0 on, where "" is the first, the others from 1 on.

static const struct protobuf_member value_type_members[] = {
    { "type", 1, PROTOBUF_AS_INT64, NULL },
    { "unit", 2, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member sample_members[] = {
    { "location_id", 1, PROTOBUF_AS_INT64, NULL },
    { "value", 2, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member mapping_members[] = {
    { "id", 1, PROTOBUF_AS_INT64, NULL },
    { "memory_start", 2, PROTOBUF_AS_INT64, NULL },
    { "memory_limit", 3, PROTOBUF_AS_INT64, NULL },
    { "filename", 5, PROTOBUF_AS_INT64, NULL },
    { "build_id", 6, PROTOBUF_AS_INT64, NULL },
    { "has_functions", 7, PROTOBUF_AS_BOOL, NULL },
    { 0 },
};
static const struct protobuf_member line_members[] = {
    { "function_id", 1, PROTOBUF_AS_INT64, NULL },
    { "line", 2, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member location_members[] = {
    { "id", 1, PROTOBUF_AS_INT64, NULL },
    { "mapping_id", 2, PROTOBUF_AS_INT64, NULL },
    { "address", 3, PROTOBUF_AS_INT64, NULL },
    { "line", 4, PROTOBUF_AS_MESSAGE, line_members },
    { 0 },
};
static const struct protobuf_member function_members[] = {
    { "id", 1, PROTOBUF_AS_INT64, NULL },
    { "name", 2, PROTOBUF_AS_INT64, NULL },
    { "filename", 4, PROTOBUF_AS_INT64, NULL },
    { 0 },
};
static const struct protobuf_member profile_members[] = {
    { "sample_type", 1, PROTOBUF_AS_MESSAGE, value_type_members },
    { "sample", 2, PROTOBUF_AS_MESSAGE, sample_members },
    { "mapping", 3, PROTOBUF_AS_MESSAGE, mapping_members },
    { "location", 4, PROTOBUF_AS_MESSAGE, location_members },
    { "function", 5, PROTOBUF_AS_MESSAGE, function_members },
    { "string_table", 6, PROTOBUF_AS_STRING, NULL },
    { "period_type", 11, PROTOBUF_AS_MESSAGE, value_type_members },
    { "period", 12, PROTOBUF_AS_INT64, NULL },
    { "default_sample_type", 14, PROTOBUF_AS_INT64, NULL },
    { 0 },
};

struct pprof {
    const json_t *report;
    json_t *root;
    json_t *strings; // number of each, by its text
    json_t *functions;
    json_t *locations; // number of each, by its text
};

// heap_frame_name appends a frame's function, or where it is.
static void heap_frame_name(const json_t *report, const json_t *frame, struct text *out)
{
    const char *function = report_string(frame, "function");
    const char *offset = report_string(frame, "image_offset");
    const char *image = report_string(report_image(report, frame), "name");
    const char *address = report_string(frame, "address");
    if (function != NULL)
        text_append_string(out, function);
    else if (image != NULL && offset != NULL)
        text_appendf(out, "%s+%s", image, offset);
    else
        text_append_string(out, address != NULL ? address : "?");
}

static json_int_t number_of_string(struct pprof *p, const char *text)
{
    const json_t *known = json_object_get(p->strings, text);
    json_int_t number = (json_int_t)json_object_size(p->strings);
    if (known != NULL)
        return json_integer_value(known);
    (void)json_object_set_new(p->strings, text, json_integer(number));
    (void)json_array_append_new(json_object_get(p->root, "string_table"),
                                json_string(text));
    return number;
}

// pprof_number gives the number of the item with that key. True: it is new.
static bool pprof_number(json_t *numbers, const char *key, json_int_t *out)
{
    const json_t *known = json_object_get(numbers, key);
    *out = known != NULL ? json_integer_value(known)
                         : (json_int_t)json_object_size(numbers) + 1;
    return known == NULL && json_object_set_new(numbers, key, json_integer(*out)) == 0;
}

static void append_to(struct pprof *p, const char *list, json_t *item)
{
    (void)json_array_append_new(json_object_get(p->root, list), item);
}

static json_int_t number_of_function(struct pprof *p, const json_t *frame)
{
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    const char *file = report_string(frame, "file");
    json_int_t number = 0;
    heap_frame_name(p->report, frame, &key);
    if (!text_ok(&key))
        return 0;
    json_int_t name = number_of_string(p, key.bytes);
    text_appendf(&key, "\n%s", file != NULL ? file : "");
    if (text_ok(&key) && pprof_number(p->functions, key.bytes, &number))
        append_to(p, "function",
                  json_pack("{s:I, s:I, s:I}", "id", number, "name", name, "filename",
                            number_of_string(p, file != NULL ? file : "")));
    return number;
}

static json_int_t number_of_location(struct pprof *p, const json_t *frame)
{
    uint64_t address = 0;
    json_int_t number = 0;
    struct text CH_CLEANUP(text_deinit) key = { 0 };
    json_int_t called = number_of_function(p, frame);
    json_int_t at = report_integer(frame, "line", 0);
    (void)report_address(frame, "address", &address);
    text_appendf(&key, "%llx %lld %lld", (unsigned long long)address, (long long)called,
                 (long long)at);
    if (text_ok(&key) && pprof_number(p->locations, key.bytes, &number))
        append_to(p, "location",
                  json_pack("{s:I, s:I, s:I, s:[{s:I, s:I}]}", "id", number,
                            "mapping_id", report_integer(frame, "image", -1) + 1,
                            "address", (json_int_t)address, "line", "function_id",
                            called, "line", at));
    return number;
}

static void add_mappings(struct pprof *p)
{
    const json_t *images = json_object_get(p->report, "images");
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *image = json_array_get(images, i);
        const char *path = report_string(image, "path");
        const char *build_id = report_string(image, "build_id");
        uint64_t start = 0;
        uint64_t end = 0;
        (void)report_address(image, "base", &start);
        (void)report_address(image, "end_of_text", &end);
        append_to(p, "mapping",
                  json_pack("{s:I, s:I, s:I, s:I, s:I, s:b}", "id", (json_int_t)i + 1,
                            "memory_start", (json_int_t)start, "memory_limit",
                            (json_int_t)end, "filename",
                            number_of_string(p, path != NULL ? path : ""), "build_id",
                            number_of_string(p, build_id != NULL ? build_id : ""),
                            "has_functions", 1));
    }
}

static void pprof_add_stack(struct pprof *p, const json_t *stack, double rate)
{
    const json_t *frames = report_frames(stack);
    json_t *locations = json_array();
    double count = rate * (double)report_integer(stack, "count", 0);
    double bytes = rate * (double)report_integer(stack, "bytes", 0);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (report_frame_is_code(frame))
            (void)json_array_append_new(locations,
                                        json_integer(number_of_location(p, frame)));
    }
    append_to(p, "sample",
              json_pack("{s:o, s:[I, I]}", "location_id", locations, "value",
                        (json_int_t)count, (json_int_t)bytes));
}

static json_t *type_of(struct pprof *p, const char *type, const char *unit)
{
    return json_pack("{s:I, s:I}", "type", number_of_string(p, type), "unit",
                     number_of_string(p, unit));
}

static void build(struct pprof *p, double rate)
{
    const json_t *stacks =
        json_object_get(json_object_get(p->report, "heap"), "stacks");
    (void)number_of_string(p, "");
    append_to(p, "sample_type", type_of(p, "inuse_objects", "count"));
    append_to(p, "sample_type", type_of(p, "inuse_space", "bytes"));
    (void)json_object_set_new(p->root, "period_type",
                              type_of(p, "allocations", "count"));
    (void)json_object_set_new(p->root, "period", json_integer((json_int_t)rate));
    (void)json_object_set_new(p->root, "default_sample_type",
                              json_integer(number_of_string(p, "inuse_space")));
    add_mappings(p);
    for (size_t i = 0; i < json_array_size(stacks); i++)
        pprof_add_stack(p, json_array_get(stacks, i), rate);
}

// heap_pprof_write appends the profile of a report that has the member `heap`.
static enum ch_status heap_pprof_write(const json_t *report, double rate,
                                       struct text *out)
{
    struct pprof p = {
        .report = report,
        .root = json_pack("{s:[], s:[], s:[], s:[], s:[], s:[]}", "sample_type",
                          "sample", "mapping", "location", "function", "string_table"),
        .strings = json_object(),
        .functions = json_object(),
        .locations = json_object(),
    };
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (p.root != NULL && p.strings != NULL && p.functions != NULL &&
        p.locations != NULL) {
        build(&p, rate);
        status = protobuf_write_json(profile_members, p.root, out);
    }
    json_decref(p.root);
    json_decref(p.strings);
    json_decref(p.functions);
    json_decref(p.locations);
    return status;
}

enum { STACKS_SHOWN = 20, FRAMES_SHOWN = 12, SIZE_TEXT = 32 };

struct heap_estimate {
    double bytes;
    double count;
    double variance; // of bytes
    int64_t samples;
};

static struct heap_estimate estimate_of(const json_t *sizes, double rate)
{
    double spread = (double)report_integer(sizes, "spread_bytes", 0);
    int64_t samples = report_integer(sizes, "count", 0);
    return (struct heap_estimate){
        .bytes = rate * (double)report_integer(sizes, "bytes", 0),
        .count = rate * (double)samples,
        .variance = rate * (rate - 1) * spread * spread,
        .samples = samples,
    };
}

static void estimate_add(struct heap_estimate *to, const struct heap_estimate *from)
{
    to->bytes += from->bytes;
    to->count += from->count;
    to->variance += from->variance;
    to->samples += from->samples;
}

static const char *size_text(double bytes, char out[static SIZE_TEXT])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
    size_t unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    (void)snprintf(out, SIZE_TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", bytes,
                   units[unit]);
    return out;
}

// print_sizes prints "2.0 MiB ± 0.3 MiB in 30000 blocks (6 samples)".
static void print_sizes(const struct heap_estimate *estimate)
{
    char bytes[SIZE_TEXT];
    char error[SIZE_TEXT];
    (void)size_text(estimate->bytes, bytes);
    (void)size_text(sqrt(estimate->variance), error);
    printf("%s", bytes);
    if (estimate->variance > 0)
        printf(" ± %s", error);
    printf(" in %.0f block%s (%" PRId64 " sample%s)", estimate->count,
           estimate->count == 1 ? "" : "s", estimate->samples,
           estimate->samples == 1 ? "" : "s");
}

static void show_frame(const json_t *report, const json_t *frame)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    const char *file = report_string(frame, "file");
    int64_t line = report_integer(frame, "line", 0);
    heap_frame_name(report, frame, &name);
    printf("    %s", text_ok(&name) && name.size != 0 ? name.bytes : "?");
    if (file != NULL && line != 0)
        printf(" at %s:%" PRId64, file, line);
    putchar('\n');
}

static void show_stack(const json_t *report, const json_t *stack, double rate)
{
    const json_t *frames = report_frames(stack);
    struct heap_estimate estimate = estimate_of(stack, rate);
    int64_t oldest_ms = report_integer(stack, "oldest_ms", -1);
    putchar('\n');
    print_sizes(&estimate);
    if (oldest_ms >= 0)
        printf(", the oldest %" PRId64 " s old", oldest_ms / 1000);
    putchar('\n');
    for (size_t i = 0; i < json_array_size(frames) && i < FRAMES_SHOWN; i++)
        show_frame(report, json_array_get(frames, i));
    if (json_array_size(frames) > FRAMES_SHOWN)
        printf("    and %zu more\n", json_array_size(frames) - FRAMES_SHOWN);
}

// show_text prints the largest stacks.
static void show_text(const json_t *report, const json_t *heap, double rate)
{
    const json_t *stacks = json_object_get(heap, "stacks");
    const json_t *others = json_object_get(heap, "others");
    int64_t lost = report_integer(heap, "lost", 0);
    struct heap_estimate all = estimate_of(others, rate);
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        struct heap_estimate one = estimate_of(json_array_get(stacks, i), rate);
        estimate_add(&all, &one);
    }
    printf("live heap: ");
    print_sizes(&all);
    if (rate > 1)
        printf("\none allocation in %.0f is sampled; ± is the standard error", rate);
    if (lost != 0)
        printf("\n%" PRId64 " more samples found no place: the figures are too low",
               lost);
    putchar('\n');
    for (size_t i = 0; i < json_array_size(stacks) && i < STACKS_SHOWN; i++)
        show_stack(report, json_array_get(stacks, i), rate);
    if (json_array_size(stacks) > STACKS_SHOWN || others != NULL)
        printf("\nsmaller stacks are left out%s\n",
               others == NULL ? ": --format folded has them" : "");
}

// append_folded appends frames as flame graphs take them, the outermost first.
static void append_folded(const json_t *report, const json_t *frames, struct text *line)
{
    for (size_t i = json_array_size(frames); i-- > 0;) {
        size_t start = line->size;
        heap_frame_name(report, json_array_get(frames, i), line);
        for (size_t at = start; at < line->size; at++)
            if (line->bytes[at] == ';' || line->bytes[at] == '\n')
                line->bytes[at] = ':';
        text_append_string(line, i != 0 ? ";" : "");
    }
}

static void print_folded(const json_t *report, const json_t *heap, double rate)
{
    const json_t *stacks = json_object_get(heap, "stacks");
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        const json_t *stack = json_array_get(stacks, i);
        text_clear(&line);
        append_folded(report, report_frames(stack), &line);
        printf("%s %.0f\n", text_ok(&line) && line.size != 0 ? line.bytes : "?",
               estimate_of(stack, rate).bytes);
    }
    if (json_object_get(heap, "others") != NULL)
        printf("(other stacks) %.0f\n",
               estimate_of(json_object_get(heap, "others"), rate).bytes);
}

static int print_pprof(const json_t *report, double rate)
{
    struct text CH_CLEANUP(text_deinit) profile = { 0 };
    enum ch_status status = heap_pprof_write(report, rate, &profile);
    if (status != CH_OK)
        return command_fail("heap: no profile: %s", ch_status_name(status));
    (void)fwrite(profile.bytes, 1, profile.size, stdout);
    return COMMAND_DONE;
}

// look_at_process reads the samples of a process, which goes on meanwhile.
static int look_at_process(struct session *session, pid_t pid, json_t **out)
{
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct report_error error;
    // What root reads here was made by others.
    session->confined = geteuid() == 0;
    if (session->confined)
        confine_observer();
    if (attach_look(pid, &session->settings, getenv("HOME"), &raw) != CH_OK)
        return command_fail("cannot read process %d: %s", pid,
                            errno == EPERM ? "Operation not permitted (see crashhook "
                                             "doctor)"
                                           : strerror(errno));
    if (report_parse(raw.bytes, raw.size, out, &error) != CH_OK)
        return command_fail("cannot read our own report: %s", error.text);
    return COMMAND_DONE;
}

static int read_samples(struct session *session, const char *argument, json_t **out)
{
    pid_t pid;
    if (command_parse_pid(argument, &pid) && access(argument, F_OK) != 0)
        return look_at_process(session, pid, out);
    return session_spool_report(session, argument, out) == CH_OK ? COMMAND_DONE
                                                                 : COMMAND_FAILED;
}

static int run_heap(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    json_auto_t *report = NULL;
    const char *format = options_value(options, "format");
    if (format == NULL)
        format = "text";
    if (strcmp(format, "text") != 0 && strcmp(format, "folded") != 0 &&
        strcmp(format, "pprof") != 0)
        return command_misused("heap: --format '%s': it takes text, folded or pprof",
                               format);
    session_init(&session, options);
    if (read_samples(&session, options->arguments[0], &report) != COMMAND_DONE)
        return COMMAND_FAILED;
    if (!json_is_object(json_object_get(report, "heap")))
        return command_fail("heap: '%s' has no samples: the program runs without "
                            "libcrashhook-heap, or without CRASHHOOK_HEAP=sample",
                            options->arguments[0]);
    if (report_integer(report, "revision", 0) == 0)
        session_symbolize(&session, report);
    const json_t *heap = json_object_get(report, "heap");
    double rate = (double)report_integer(heap, "rate", 1);
    if (strcmp(format, "pprof") == 0)
        return print_pprof(report, rate);
    if (strcmp(format, "folded") == 0)
        print_folded(report, heap, rate);
    else
        show_text(report, heap, rate);
    return COMMAND_DONE;
}

static const struct option heap_options[] = {
    { "format", "text|folded|pprof",
      "for reading (text), for flame graphs, or as pprof's profile.proto", 0 },
    { "spool", "DIR", "where to look an id up", 0 },
    { "symbolize", "HOW", "as CRASHHOOK_SYMBOLIZE", 0 },
    { 0 },
};

const struct command heap_command = {
    .name = "heap",
    .arguments = "PID|REPORT|ID",
    .summary = "Estimate a program's live memory by the stacks that allocated it",
    .options = heap_options,
    .run = run_heap,
    .arguments_min = 1,
    .arguments_max = 1,
};
