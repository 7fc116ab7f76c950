// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fdr/fdr_names.h"
#include "cli/fdr/fdr_trace.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr_calls.h"

// PROBLEMS_MAX is how many problems are listed: a file of noise has one per record.
enum { PROBLEMS_MAX = 1000, OPEN_MAX = 10000 };

struct dump {
    bool json;
    struct fdr_reader reader;
    struct fdr_names *names;
    struct fdr_calls calls;
    uint64_t record_count;
    struct text problems; // as JSON
    size_t problem_count;
    struct fdr_problem worst; // the first that is not harmless; its status is CH_OK
                              // while there is none
    // What the record's function is in: from fdr_calls.
    size_t depth;
    uint64_t duration; // cycles
    enum fdr_call_end how;
    bool is_call;
    // A clock reading, and the counter of the buffer's first processor.
    uint64_t clock_ns;
    uint64_t clock_tsc;
    bool clock_is_new; // the counter is still to come
};

static void dump_deinit(struct dump *dump)
{
    fdr_names_close(dump->names);
    fdr_calls_deinit(&dump->calls);
    text_deinit(&dump->problems);
}

static void dump_enter(void *context, struct fdr_calls_thread *thread,
                       struct fdr_call *call)
{
    struct dump *dump = context;
    dump->depth = (size_t)(call - thread->open);
    dump->is_call = true;
}

static void dump_leave(void *context, const struct fdr_calls_thread *thread,
                       const struct fdr_call *call, uint64_t end, enum fdr_call_end how)
{
    struct dump *dump = context;
    dump->depth = (size_t)(call - thread->open);
    dump->duration = end - call->begin;
    dump->how = how;
    dump->is_call = true;
}

// dump_ns is cycles in nanoseconds; cycles, if their length is not known.
static uint64_t dump_ns(const struct dump *dump, uint64_t cycles)
{
    uint64_t frequency = dump->reader.header.cycles_per_second;
    return frequency == 0
               ? cycles
               : (uint64_t)((unsigned __int128)cycles * 1000000000 / frequency);
}

// dump_follow keeps the clock and the calls up to record.
static enum ch_status dump_follow(struct dump *dump, const struct fdr_record *record)
{
    dump->is_call = false;
    if (record->kind == FDR_WALL_CLOCK) {
        dump->clock_ns =
            record->seconds * 1000000000 + (uint64_t)record->microseconds * 1000;
        dump->clock_is_new = true;
    } else if (record->kind == FDR_NEW_CPU && dump->clock_is_new) {
        dump->clock_tsc = record->tsc;
        dump->clock_is_new = false;
    } else if (record->kind == FDR_CUSTOM_EVENT) {
        fdr_names_note(dump->names, record);
    }
    return fdr_calls_add(&dump->calls, record);
}

// dump_time gives the clock's time at a record; false: it is not known.
static bool dump_time(const struct dump *dump, const struct fdr_record *record,
                      uint64_t *out_ns)
{
    if (dump->clock_ns == 0 || dump->clock_is_new ||
        dump->reader.header.cycles_per_second == 0)
        return false;
    uint64_t ago = dump->clock_tsc - record->tsc;
    *out_ns = record->tsc >= dump->clock_tsc
                  ? dump->clock_ns + dump_ns(dump, record->tsc - dump->clock_tsc)
                  : dump->clock_ns - dump_ns(dump, ago);
    return true;
}

static void print_fdr_hex(const struct fdr_record *record)
{
    for (uint64_t i = 0; i < record->size; i++)
        printf("%02x", record->data[i]);
}

