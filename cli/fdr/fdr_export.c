// SPDX-License-Identifier: Apache-2.0
#include "cli/fdr/fdr_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr.h"
#include "report/file/report_id.h"
#include "report/value/report.h"
#include "symbolizer/flight_names.h"

enum {
    BUFFER_BYTES = 4096,
    ID_MAX = 0x07ffffff,
};

// cycles_per_second: reports give times in nanoseconds, so one cycle of the trace is
// one. The counter starts above 0, which readers may take for unset.
static const uint64_t cycles_per_second = 1000000000;

struct trace {
    struct fdr_writer writer;
    struct fdr_buffer_start start; // of the next buffer
    const json_t *report;
    json_t *ids;       // function ids by flight_names_key
    uint32_t id_count; // highest id given so far
    int64_t first_ns;  // of all events, relative to the crash
    int64_t crash_s;   // seconds since 1970
    int64_t *open;     // depths of the thread's open calls that were written
    size_t open_count;
};

static json_t *events_of(const json_t *threads, size_t index)
{
    return json_object_get(json_array_get(threads, index), "events");
}

// survey_events finds the earliest event, and the highest id that XRay gave a function.
static size_t survey_events(struct trace *trace, const json_t *threads)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *events = events_of(threads, i);
        for (size_t k = 0; k < json_array_size(events); k++) {
            const json_t *event = json_array_get(events, k);
            int64_t ns = report_integer(event, "t_ns", 0);
            int64_t id = report_integer(event, "id", 0);
            if (count++ == 0 || ns < trace->first_ns)
                trace->first_ns = ns;
            if (id > trace->id_count && id <= ID_MAX)
                trace->id_count = (uint32_t)id;
        }
    }
    return count;
}

// function_id is XRay's id of a function, or the next free one.
static uint32_t function_id(struct trace *trace, const json_t *event)
{
    int64_t id = report_integer(event, "id", 0);
    char key[FLIGHT_NAMES_KEY];
    if (id > 0 && id <= ID_MAX)
        return (uint32_t)id;
    (void)flight_names_key(trace->report, event, key);
    const json_t *known = json_object_get(trace->ids, key);
    if (known != NULL)
        return (uint32_t)json_integer_value(known);
    trace->id_count += trace->id_count < ID_MAX;
    (void)json_object_set_new(trace->ids, key, json_integer(trace->id_count));
    return trace->id_count;
}

// export_describe adds the names of function, which are in the list of the record's
// functions, in the form of frames.
static void export_describe(const json_t *report, const json_t *frame, json_t *function)
{
    static const char *const keys[] = { "function", "image_offset" };
    const json_t *image = json_array_get(json_object_get(report, "images"),
                                         (size_t)report_integer(frame, "image", -1));
    const char *path = report_string(image, "path");
    const char *build = report_string(image, "build_id");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *value = json_object_get(frame, keys[i]);
        if (value != NULL)
            (void)json_object_set(function, keys[i], value);
    }
    if (path == NULL)
        path = report_string(image, "name");
    if (path != NULL)
        (void)json_object_set_new(function, "image", json_string(path));
    if (build != NULL)
        (void)json_object_set_new(function, "build_id", json_string(build));
}

// export_frames gives the record's list of functions, by flight_names_key.
static json_t *export_frames(const json_t *report)
{
    const json_t *flight = json_object_get(report, "flight");
    json_t *frames = json_object_get(json_object_get(flight, "functions"), "frames");
    json_t *by_key = json_object();
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        char key[FLIGHT_NAMES_KEY];
        if (flight_names_key(report, frame, key))
            (void)json_object_set(by_key, key, frame);
    }
    return by_key;
}

struct export_functions {
    const json_t *report;
    json_t *frames;
    json_t *seen;
    void (*use)(void *context, uint32_t id, const json_t *function);
    void *context;
};

static void export_function(struct export_functions *all, struct trace *trace,
                            const json_t *event)
{
    char number[16];
    char key[FLIGHT_NAMES_KEY];
    const char *address = report_string(event, "address");
    uint32_t id = function_id(trace, event);
    snprintf(number, sizeof(number), "%" PRIu32, id);
    if (!flight_names_key(all->report, event, key) ||
        json_object_get(all->seen, number) != NULL)
        return;
    (void)json_object_set_new(all->seen, number, json_true());
    json_auto_t *function =
        json_pack("{s:I,s:s}", "id", (json_int_t)id, "address", address);
    if (function == NULL)
        return;
    export_describe(all->report, json_object_get(all->frames, key), function);
    all->use(all->context, id, function);
}

