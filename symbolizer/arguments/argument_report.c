// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_report.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "report/report.h"
#include "report/report_table.h"
#include "symbolizer/arguments/argument_ctf.h"
#include "symbolizer/arguments/argument_dwarf.h"
#include "symbolizer/arguments/argument_fault.h"
#include "symbolizer/arguments/argument_inline.h"
#include "symbolizer/arguments/argument_locals.h"
#include "symbolizer/arguments/argument_secrets.h"
#include "symbolizer/arguments/argument_site.h"

// report_add_frame adds the variables of a frame, whose references it takes; NULL: it
// has none.
static void report_add_frame(json_t *all, size_t frame, json_t *arguments,
                             json_t *locals)
{
    if (arguments != NULL || locals != NULL)
        (void)json_array_append_new(all, json_pack("{s:I, s:o*, s:o*}", "frame",
                                                   (json_int_t)frame, "arguments",
                                                   arguments, "locals", locals));
}

// report_mark_tail notes that a frame was reached by a tail call.
static void report_mark_tail(json_t *all, size_t frame)
{
    json_t *last = json_array_get(all, json_array_size(all) - 1);
    json_int_t index = json_integer_value(json_object_get(last, "frame"));
    if (last != NULL && index == (json_int_t)frame)
        (void)json_object_set_new(last, "tail_call", json_true());
}

// list_locals gives the local variables of call index, or of a call inlined into it
// that is frame, as an array; NULL: none. Those of the system's own functions tell
// nobody anything.
static json_t *list_locals(const struct argument_stack *stack, size_t index,
                           const Dwarf_Die *inlined, const json_t *frame)
{
    struct argument_list list = { 0 };
    if (!json_is_true(json_object_get(frame, "system")))
        argument_locals_list(stack, index, inlined, &list);
    return list.all;
}

// budget is what may still be used.
struct budget {
    size_t calls;
    int64_t until_us;  // of this process's processor time
    int64_t memory_kb; // of its peak
    const char *cut;   // which of them was used up; NULL: none
};