static void print_fdr_function_json(struct dump *dump, const struct fdr_record *record)
{
    const char *name = fdr_names_find(dump->names, record->function);
    bool entry = record->action == FDR_ENTER || record->action == FDR_ENTER_ARGS;
    uint64_t ns;
    printf(",\"action\":\"%s\",\"function\":%" PRIu32 ",\"delta\":%" PRId64
           ",\"tsc\":%" PRIu64,
           fdr_action_name(record->action), record->function, record->delta,
           record->tsc);
    if (name != NULL) {
        fputs(",\"name\":", stdout);
        json_print_string(name, strlen(name));
    }
    if (dump_time(dump, record, &ns))
        printf(",\"time\":%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
    if (dump->is_call)
        printf(",\"depth\":%zu", dump->depth);
    if (dump->is_call && !entry)
        printf(",\"duration_ns\":%" PRIu64, dump_ns(dump, dump->duration));
}

static void print_event_json(const struct dump *dump, const struct fdr_record *record)
{
    uint16_t version = dump->reader.header.version;
    bool typed = record->kind == FDR_TYPED_EVENT;
    printf(",\"size\":%" PRIu64 ",\"tsc\":%" PRIu64, record->size, record->tsc);
    if (typed || version == FDR_VERSION_MAX)
        printf(",\"delta\":%" PRId64, record->delta);
    else if (version == 4)
        printf(",\"cpu\":%u", record->cpu);
    if (typed)
        printf(",\"type\":%u", record->type);
    fputs(",\"data\":\"", stdout);
    print_fdr_hex(record);
    putchar('"');
}

static void print_record_json(struct dump *dump, const struct fdr_record *record)
{
    printf("%s{\"offset\":%zu,\"kind\":\"%s\"",
           dump->record_count != 0 ? ",\n " : "\n ", record->offset,
           fdr_kind_name(record->kind));
    if (record->kind != FDR_BUFFER_EXTENTS)
        printf(",\"tid\":%" PRId32, record->tid);
    switch (record->kind) {
    case FDR_FUNCTION:
        print_fdr_function_json(dump, record);
        break;
    case FDR_CUSTOM_EVENT:
    case FDR_TYPED_EVENT:
        print_event_json(dump, record);
        break;
    case FDR_NEW_CPU:
        printf(",\"cpu\":%u,\"tsc\":%" PRIu64, record->cpu, record->tsc);
        break;
    case FDR_TSC_WRAP:
        printf(",\"tsc\":%" PRIu64, record->tsc);
        break;
    case FDR_WALL_CLOCK:
        printf(",\"seconds\":%" PRIu64 ",\"microseconds\":%" PRIu32, record->seconds,
               record->microseconds);
        break;
    case FDR_CALL_ARGUMENT:
        printf(",\"argument\":%" PRIu64, record->argument);
        break;
    case FDR_BUFFER_EXTENTS:
        printf(",\"size\":%" PRIu64, record->size);
        break;
    case FDR_PID:
        printf(",\"pid\":%" PRId32, record->pid);
        break;
    default:
        break;
    }
    putchar('}');
}

static void print_fdr_function_text(struct dump *dump, const struct fdr_record *record)
{
    const char *name = fdr_names_find(dump->names, record->function);
    bool entry = record->action == FDR_ENTER || record->action == FDR_ENTER_ARGS;
    uint64_t ns;
    if (dump_time(dump, record, &ns))
        printf("%6" PRIu64 ".%09" PRIu64 " ", ns / 1000000000, ns % 1000000000);
    printf("%*s%-9s #%" PRIu32, dump->is_call ? fdr_trace_indentation(dump->depth) : 0,
           "", fdr_action_name(record->action), record->function);
    if (name != NULL) {
        putchar(' ');
        json_print_string(name,
                          strlen(name)); // quoted, because a name may contain anything
    }
    if (dump->reader.header.type == XRAY_BASIC_TYPE)
        printf(" tsc %" PRIu64, record->tsc);
    else
        printf(" +%" PRId64, record->delta);
    if (dump->is_call && !entry)
        printf(" took %" PRIu64 " %s", dump_ns(dump, dump->duration),
               dump->reader.header.cycles_per_second != 0 ? "ns" : "cycles");
    else if (!entry)
        fputs(" without an entry", stdout);
}

static void print_event_text(const struct fdr_record *record)
{
    if (record->kind == FDR_TYPED_EVENT)
        printf("type %u, ", record->type);
    printf("tsc %" PRIu64 ", %" PRIu64 " bytes ", record->tsc, record->size);
    print_fdr_hex(record);
}

static void print_record_text(struct dump *dump, const struct fdr_record *record)
{
    printf("%8zu  %-14s ", record->offset, fdr_kind_name(record->kind));
    switch (record->kind) {
    case FDR_NEW_BUFFER:
        printf("thread %" PRId32, record->tid);
        break;
    case FDR_FUNCTION:
        print_fdr_function_text(dump, record);
        break;
    case FDR_CUSTOM_EVENT:
    case FDR_TYPED_EVENT:
        print_event_text(record);
        break;
    case FDR_NEW_CPU:
        printf("cpu %u, tsc %" PRIu64, record->cpu, record->tsc);
        break;
    case FDR_TSC_WRAP:
        printf("tsc %" PRIu64, record->tsc);
        break;
    case FDR_WALL_CLOCK:
        printf("%" PRIu64 ".%06" PRIu32 " s", record->seconds, record->microseconds);
        break;
    case FDR_CALL_ARGUMENT:
        printf("0x%" PRIx64, record->argument);
        break;
    case FDR_BUFFER_EXTENTS:
        printf("%" PRIu64 " bytes", record->size);
        break;
    case FDR_PID:
        printf("process %" PRId32, record->pid);
        break;
    default:
        break;
    }
    putchar('\n');
}

// note_problem stores a problem that the reader found, for the end of the listing.
static void note_problem(struct dump *dump, const struct fdr_problem *problem)
{
    if (dump->worst.status == CH_OK && !problem->harmless)
        dump->worst = *problem;
    if (dump->problem_count++ >= PROBLEMS_MAX)
        return;
    if (!dump->json) {
        printf("%8zu  (%s)\n", problem->offset, problem->what);
        return;
    }
    text_appendf(&dump->problems,
                 "%s{\"offset\":%zu,\"status\":\"%s\",\"message\":\"%s\"}",
                 dump->problems.size != 0 ? ",\n " : "\n ", problem->offset,
                 ch_status_name(problem->status), problem->what);
}

static void print_fdr_header(const struct dump *dump)
{
    const struct fdr_header *header = &dump->reader.header;
    if (dump->json) {
        printf("{\"version\":%u,\"big_endian\":%s,\"cycles_per_second\":%" PRIu64
               ",\"constant_tsc\":%s,\"nonstop_tsc\":%s,\"buffer_size\":%" PRIu64
               ",\"records\":[",
               header->version, header->big_endian ? "true" : "false",
               header->cycles_per_second, header->constant_tsc ? "true" : "false",
               header->nonstop_tsc ? "true" : "false", header->buffer_size);
        return;
    }
    printf("XRay %s, version %u, %s; %" PRIu64 " cycles a second%s%s\n",
           header->type == XRAY_BASIC_TYPE ? "basic log" : "flight data recorder trace",
           header->version, header->big_endian ? "big-endian" : "little-endian",
           header->cycles_per_second, header->constant_tsc ? ", constant" : "",
           header->nonstop_tsc ? ", nonstop" : "");
}

// print_open_calls lists the calls that are open when the trace ends.
static void print_open_calls(struct dump *dump)
{
    size_t listed = 0;
    fputs(dump->json ? ",\"open_calls\":[" : "", stdout);
    for (size_t i = 0; i < dump->calls.thread_count; i++) {
        const struct fdr_calls_thread *thread = &dump->calls.threads[i];
        for (size_t k = 0; k < thread->open_count && listed < OPEN_MAX; k++) {
            uint32_t function = thread->open[k].function;
            const char *name = fdr_names_find(dump->names, function);
            if (name == NULL)
                name = "";
            if (dump->json)
                printf("%s{\"tid\":%" PRId32 ",\"function\":%" PRIu32
                       ",\"depth\":%zu,\"name\":",
                       listed != 0 ? ",\n " : "\n ", thread->tid, function, k);
            else
                printf("unfinished: thread %" PRId32 " %*s#%" PRIu32 " ", thread->tid,
                       fdr_trace_indentation(k), "", function);
            json_print_string(name, strlen(name));
            putchar(dump->json ? '}' : '\n');
            listed++;
        }
    }
    fputs(dump->json ? "]" : "", stdout);
}

static void print_fdr_end(struct dump *dump)
{
    const char *problems = dump->problems.size != 0 ? dump->problems.bytes : "";
    if (dump->json)
        printf("%s]", dump->record_count != 0 ? "\n" : "");
    print_open_calls(dump);
    if (dump->json)
        printf(",\"problems\":[%s],\"complete\":%s}\n", problems,
               dump->worst.status == CH_OK ? "true" : "false");
}

// refuse_trace notes that the file is not a trace, or has an unknown version.
static void refuse_trace(struct dump *dump, enum ch_status status)
{
    struct fdr_problem problem = { .status = status };
    problem.what = status == CH_ERR_TRUNCATED
                       ? "the input ends inside the header"
                       : "a version or type of trace that is not known";
    print_fdr_header(dump);
    note_problem(dump, &problem);
}

static enum ch_status print_fdr_record(struct dump *dump,
                                       const struct fdr_record *record)
{
    enum ch_status status = dump_follow(dump, record);
    if (dump->json)
        print_record_json(dump, record);
    else
        print_record_text(dump, record);
    dump->record_count++;
    return status;
}

static void print_records(struct dump *dump)
{
    struct fdr_record record;
    enum ch_status status;
    print_fdr_header(dump);
    while ((status = fdr_next_record(&dump->reader, &record)) != CH_END) {
        if (status == CH_OK)
            status = print_fdr_record(dump, &record);
        else
            note_problem(dump, &dump->reader.problem);
        if (status == CH_ERR_NO_MEMORY)
            return;
    }
}

// print_basic_records lists a basic log, whose records each have their thread.
static void print_basic_records(struct dump *dump, const struct text *data)
{
    struct fdr_record record = { 0 };
    enum ch_status status;
    struct cursor log = cursor_over(data->bytes, data->size);
    log.big_endian = dump->reader.header.big_endian;
    cursor_skip(&log, FDR_HEADER_SIZE);
    print_fdr_header(dump);
    while ((status = xray_basic_next(&log, dump->reader.header.version, &record)) !=
           CH_END) {
        const struct fdr_problem problem = {
            .offset = status == CH_ERR_TRUNCATED
                          ? data->size
                          : cursor_offset(&log) - XRAY_BASIC_RECORD_SIZE,
            .status = status,
            .what = status == CH_ERR_TRUNCATED ? "the input ends inside a record"
                                               : "a record of a kind there is not"
        };
        if (status == CH_OK)
            status = print_fdr_record(dump, &record);
        else
            note_problem(dump, &problem);
        if (status == CH_ERR_TRUNCATED || status == CH_ERR_NO_MEMORY)
            return;
    }
}

// print_profile lists the paths of a profile, outermost function first.
static void print_profile(struct dump *dump, struct xray_profile *profile)
{
    CH_CLEANUP(text_deinit) struct text label = { 0 };
    struct xray_path path;
    enum ch_status status;
    printf(dump->json
               ? "{\"pid\":%" PRIu64 ",\"timestamp_ns\":%" PRIu64 ",\"records\":["
               : "XRay profile of process %" PRIu64 ", taken at %" PRIu64 " ns\n",
           profile->pid, profile->timestamp);
    while ((status = xray_profile_next(profile, &path)) == CH_OK) {
        printf(dump->json ? "%s{\"tid\":%" PRIu64 ",\"calls\":%" PRIu64
                            ",\"time\":%" PRIu64 ",\"path\":["
                          : "%sthread %" PRIu64 ": %10" PRIu64 " calls %16" PRIu64 "  ",
               !dump->json               ? ""
               : dump->record_count != 0 ? ",\n "
                                         : "\n ",
               path.tid, path.calls, path.time);
        for (size_t i = path.count; i > 0; i--) {
            fdr_names_show(dump->names, path.functions[i - 1], &label);
            fputs(i == path.count ? "" : dump->json ? "," : " > ", stdout);
            json_print_string(label.bytes, label.size);
        }
        puts(dump->json ? "]}" : "");
        dump->record_count++;
    }
    const struct fdr_problem problem = { .status = status,
                                         .what = "the input ends inside a path" };
    if (status != CH_END)
        note_problem(dump, &problem);
}

static void print_dump(struct dump *dump, const struct text *data)
{
    struct xray_profile profile;
    enum ch_status status = xray_profile_init(&profile, data->bytes, data->size);
    if (status == CH_OK) {
        print_profile(dump, &profile);
        return;
    }
    status = fdr_reader_init(&dump->reader, data->bytes, data->size);
    const struct fdr_header *header = &dump->reader.header;
    if (status == CH_OK)
        print_records(dump);
    else if (status == CH_ERR_UNSUPPORTED && header->type == XRAY_BASIC_TYPE &&
             header->version != 0 && header->version <= XRAY_BASIC_VERSION_MAX)
        print_basic_records(dump, data);
    else
        refuse_trace(dump, status);
}

static int run_fdr_dump(const struct options *options)
{
    const char *path = options->arguments[0];
    CH_CLEANUP(text_deinit) struct text data = { 0 };
    CH_CLEANUP(dump_deinit)
    struct dump dump = { .json = options_given(options, "json") };
    const struct fdr_calls_user user = { &dump, dump_enter, dump_leave };
    if (command_read_file(path, &data) != CH_OK ||
        fdr_names_open(&dump.names, options) != CH_OK)
        return COMMAND_FAILED;
    fdr_calls_init(&dump.calls, &user);
    print_dump(&dump, &data);
    print_fdr_end(&dump);
    if (dump.worst.status == CH_OK)
        return COMMAND_DONE;
    return command_fail("'%s' is %s at offset %zu: %s", path,
                        ch_status_name(dump.worst.status), dump.worst.offset,
                        dump.worst.what);
}

static const struct option dump_options[] = {
    { "json", NULL, "print JSON", 0 },
    FDR_NAMES_OPTIONS,
    { 0 },
};

const struct command fdr_dump_command = {
    .name = "fdr dump",
    .arguments = "FILE",
    .summary = "Print the records of an XRay trace, with times, nesting and durations",
    .options = dump_options,
    .run = run_fdr_dump,
    .arguments_min = 1,
    .arguments_max = 1,
};
