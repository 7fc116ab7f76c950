// SPDX-License-Identifier: Apache-2.0
//
// Reports a live process: it is stopped for milliseconds, the frames are named after
// that, and nothing is stored.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attach.h"
#include "base/status.h"
#include "base/system/confine.h"
#include "cli/render/pen.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "images/read_file.h"
#include "report/file/report_tree.h"
#include "report/value/report.h"

// Several reports of a live process, one after another, and what their stacks have in
// common: where a program hangs or spends its time. A thread's stacks agree from the
// outer end up to the function in which it was each time; what it did there differs,
// and is counted.

struct attach_samples {
    json_t *threads; // tid: {"name","state","kernel":[...],"stacks":[[frame...]...]}
    json_t *waits;   // {"sample","waits":[...]}, of the samples in which a thread waits
    size_t count;
};

enum { KERNEL_LIMIT_BYTES = 8 << 10 };

CH_CHECKED static enum ch_status attach_samples_init(struct attach_samples *samples)
{
    *samples =
        (struct attach_samples){ .threads = json_object(), .waits = json_array() };
    return samples->threads != NULL && samples->waits != NULL ? CH_OK
                                                              : CH_ERR_NO_MEMORY;
}

static void attach_samples_deinit(struct attach_samples *samples)
{
    json_decref(samples->threads);
    json_decref(samples->waits);
}

// frame_words is a frame as it is compared and shown: its function, or its address.
static json_t *frame_words(const json_t *frame)
{
    const char *function = report_string(frame, "function");
    const char *address = report_string(frame, "address");
    return json_string(function != NULL ? function : address != NULL ? address : "?");
}

// stack_outward is a thread's frames with the outermost first.
static json_t *stack_outward(const json_t *thread)
{
    const json_t *frames = report_frames(thread);
    json_t *stack = json_array();
    for (size_t i = json_array_size(frames); i-- > 0;) {
        const json_t *frame = json_array_get(frames, i);
        if (report_frame_is_code(frame))
            (void)json_array_append_new(stack, frame_words(frame));
    }
    return stack;
}

// kernel_function is the function of the kernel that a thread sleeps in, without its
// callers. A process that may trace the thread can read it; NULL: it cannot be read.
static json_t *kernel_function(int64_t process, int64_t tid)
{
    char path[64];
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/task/%" PRId64 "/wchan",
                   process, tid);
    if (read_file(path, KERNEL_LIMIT_BYTES, &text) == CH_ERR_IO || text.size < 2)
        return NULL; // "0" is none
    return json_pack("[s]", text.bytes);
}

// kernel_stack is what the kernel does for a thread, the innermost function first:
// "[<0>] FUNCTION+0x8f/0x1c0" in a line. Only root can read more than one.
static json_t *kernel_stack(int64_t process, int64_t tid)
{
    char path[64];
    struct text CH_CLEANUP(text_deinit) text = { 0 };
    (void)snprintf(path, sizeof(path), "/proc/%" PRId64 "/task/%" PRId64 "/stack",
                   process, tid);
    if (read_file(path, KERNEL_LIMIT_BYTES, &text) == CH_ERR_IO || text.size == 0)
        return kernel_function(process, tid);
    json_t *stack = json_array();
    for (const char *line = text.bytes; *line != 0;) {
        size_t size = strcspn(line, "\n");
        const char *name = memchr(line, ']', size);
        name = name != NULL ? name + strspn(name, "] ") : line;
        (void)json_array_append_new(stack, json_stringn(name, strcspn(name, "+\n")));
        line += size + (line[size] == '\n');
    }
    return stack;
}

static json_t *sampled_thread(struct attach_samples *samples, const json_t *thread)
{
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRId64, report_integer(thread, "tid", 0));
    json_t *found = json_object_get(samples->threads, key);
    if (found != NULL)
        return found;
    found = json_pack("{s:[]}", "stacks");
    (void)json_object_set_new(samples->threads, key, found);
    return found;
}

// attach_samples_add adds the threads of a report with names. Of a thread in
// uninterruptible sleep the kernel's own stack is read, or the function that it sleeps
// in, where /proc gives it.
static void attach_samples_add(struct attach_samples *samples, const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads");
    int64_t process = report_integer(json_object_get(report, "process"), "pid", 0);
    const json_t *waits = json_object_get(report, "waits");
    samples->count++;
    if (json_array_size(waits) != 0)
        (void)json_array_append_new(
            samples->waits, json_pack("{s:I, s:O}", "sample",
                                      (json_int_t)samples->count, "waits", waits));
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        json_t *sampled = sampled_thread(samples, thread);
        const char *state = report_string(thread, "state");
        (void)json_array_append_new(json_object_get(sampled, "stacks"),
                                    stack_outward(thread));
        (void)json_object_set(sampled, "name", json_object_get(thread, "name"));
        if (state == NULL)
            continue;
        (void)json_object_set_new(sampled, "state", json_string(state));
        json_t *kernel = *state == 'D'
                             ? kernel_stack(process, report_integer(thread, "tid", 0))
                             : NULL;
        if (kernel != NULL)
            (void)json_object_set_new(sampled, "kernel", kernel);
    }
}

