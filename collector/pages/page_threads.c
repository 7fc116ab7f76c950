// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page_sections.h"

#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "report/value/report.h"

enum { STACKS_SHOWN = 100, NAMES_SHOWN = 12, REGISTERS_SHOWN = 128 };

// stack is a group of threads with the same functions, and the first of these threads.
struct stack {
    const json_t *thread;
    uint64_t hash;
    size_t count;
    struct text names; // of the first NAMES_SHOWN threads, escaped
};

// thread_words is what the members of a list are called.
struct thread_words {
    const char *key; // of the list in a report
    const char *one; // of them
    const char *many;
    const char *number;
};

static const struct thread_words thread_words = { "threads", "thread", "threads",
                                                  "tid" };
static const struct thread_words goroutine_words = { "goroutines", "goroutine",
                                                     "goroutines", "id" };

struct stacks {
    const struct thread_words *words;
    struct stack stacks[STACKS_SHOWN];
    size_t count;
    size_t left_out; // threads whose stacks did not fit
};

// hash_thread_text continues a 64-bit FNV-1a hash; 0xff, which UTF-8 never contains,
// ends each string.
static uint64_t hash_thread_text(uint64_t hash, const char *string)
{
    for (; string != NULL && *string != 0; string++)
        hash = (hash ^ (unsigned char)*string) * 0x100000001b3;
    return (hash ^ 0xff) * 0x100000001b3;
}

// thread_frame_key is what a reader compares frames by: the function, else the address.
static const char *thread_frame_key(const json_t *frame)
{
    const char *function = report_string(frame, "function");
    return function != NULL ? function : report_string(frame, "address");
}

static bool thread_frames_alike(const json_t *a, const json_t *b)
{
    size_t count = json_array_size(a);
    if (count != json_array_size(b))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *first = thread_frame_key(json_array_get(a, i));
        const char *second = thread_frame_key(json_array_get(b, i));
        if (first == NULL || second == NULL ? first != second
                                            : strcmp(first, second) != 0)
            return false;
    }
    return true;
}

static uint64_t hash_thread_frames(const json_t *frames)
{
    uint64_t hash = 0xcbf29ce484222325;
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame)
    {
        hash = hash_thread_text(hash, thread_frame_key(frame));
    }
    return hash;
}

static void add_thread_name(const struct stacks *stacks, struct stack *stack,
                            const json_t *thread)
{
    const char *name = report_string(thread, "name");
    const char *reason = report_string(thread, "reason");
    const struct thread_words *words = stacks->words;
    if (stack->count > NAMES_SHOWN)
        return;
    if (stack->count > 1)
        text_append_string(&stack->names, ", ");
    html_write(&stack->names, "%.*s <i>%lld</i>", 40, name != NULL ? name : words->one,
               (long long)report_integer(thread, words->number, 0));
    if (reason != NULL)
        html_write(&stack->names, " %.*s", 48, reason);
}

static void add_listed_thread(struct stacks *stacks, const json_t *thread)
{
    const json_t *frames = report_frames(thread);
    uint64_t hash = hash_thread_frames(frames);
    for (size_t i = 0; i < stacks->count; i++) {
        struct stack *stack = &stacks->stacks[i];
        if (stack->hash != hash ||
            !thread_frames_alike(report_frames(stack->thread), frames))
            continue;
        stack->count++;
        add_thread_name(stacks, stack, thread);
        return;
    }
    if (stacks->count == STACKS_SHOWN) {
        stacks->left_out++;
        return;
    }
    struct stack *stack = &stacks->stacks[stacks->count++];
    *stack = (struct stack){ .thread = thread, .hash = hash, .count = 1 };
    add_thread_name(stacks, stack, thread);
}

static void stacks_deinit(struct stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        text_deinit(&stacks->stacks[i].names);
}

