// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fdr/fdr_export.h"
#include "cli/fdr/fdr_names.h"
#include "cli/fdr/fdr_stack.h"
#include "cli/fdr/fdr_trace.h"
#include "cli/session/command.h"
#include "formats/interchange/fdr_calls.h"

struct conversion {
    struct fdr_trace trace;
    struct fdr_names *names;
    struct fdr_calls calls;
    uint64_t first_tsc; // times are relative to it
    bool chrome;
    bool begun;
    int32_t tid; // of the last line of text
    int32_t pid; // 0: not known
    struct text label;
};

static void conversion_deinit(struct conversion *to)
{
    fdr_trace_close(&to->trace);
    fdr_names_close(to->names);
    fdr_calls_deinit(&to->calls);
    text_deinit(&to->label);
}

// convert_seconds is a time since the trace's first record, or cycles if their length
// is not known.
static long double convert_seconds(const struct conversion *to, uint64_t tsc)
{
    int64_t cycles = (int64_t)(tsc - to->first_tsc);
    uint64_t frequency = to->trace.header.cycles_per_second;
    return frequency != 0 ? (long double)cycles / (long double)frequency
                          : (long double)cycles;
}

static void convert_begin_event(struct conversion *to, char phase, int32_t tid,
                                uint64_t tsc)
{
    printf("%s{\"ph\":\"%c\",\"pid\":%" PRId32 ",\"tid\":%" PRId32 ",\"ts\":%.4Lf",
           to->begun ? ",\n" : "\n", phase, to->pid, tid,
           convert_seconds(to, tsc) *
               (to->trace.header.cycles_per_second != 0 ? 1e6L : 1));
    to->begun = true;
}

static void convert_name(struct conversion *to, uint32_t function)
{
    fdr_names_show(to->names, function, &to->label);
    fputs(",\"name\":", stdout);
    json_print_string(to->label.bytes, to->label.size);
}

static void convert_line(struct conversion *to, const struct fdr_calls_thread *thread,
                         uint64_t tsc)
{
    if (!to->begun || to->tid != thread->tid)
        printf("thread %" PRId32 "\n", thread->tid);
    to->begun = true;
    to->tid = thread->tid;
    printf("%16.9Lf %*s", convert_seconds(to, tsc), (int)(thread->open_count * 2 - 2),
           "");
}

static void convert_enter(void *context, struct fdr_calls_thread *thread,
                          struct fdr_call *call)
{
    struct conversion *to = context;
    if (to->chrome) {
        convert_begin_event(to, 'B', thread->tid, call->begin);
        convert_name(to, call->function);
        putchar('}');
        return;
    }
    fdr_names_show(to->names, call->function, &to->label);
    convert_line(to, thread, call->begin);
    printf("> %s\n", to->label.bytes);
}

static void convert_leave(void *context, const struct fdr_calls_thread *thread,
                          const struct fdr_call *call, uint64_t end,
                          enum fdr_call_end how)
{
    struct conversion *to = context;
    if (to->chrome && how == FDR_CALL_OPEN) // an event without its end did not finish
        return;
    if (to->chrome) {
        convert_begin_event(to, 'E', thread->tid, end);
        convert_name(to, call->function);
        printf(",\"cat\":\"%s\"}", fdr_call_end_name(how));
        return;
    }
    fdr_names_show(to->names, call->function, &to->label);
    convert_line(to, thread, end);
    printf("< %s  %.9Lf%s%s%s\n", to->label.bytes,
           convert_seconds(to, end) - convert_seconds(to, call->begin),
           how != FDR_CALL_RETURNED ? " (" : "",
           how != FDR_CALL_RETURNED ? fdr_call_end_name(how) : "",
           how != FDR_CALL_RETURNED ? ")" : "");
}

// convert_event prints what a program logged, if it is no name of ours.
static void convert_event(struct conversion *to, const struct fdr_record *record)
{
    static const size_t prefix = sizeof(FDR_EXPORT_NAME) - 1;
    if (!to->chrome ||
        (record->size > prefix && memcmp(record->data, FDR_EXPORT_NAME, prefix) == 0))
        return;
    convert_begin_event(to, 'i', record->tid, record->tsc);
    fputs(",\"s\":\"t\",\"name\":", stdout);
    if (record->kind == FDR_TYPED_EVENT)
        printf("\"typed event %u\"}", record->type);
    else {
        json_print_string((const char *)record->data, (size_t)record->size);
        putchar('}');
    }
}

static enum ch_status convert_record(void *context, const struct fdr_record *record)
{
    struct conversion *to = context;
    switch (record->kind) {
    case FDR_PID:
        to->pid = record->pid;
        return CH_OK;
    case FDR_FUNCTION:
        if (to->first_tsc == 0)
            to->first_tsc = record->tsc;
        if (record->pid != 0)
            to->pid = record->pid;
        return fdr_calls_add(&to->calls, record);
    case FDR_CUSTOM_EVENT:
        fdr_names_note(to->names, record);
        convert_event(to, record);
        return CH_OK;
    case FDR_TYPED_EVENT:
        convert_event(to, record);
        return CH_OK;
    default:
        return CH_OK;
    }
}

static int convert_calls(struct conversion *to)
{
    const struct fdr_calls_user user = { to, convert_enter, convert_leave };
    if (to->trace.mode == FDR_TRACE_PROFILE)
        return command_fail("'%s' is a profile, which has no single calls; use "
                            "--format folded",
                            to->trace.path);
    to->first_tsc = to->trace.first_tsc;
    fdr_calls_init(&to->calls, &user);
    fputs(to->chrome ? "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" : "", stdout);
    enum ch_status status = fdr_trace_read(&to->trace, convert_record, to);
    fdr_calls_finish(&to->calls);
    fputs(to->chrome ? "\n]}\n" : "", stdout);
    if (to->calls.unmatched != 0)
        fprintf(stderr, "crashhook: %" PRIu64 " exits without an entry are left out\n",
                to->calls.unmatched);
    return fdr_trace_result(&to->trace, status);
}

static int run_fdr_convert(const struct options *options)
{
    CH_CLEANUP(conversion_deinit) struct conversion to = { .trace = { .fd = -1 } };
    const char *format = options_value(options, "format");
    bool fold = format != NULL && strcmp(format, "folded") == 0;
    to.chrome = format == NULL || strcmp(format, "chrome") == 0;
    if (options_given(options, "json") && !to.chrome)
        return command_misused("fdr convert: --json is --format chrome");
    if (!to.chrome && !fold && strcmp(format, "text") != 0)
        return command_misused("fdr convert: --format takes chrome, folded or text");
    if (fdr_trace_open(&to.trace, options->arguments[0]) != CH_OK ||
        fdr_names_open(&to.names, options) != CH_OK)
        return COMMAND_FAILED;
    if (fold)
        return fdr_stack_fold(&to.trace, to.names, options_given(options, "by-thread"));
    return convert_calls(&to);
}

static const struct option convert_options[] = {
    { "format", "chrome|folded|text",
      "trace events for Chrome and speedscope (the default), stacks for flame graphs, "
      "or calls with their nesting",
      0 },
    { "json", NULL, "trace events, which are JSON: --format chrome", 0 },
    { "by-thread", NULL, "folded: stacks begin with their thread", 0 },
    FDR_NAMES_OPTIONS,
    { 0 },
};

const struct command fdr_convert_command = {
    .name = "fdr convert",
    .arguments = "FILE",
    .summary = "A trace of calls as Chrome trace events, folded stacks or text",
    .options = convert_options,
    .run = run_fdr_convert,
    .arguments_min = 1,
    .arguments_max = 1,
};