static void export_each_function(struct export_functions *all, struct trace *trace)
{
    const json_t *threads =
        json_object_get(json_object_get(all->report, "flight"), "threads");
    all->frames = export_frames(all->report);
    all->seen = json_object();
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *events = events_of(threads, i);
        for (size_t k = 0; k < json_array_size(events); k++)
            export_function(all, trace, json_array_get(events, k));
    }
    json_decref(all->frames);
    json_decref(all->seen);
}

void fdr_export_functions(const json_t *report,
                          void (*use)(void *context, uint32_t id,
                                      const json_t *function),
                          void *context)
{
    json_auto_t *ids = json_object();
    struct trace trace = { .report = report, .ids = ids };
    struct export_functions all = { .report = report, .use = use, .context = context };
    (void)survey_events(&trace,
                        json_object_get(json_object_get(report, "flight"), "threads"));
    export_each_function(&all, &trace);
}

static enum fdr_action action_of(const json_t *event)
{
    const char *name = report_string(event, "action");
    for (int action = 0; name != NULL && action < FDR_ACTIONS; action++) {
        if (strcmp(name, fdr_action_name(action)) == 0)
            return action;
    }
    return FDR_ENTER;
}

static uint64_t tsc_of(const struct trace *trace, const json_t *event)
{
    int64_t ns = report_integer(event, "t_ns", 0);
    return (uint64_t)ns - (uint64_t)trace->first_ns + cycles_per_second;
}

// begin_exported_buffer begins a buffer whose first event is event.
static void begin_exported_buffer(struct trace *trace, const json_t *event)
{
    int64_t ns = report_integer(event, "t_ns", 0);
    int64_t second = ns / 1000000000;
    int64_t rest = ns % 1000000000;
    second -= rest < 0;
    rest += rest < 0 ? 1000000000 : 0;
    trace->start.seconds = (uint64_t)(trace->crash_s + second);
    trace->start.microseconds = (uint32_t)(rest / 1000);
    trace->start.tsc = tsc_of(trace, event);
    fdr_writer_begin(&trace->writer, &trace->start);
}

static enum ch_status write_cpu(struct trace *trace, const json_t *event)
{
    int64_t cpu = report_integer(event, "cpu", trace->start.cpu);
    if (cpu == trace->start.cpu || cpu < 0 || cpu > UINT16_MAX)
        return CH_OK;
    const struct fdr_record record = { .kind = FDR_NEW_CPU,
                                       .cpu = (uint16_t)cpu,
                                       .tsc = tsc_of(trace, event) };
    enum ch_status status = fdr_write_record(&trace->writer, &record);
    trace->start.cpu = (uint16_t)cpu; // a buffer that begins here has it in its head
    return status;
}

static enum ch_status write_exported_event(struct trace *trace, const json_t *event)
{
    struct fdr_record argument = { .kind = FDR_CALL_ARGUMENT };
    const char *value =
        json_string_value(json_array_get(json_object_get(event, "arguments"), 0));
    enum ch_status status = write_cpu(trace, event);
    if (status == CH_OK)
        status = fdr_write_function(&trace->writer, action_of(event),
                                    function_id(trace, event), tsc_of(trace, event));
    if (status != CH_OK || value == NULL || action_of(event) != FDR_ENTER_ARGS)
        return status;
    argument.argument = strtoull(value, NULL, 16);
    return fdr_write_record(&trace->writer, &argument);
}

// is_paired returns true if event may be written: the format requires that an exit has
// its entry before it in the trace, and the entries of the oldest exits were not kept.
static bool is_paired(struct trace *trace, const json_t *event)
{
    int64_t depth = report_integer(event, "depth", 0);
    enum fdr_action action = action_of(event);
    bool entry = action == FDR_ENTER || action == FDR_ENTER_ARGS;
    while (trace->open_count != 0) {
        int64_t last = trace->open[trace->open_count - 1];
        if (last < depth || (last == depth && !entry))
            break;
        trace->open_count--;
    }
    if (entry) {
        trace->open[trace->open_count++] = depth;
        return true;
    }
    if (trace->open_count == 0 || trace->open[trace->open_count - 1] != depth)
        return false;
    trace->open_count--;
    return true;
}

// write_exported_thread writes as many buffers as the thread's events need.
static enum ch_status write_exported_thread(struct trace *trace, const json_t *thread)
{
    const json_t *events = json_object_get(thread, "events");
    enum ch_status status = CH_OK;
    bool begun = false;
    trace->start.tid = (int32_t)report_integer(thread, "tid", 0);
    trace->start.cpu = (uint16_t)report_integer(json_array_get(events, 0), "cpu", 0);
    trace->open_count = 0;
    for (size_t i = 0; status == CH_OK && i < json_array_size(events); i++) {
        const json_t *event = json_array_get(events, i);
        if (!is_paired(trace, event))
            continue;
        if (!begun)
            begin_exported_buffer(trace, event);
        begun = true;
        status = write_exported_event(trace, event);
        if (status != CH_ERR_LIMIT)
            continue;
        fdr_writer_end(&trace->writer);
        begin_exported_buffer(trace, event);
        status = write_exported_event(trace, event);
    }
    if (begun)
        fdr_writer_end(&trace->writer);
    return status;
}