static void write_page_stack(struct text *out, const json_t *report,
                             const struct thread_words *words,
                             const struct stack *stack)
{
    const char *state = report_string(stack->thread, "state");
    html_write(out, "<li><details class=\"stack\"><summary><span class=\"threads\">");
    if (stack->count > 1)
        html_write(out, "%zu %s like this", stack->count, words->many);
    else
        html_write(out, "1 %s", words->one);
    html_write(out, "</span><code>%.*s</code><span class=\"who\">", PAGE_SHORT,
               page_frames_headline(stack->thread));
    text_append(out, stack->names.bytes, stack->names.size);
    if (stack->count > NAMES_SHOWN)
        html_write(out, " and %zu more", stack->count - NAMES_SHOWN);
    html_write(out, "%s%.*s</span></summary>\n",
               state != NULL && stack->count == 1 ? " \u00b7 state " : "",
               stack->count == 1 ? 10 : 0, state);
    page_frames_write(out, report, stack->thread, NULL);
    if (stack->count > 1)
        html_write(
            out, "<p class=\"cut\">Lines and addresses are those of %s %lld.</p>",
            words->one, (long long)report_integer(stack->thread, words->number, 0));
    html_write(out, "</details></li>\n");
}

// write_list writes the stacks of a list; without those that have none, which are of
// goroutines that run on a thread.
static void write_list(struct text *out, const json_t *report,
                       const struct thread_words *words, const char *title)
{
    const json_t *crashed = report_crashed_thread(report);
    const json_t *threads = json_object_get(report, words->key);
    CH_CLEANUP(stacks_deinit) struct stacks stacks = { .words = words };
    size_t others = 0;
    size_t i;
    json_t *thread;
    json_array_foreach(threads, i, thread)
    {
        if (thread == crashed ||
            (words == &goroutine_words && report_frames(thread) == NULL))
            continue;
        others++;
        add_listed_thread(&stacks, thread);
    }
    if (others == 0)
        return;
    html_write(out, "<section class=\"card\" id=\"%s\"><h2>%s <small>%zu", words->key,
               title, others);
    if (others > 1)
        html_write(out, " in %zu%s %s", stacks.count,
                   stacks.left_out != 0 ? " or more" : "",
                   stacks.count == 1 ? "stack" : "different stacks");
    html_write(out, "</small></h2><ol class=\"stacks\">\n");
    size_t shown = 0;
    while (shown < stacks.count && !page_is_full(out))
        write_page_stack(out, report, words, &stacks.stacks[shown++]);
    html_write(out, "</ol>");
    if (shown < stacks.count || stacks.left_out != 0)
        html_write(out,
                   "<p class=\"cut\">%zu stacks are shown here; the rest is in the"
                   " JSON.</p>",
                   shown);
    html_write(out, "</section>\n");
}

void page_threads_write_others(struct text *out, const json_t *report)
{
    write_list(out, report, &thread_words,
               report_crashed_thread(report) != NULL ? "Other threads" : "Threads");
    write_list(out, report, &goroutine_words, "Goroutines");
}

static void write_register_table(struct text *out, const json_t *thread)
{
    const json_t *registers = json_object_get(thread, "registers");
    const char *name;
    json_t *value;
    size_t shown = 0;
    if (json_object_size(registers) == 0)
        return;
    html_write(out, "<details class=\"inner\"><summary>Registers</summary>"
                    "<dl class=\"registers\">");
    json_object_foreach((json_t *)(uintptr_t)registers, name, value)
    {
        if (shown++ == REGISTERS_SHOWN)
            break;
        html_write(out, "<div><dt>%.*s</dt><dd>%.*s</dd></div>", 16, name, 70,
                   json_string_value(value));
    }
    html_write(out, "</dl></details>");
}

void page_threads_write_crashed(struct text *out, const struct viewed_report *viewed,
                                const char *address)
{
    const json_t *report = viewed->opened.json;
    const json_t *thread = report_crashed_thread(report);
    CH_CLEANUP(page_sources_deinit) struct page_sources sources;
    page_sources_init(&sources, viewed);
    sources.templates = viewed->templates;
    if (thread == NULL)
        return;
    const char *name = report_string(thread, "name");
    html_write(out,
               "<section class=\"card crashed\" id=\"crashed\"><h2>Crashed thread"
               " <small>%.*s %lld</small></h2>\n",
               40, name, (long long)report_integer(thread, "tid", 0));
    struct text CH_CLEANUP(text_deinit) exception = { 0 };
    report_exception_write(thread, &exception);
    if (exception.size != 0)
        html_write(out, "<p class=\"note\">%.*s</p>\n", PAGE_NAME, exception.bytes);
    page_frames_write(out, report, thread, &sources);
    page_source_write_missing(out, &sources, address);
    write_register_table(out, thread);
    html_write(out, "</section>\n");
}
