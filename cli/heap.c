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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attach.h"
#include "base/system/confine.h"
#include "cli/heap_pprof.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "cli/session/session_spool.h"
#include "report/value/report.h"

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