static void budget_read(int64_t *out_us, int64_t *out_kb)
{
    struct rusage used = { 0 };
    (void)getrusage(RUSAGE_SELF, &used);
    *out_us = (int64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
              used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    *out_kb = used.ru_maxrss;
}

// budget_take subtracts one call. False: the budget is used up.
static bool budget_take(struct budget *budget)
{
    enum { LOOK_EVERY = 8 };
    int64_t us = 0;
    int64_t kb = 0;
    if (budget->calls % LOOK_EVERY == 0)
        budget_read(&us, &kb);
    if (budget->calls == 0)
        budget->cut = "calls";
    else if (us > budget->until_us)
        budget->cut = "time";
    else if (kb > budget->memory_kb)
        budget->cut = "memory";
    if (budget->cut != NULL)
        return false;
    budget->calls--;
    return true;
}

// list_inlined lists the calls that were inlined into call index.
static void list_inlined(const struct argument_stack *stack, size_t index,
                         const json_t *frames, struct budget *budget, json_t *all)
{
    Dwarf_Die inlined[ARGUMENT_INLINE_MAX];
    const struct argument_call *call = &stack->calls[index];
    size_t count = argument_inline_find(call, frames, inlined);
    for (size_t i = 0; i < count && budget_take(budget); i++) {
        struct argument_list list = { 0 };
        size_t frame = argument_inline_end(call, frames) - count + i;
        argument_dwarf_list_inlined(stack, index, &inlined[i], &list);
        report_add_frame(
            all, frame, list.all,
            list_locals(stack, index, &inlined[i], json_array_get(frames, frame)));
    }
}

// list_call gives the arguments of a call as an array, or NULL.
static json_t *list_call(const struct argument_stack *stack, size_t index)
{
    struct argument_list list = { 0 };
    if (stack->calls[index].image != NULL && !argument_dwarf_list(stack, index, &list))
        (void)argument_ctf_list(stack, index, &list);
    return list.all;
}

// list_thread lists the calls of one thread, except for its startup code.
static json_t *list_thread(const struct argument_stack *stack, const json_t *frames,
                           struct budget *budget)
{
    json_t *all = json_array();
    for (size_t i = 0; i < stack->start; i++) {
        (void)argument_stack_resolve(stack, i);
        list_inlined(stack, i, frames, budget, all);
        if (!budget_take(budget))
            break;
        const struct argument_call *call = &stack->calls[i];
        report_add_frame(all, call->index, list_call(stack, i),
                         list_locals(stack, i, NULL, call->from));
        if (argument_site_is_tail(stack, i))
            report_mark_tail(all, call->index);
    }
    return all;
}

// listing is the input and the state of making the list.
struct listing {
    const json_t *report;
    const json_t *threads;
    const struct held_file *held;
    struct argument_space space;
    struct argument_stack *stack;
    struct budget budget;
    struct argument_report_result result;
};

// report_list_threads lists the threads that crashed, or the others.
static void report_list_threads(struct listing *listing, bool crashed)
{
    size_t count = json_array_size(listing->threads);
    for (size_t i = 0; i < count && listing->budget.cut == NULL; i++) {
        const json_t *thread = json_array_get(listing->threads, i);
        const struct held_thread *held = held_file_thread(
            listing->held,
            (uint64_t)json_integer_value(json_object_get(thread, "tid")));
        if (held == NULL || json_is_true(json_object_get(thread, "crashed")) != crashed)
            continue;
        const json_t *frames =
            json_object_get(json_object_get(thread, "backtrace"), "frames");
        argument_stack_read(listing->stack, thread, held, &listing->space);
        json_t *shown = list_thread(listing->stack, frames, &listing->budget);
        if (crashed)
            listing->result.fault =
                argument_fault_find(listing->report, listing->stack, frames, shown);
        (void)json_array_set_new(listing->result.all, i, shown);
    }
}

// list_within_budget lists the crashed thread and then the others.
static void list_within_budget(struct listing *listing)
{
    struct budget *budget = &listing->budget;
    int64_t now_us;
    budget_read(&now_us, &budget->memory_kb);
    budget->calls = ARGUMENT_REPORT_CALLS_MAX;
    budget->memory_kb += ARGUMENT_REPORT_MEMORY_MB * 1024;
    budget->until_us = INT64_MAX;
    report_list_threads(listing, true);
    int64_t peak_kb;
    budget_read(&now_us, &peak_kb);
    budget->until_us = now_us + ARGUMENT_REPORT_CPU_MS * 1000;
    report_list_threads(listing, false);
    listing->result.cut = budget->cut;
}

void argument_report_all(const json_t *report, struct held_file *held,
                         const struct report_images *images,
                         const struct symbolizer_options *options,
                         struct argument_report_result *out)
{
    const struct memory_reader memory = held_file_reader(held);
    struct listing listing = {
        .report = report,
        .threads = json_object_get(report, "threads"),
        .held = held,
        .stack = argument_stack_create(),
        .result = { .all = json_array() },
    };
    for (size_t i = 0; i < json_array_size(listing.threads); i++)
        (void)json_array_append_new(listing.result.all, json_array());
    if (listing.stack != NULL &&
        argument_space_init(&listing.space, images, &memory, options) == CH_OK) {
        // What the program cannot have changed, such as string literals, is also read
        // from the images' files.
        listing.stack->memory = &listing.space.memory;
        listing.stack->options = options;
        list_within_budget(&listing);
    }
    if (options->sanitize)
        argument_secrets_mask(listing.result.all);
    *out = listing.result;
}

// is_arguments checks the child's answer: a child that read a malicious file is not
// trusted.
static bool is_arguments(const json_t *arguments)
{
    bool right = arguments == NULL || json_is_array(arguments);
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        const json_t *one = json_array_get(arguments, i);
        right = right && json_is_integer(json_object_get(one, "index")) &&
                json_is_string(json_object_get(one, "confidence"));
    }
    return right;
}

static enum ch_status report_write_call(json_t *thread, const json_t *call)
{
    const json_t *index = json_object_get(call, "frame");
    json_int_t number = json_integer_value(index);
    if (!json_is_integer(index) || number < 0)
        return CH_ERR_MALFORMED;
    json_t *frame = report_own_frame(thread, (size_t)number);
    if (json_is_true(json_object_get(call, "tail_call")))
        (void)json_object_set_new(frame, "tail_call", json_true());
    for (size_t i = 0; i < REPORT_TABLE_LISTS; i++) {
        json_t *list = json_object_get(call, report_table_lists[i]);
        if (!is_arguments(list) ||
            (list != NULL && json_object_set(frame, report_table_lists[i], list) != 0))
            return CH_ERR_MALFORMED;
    }
    return CH_OK;
}

enum ch_status argument_report_write(json_t *report, const json_t *all)
{
    const json_t *threads = json_object_get(report, "threads");
    if (!json_is_array(all))
        return CH_ERR_MALFORMED;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *calls = json_array_get(all, i);
        json_t *thread = json_array_get(threads, i);
        for (size_t j = 0; j < json_array_size(calls); j++) {
            enum ch_status status = report_write_call(thread, json_array_get(calls, j));
            if (status != CH_OK)
                return status;
        }
    }
    return CH_OK;
}