// common_depth is how many frames, from the outer end, all stacks have.
static size_t common_depth(const json_t *stacks)
{
    const json_t *first = json_array_get(stacks, 0);
    size_t depth = json_array_size(first);
    for (size_t i = 1; i < json_array_size(stacks); i++) {
        const json_t *stack = json_array_get(stacks, i);
        size_t at = 0;
        while (at < depth && at < json_array_size(stack) &&
               json_equal(json_array_get(first, at), json_array_get(stack, at)))
            at++;
        depth = at;
    }
    return depth;
}

// count_next counts what the stacks have after their common part, by function.
static json_t *count_next(const json_t *stacks, size_t depth)
{
    json_t *counts = json_object();
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        const json_t *frame = json_array_get(json_array_get(stacks, i), depth);
        const char *name = json_string_value(frame);
        if (name != NULL)
            (void)json_object_set_new(
                counts, name, json_integer(report_integer(counts, name, 0) + 1));
    }
    return counts;
}

// describe_thread is what is common to a thread's stacks, innermost first as readers of
// backtraces expect.
static json_t *describe_thread(const char *tid, const json_t *sampled)
{
    const json_t *stacks = json_object_get(sampled, "stacks");
    const json_t *first = json_array_get(stacks, 0);
    size_t depth = common_depth(stacks);
    json_t *common = json_array();
    for (size_t i = depth; i-- > 0;)
        (void)json_array_append(common, json_array_get(first, i));
    return json_pack("{s:I, s:O*, s:O*, s:O*, s:I, s:o, s:o}", "tid",
                     (json_int_t)strtoll(tid, NULL, 10), "name",
                     json_object_get(sampled, "name"), "state",
                     json_object_get(sampled, "state"), "kernel",
                     json_object_get(sampled, "kernel"), "samples",
                     (json_int_t)json_array_size(stacks), "common", common, "then",
                     count_next(stacks, depth));
}

static void print_escaped(const char *before, const char *text)
{
    struct text CH_CLEANUP(text_deinit) line = { 0 };
    pen_escape(text, &line);
    printf("%s%s\n", before, line.bytes != NULL ? line.bytes : "");
}

static void print_sample_list(const char *before, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        print_escaped(before, json_string_value(json_array_get(list, i)));
}

static void print_thread(const json_t *thread)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    const char *function;
    json_t *count;
    const char *state = report_string(thread, "state");
    pen_escape(report_string(thread, "name") != NULL ? report_string(thread, "name")
                                                     : "",
               &name);
    printf("\nThread %" PRId64 " \"%s\"%s%s, %" PRId64 " samples:\n",
           report_integer(thread, "tid", 0), name.bytes != NULL ? name.bytes : "",
           state != NULL ? ", state " : "", state != NULL ? state : "",
           report_integer(thread, "samples", 0));
    print_sample_list("    kernel  ", json_object_get(thread, "kernel"));
    json_object_foreach(json_object_get(thread, "then"), function, count)
    {
        printf("  %4" JSON_INTEGER_FORMAT "  ", json_integer_value(count));
        print_escaped("", function);
    }
    print_sample_list("   all  ", json_object_get(thread, "common"));
}

// print_wait prints what one thread waits for, and which thread holds that.
static void print_wait(const json_t *wait)
{
    int64_t owner = report_integer(wait, "owner", 0);
    printf("    thread %" PRId64 " waits for a ", report_integer(wait, "tid", 0));
    print_escaped("", report_string(wait, "object") != NULL
                          ? report_string(wait, "object")
                          : "futex");
    if (owner != 0)
        printf("        that thread %" PRId64 " holds\n", owner);
}

static void print_sampled_waits(const json_t *all)
{
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *sample = json_array_get(all, i);
        const json_t *waits = json_object_get(sample, "waits");
        printf("\nSample %" PRId64 ":\n", report_integer(sample, "sample", 0));
        for (size_t w = 0; w < json_array_size(waits); w++)
            print_wait(json_array_get(waits, w));
    }
}

// attach_samples_print prints what is common to them, as text or as JSON.
static void attach_samples_print(const struct attach_samples *samples, bool as_json)
{
    const char *tid;
    json_t *sampled;
    json_auto_t *threads = json_array();
    json_object_foreach(samples->threads, tid, sampled)(void)
        json_array_append_new(threads, describe_thread(tid, sampled));
    if (as_json) {
        json_auto_t *all =
            json_pack("{s:I, s:O, s:O}", "samples", (json_int_t)samples->count,
                      "threads", threads, "waits", samples->waits);
        (void)json_dumpf(all, stdout, JSON_COMPACT);
        printf("\n");
        return;
    }
    for (size_t i = 0; i < json_array_size(threads); i++)
        print_thread(json_array_get(threads, i));
    print_sampled_waits(samples->waits);
}

enum { SAMPLES_MAX = 1000, SAMPLE_MS = 100, SAMPLE_MS_MAX = 60000 };