struct export_names {
    struct trace *trace;
    enum ch_status status;
};

// export_name writes an event that names a function, in a buffer of thread 0.
static void export_name(void *context, uint32_t id, const json_t *function)
{
    struct export_names *names = context;
    struct trace *trace = names->trace;
    CH_CLEANUP(text_deinit) struct text event = { 0 };
    (void)id;
    char *json = json_dumps(function, JSON_COMPACT);
    text_appendf(&event, "%s %s", FDR_EXPORT_NAME, json != NULL ? json : "");
    free(json);
    struct fdr_record record = { .kind = FDR_CUSTOM_EVENT,
                                 .tsc = trace->start.tsc,
                                 .size = event.size,
                                 .data = (const uint8_t *)event.bytes };
    if (names->status == CH_OK)
        names->status = fdr_write_record(&trace->writer, &record);
    if (names->status != CH_ERR_LIMIT)
        return;
    fdr_writer_end(&trace->writer);
    fdr_writer_begin(&trace->writer, &trace->start);
    names->status = fdr_write_record(&trace->writer, &record);
    if (names->status == CH_ERR_LIMIT) // a name longer than a buffer is left out
        names->status = CH_OK;
}

// write_names writes what is known of all functions, so that the trace can be read
// without the program and its report.
static enum ch_status write_names(struct trace *trace, const json_t *report)
{
    struct export_names names = { .trace = trace, .status = CH_OK };
    struct export_functions all = { .report = report,
                                    .use = export_name,
                                    .context = &names };
    trace->start.tsc = cycles_per_second;
    fdr_writer_begin(&trace->writer, &trace->start);
    export_each_function(&all, trace);
    fdr_writer_end(&trace->writer);
    return names.status;
}

// crash_time is the time in the report's id, which is the time of the crash.
static int64_t crash_time(const json_t *report)
{
    const char *id = report_string(report, "id");
    return id != NULL && report_id_ok(id) ? (int64_t)(report_id_time_ms(id) / 1000) : 0;
}

static enum ch_status write_trace(struct trace *trace, const json_t *report,
                                  uint16_t version, struct text *out)
{
    const json_t *threads =
        json_object_get(json_object_get(report, "flight"), "threads");
    const json_t *process = json_object_get(report, "process");
    const struct fdr_header header = { .version = version,
                                       .constant_tsc = true,
                                       .nonstop_tsc = true,
                                       .cycles_per_second = cycles_per_second,
                                       .buffer_size = BUFFER_BYTES };
    size_t count = survey_events(trace, threads);
    if (count == 0)
        return CH_ERR_NOT_FOUND;
    trace->open = calloc(count, sizeof(*trace->open));
    if (trace->open == NULL)
        return CH_ERR_NO_MEMORY;
    trace->start.pid = (int32_t)report_integer(process, "pid", 0);
    trace->crash_s = crash_time(report);
    enum ch_status status = fdr_writer_init(&trace->writer, &header, out);
    if (status == CH_OK)
        status = write_names(trace, report);
    for (size_t i = 0; status == CH_OK && i < json_array_size(threads); i++)
        status = write_exported_thread(trace, json_array_get(threads, i));
    return status == CH_OK && !text_ok(out) ? CH_ERR_NO_MEMORY : status;
}

int fdr_export(const json_t *report, const char *version)
{
    struct text CH_CLEANUP(text_deinit) out = { 0 };
    json_auto_t *ids = json_object();
    struct trace trace = { .report = report, .ids = ids };
    if (version == NULL)
        version = "1";
    if (strcmp(version, "1") != 0 && strcmp(version, "3") != 0 &&
        strcmp(version, "5") != 0)
        return command_misused("export: --fdr-version '%s': it takes 1, 3 or 5",
                               version);
    enum ch_status status =
        write_trace(&trace, report, (uint16_t)(version[0] - '0'), &out);
    free(trace.open);
    if (status == CH_ERR_NOT_FOUND)
        return command_fail("cannot export: the report has no flight record");
    if (status != CH_OK)
        return command_fail("cannot export: %s", ch_status_name(status));
    (void)fwrite(out.bytes, 1, out.size, stdout);
    return COMMAND_DONE;
}
