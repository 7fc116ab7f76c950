// SPDX-License-Identifier: Apache-2.0
#include "cli/attach_samples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/render/pen.h"
#include "images/read_file.h"
#include "report/file/report_tree.h"

enum { KERNEL_LIMIT_BYTES = 8 << 10 };

enum ch_status attach_samples_init(struct attach_samples *samples)
{
    *samples =
        (struct attach_samples){ .threads = json_object(), .waits = json_array() };
    return samples->threads != NULL && samples->waits != NULL ? CH_OK
                                                              : CH_ERR_NO_MEMORY;
}

void attach_samples_deinit(struct attach_samples *samples)
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

// kernel_function is the function of the kernel that a thread sleeps in, alone, which
// whoever may trace it is told; NULL: it is not told.
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
// "[<0>] FUNCTION+0x8f/0x1c0" in a line. Only root is told of more than one.
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

void attach_samples_add(struct attach_samples *samples, const json_t *report)
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

void attach_samples_print(const struct attach_samples *samples, bool as_json)
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