static const struct option attach_options[] = {
    { .name = "json", .help = "print the report itself" },
    { .name = "snapshot",
      .help = "stop the process for a fork only, and read the copy" },
    { .name = "samples",
      .value = "N",
      .help = "take that many and print what their stacks have in common" },
    { .name = "every", .value = "MS", .help = "milliseconds between samples (100)" },
    { .name = "unwind", .value = "HOW", .help = "as CRASHHOOK_UNWIND" },
    { .name = "limit", .value = "FRAMES", .help = "as CRASHHOOK_LIMIT" },
    { .name = "top", .value = "FRAMES", .help = "as CRASHHOOK_TOP" },
    { .name = "symbolize", .value = "HOW", .help = "as CRASHHOOK_SYMBOLIZE" },
    { .name = "preset", .value = "PRESET", .help = "as CRASHHOOK_PRESET" },
    { 0 },
};

// why_no_attach returns why a process could not be stopped, and what to do about it.
static const char *why_no_attach(int error)
{
    if (error == EPERM)
        return "Operation not permitted (another user's, traced already, or ptrace is "
               "restricted: see crashhook doctor)";
    if (error == ENOENT || error == ESRCH)
        return "No such process";
    return strerror(error);
}

// read_count reads a number of 1 to most.
static bool read_count(const char *text, unsigned long most, unsigned long *out)
{
    char *end = NULL;
    *out = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == 0 && *out != 0 && *out <= most;
}

// take_sample adds a report of the process, with names.
static int take_sample(struct attach_samples *samples, const struct session *session,
                       pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct report_error error;
    json_auto_t *report = NULL;
    if (attach_report(pid, &session->settings, getenv("HOME"), &raw, NULL) != CH_OK)
        return command_fail("cannot attach to process %d: %s", pid,
                            why_no_attach(errno));
    if (report_parse(raw.bytes, raw.size, &report, &error) != CH_OK)
        return command_fail("cannot read our own report: %s", error.text);
    session_symbolize(session, report);
    attach_samples_add(samples, report);
    return COMMAND_DONE;
}

static int print_samples(const struct options *options, const struct session *session,
                         pid_t pid)
{
    struct attach_samples CH_CLEANUP(attach_samples_deinit) samples = { 0 };
    const char *every = options_value(options, "every");
    unsigned long count;
    unsigned long pause_ms = SAMPLE_MS;
    if (!read_count(options_value(options, "samples"), SAMPLES_MAX, &count) ||
        (every != NULL && !read_count(every, SAMPLE_MS_MAX, &pause_ms)))
        return command_misused("attach: --samples takes a number up to %d, --every "
                               "milliseconds up to %d",
                               SAMPLES_MAX, SAMPLE_MS_MAX);
    if (attach_samples_init(&samples) != CH_OK)
        return command_fail("out of memory");
    for (unsigned long i = 0; i < count; i++) {
        if (i != 0)
            (void)poll(NULL, 0, (int)pause_ms);
        if (take_sample(&samples, session, pid) != COMMAND_DONE)
            return COMMAND_FAILED;
    }
    attach_samples_print(&samples, options_given(options, "json"));
    return COMMAND_DONE;
}

static int print_snapshot(const struct options *options, const struct session *session,
                          pid_t pid)
{
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    char why[SNAPSHOT_WHY_SIZE];
    enum ch_status status =
        attach_snapshot(pid, &session->settings, getenv("HOME"), &raw, &held, why);
    if (status != CH_OK && why[0] != 0)
        return command_fail("no snapshot of process %d: %s; leave out --snapshot", pid,
                            why);
    if (status != CH_OK)
        return command_fail("cannot attach to process %d: %s", pid,
                            why_no_attach(errno));
    return session_print_raw(session, &raw, &held, options_given(options, "json"));
}

static int run_attach(const struct options *options)
{
    struct session CH_CLEANUP(session_deinit) session = { .spool.folder_fd = -1 };
    struct text CH_CLEANUP(text_deinit) raw = { 0 };
    struct text CH_CLEANUP(text_deinit) held = { 0 };
    pid_t pid;

    if (!command_parse_pid(options->arguments[0], &pid))
        return command_misused("attach: '%s' is no process id", options->arguments[0]);
    session_init(&session, options);
    // What root reads here was made by others.
    session.confined = geteuid() == 0;
    if (session.confined)
        confine_observer();
    if (options_given(options, "snapshot") && options_given(options, "samples"))
        return command_misused("attach: --snapshot and --samples exclude each other");
    if (options_given(options, "snapshot"))
        return print_snapshot(options, &session, pid);
    if (options_given(options, "samples"))
        return print_samples(options, &session, pid);
    if (attach_report(pid, &session.settings, getenv("HOME"), &raw, &held) != CH_OK)
        return command_fail("cannot attach to process %d: %s", pid,
                            why_no_attach(errno));
    return session_print_raw(&session, &raw, &held, options_given(options, "json"));
}

const struct command attach_command = {
    .name = "attach",
    .arguments = "PID",
    .summary = "Report a live process, which then continues",
    .options = attach_options,
    .run = run_attach,
    .arguments_min = 1,
    .arguments_max = 1,
};
