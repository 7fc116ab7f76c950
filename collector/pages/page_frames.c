// SPDX-License-Identifier: Apache-2.0
#include "collector/pages/page_sections.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pages/html.h"
#include "collector/pages/page.h"
#include "report/summary/readable_name.h"
#include "report/value/report.h"
#include "report/value/value_text.h"

enum {
    FRAMES_SHOWN = 300,
    ARGUMENTS_SHOWN = 24,
    NAMES_IN_A_FOLD = 4,
    REPEATS_FOLDED = 3,
    REPEATS_SHOWN = 24, // frames of the rounds that are folded
    PERIODS = 12,       // most calls in one round of a recursion
};

// endings explains why an unwind ended before the end of the stack.
static const struct {
    const char *ended;
    const char *sentence;
} endings[] = {
    { "no-rule", "Nothing known says how to find the caller of the last frame." },
    { "fault", "The stack memory of the next frame could not be read." },
    { "no-progress", "The next frame did not lie further up the stack." },
    { "limit", "The limit of frames was reached." },
};

// trusts is how reliable a frame is that was found in this way.
static const struct {
    const char *trust;
    const char *hint;
    bool weak;
} trusts[] = {
    { "sframe", "by the image's SFrame section", false },
    { "cfi", "by the image's DWARF call frame information", false },
    { "shadow-stack", "on the processor's shadow stack: the stack differs", false },
    { "fp", "by frame pointers: right where the code keeps them", true },
    { "scan", "by looking for return addresses: may be left over from before", true },
};

// frame_list is the frames of one thread and what they are written with.
struct frame_list {
    struct text *out;
    const json_t *report;
    const json_t *frames;
    struct page_sources *sources; // NULL: no sources are shown
};

static bool frame_is_system(const json_t *frame)
{
    return report_flag(frame, "system") && report_frame_is_code(frame);
}

const char *page_frames_headline(const json_t *thread)
{
    const char *first = NULL;
    size_t i;
    json_t *frame;
    json_array_foreach(report_frames(thread), i, frame)
    {
        const char *function = report_string(frame, "function");
        if (function != NULL && !frame_is_system(frame))
            return function;
        if (first == NULL)
            first = function;
    }
    return first;
}

static void write_trust(struct text *out, const json_t *frame)
{
    const char *trust = report_string(frame, "trust");
    for (size_t i = 0; trust != NULL && i < sizeof(trusts) / sizeof(trusts[0]); i++) {
        if (strcmp(trusts[i].trust, trust) == 0)
            html_write(out, "<span class=\"trust%s\" title=\"Found %s\">%s</span>",
                       trusts[i].weak ? " weak" : "", trusts[i].hint, trust);
    }
}

static void write_frame_place(const struct frame_list *list, const json_t *frame)
{
    struct text *out = list->out;
    const json_t *report = list->report;
    const char *file = report_string(frame, "file");
    long long line = report_integer(frame, "line", 0);
    long long column = report_integer(frame, "column", 0);
    const char *image = report_string(report_image(report, frame), "name");
    html_write(out, "<div class=\"place\">");
    if (file != NULL) {
        html_write(out, "<span class=\"file\">");
        page_begin_link(out, "", "file", file);
        html_write(out, "%.*s", PAGE_NAME, file);
        if (line > 0)
            html_write(out, "<b>:%lld</b>", line);
        if (line > 0 && column > 0)
            html_write(out, "<i>:%lld</i>", column);
        html_write(out, "</a></span>");
        if (list->sources != NULL)
            page_link_source(out, &list->sources->templates, report, frame);
    }
    if (image != NULL && report_string(frame, "function") != NULL)
        html_write(out, "<span class=\"image\">%.*s<i>+%.*s</i></span>", PAGE_SHORT,
                   image, 20, report_string(frame, "image_offset"));
    if (report_string(frame, "address") != NULL)
        html_write(out, "<span class=\"address\">%.*s</span>", 20,
                   report_string(frame, "address"));
    write_trust(out, frame);
    html_write(out, "</div>");
}

// write_known_variable writes a variable and its value on one line.
static void write_known_variable(struct text *out, const json_t *variable)
{
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    struct text CH_CLEANUP(text_deinit) state = { 0 };
    value_text_append_name(variable, &name);
    value_text_append_state(variable, &state);
    html_write(out, "<li title=\"%.*s\"><span>%.*s</span> = %.*s</li>", PAGE_SHORT,
               report_string(variable, "type"), PAGE_SHORT, text_string(&name),
               PAGE_VALUE, text_string(&state));
}

// write_unknown names the variables without a value in one quiet place, and says why
// there is none to the caller.
static void write_unknown(struct text *out, const json_t *variables, size_t shown)
{
    size_t named = 0;
    for (size_t i = 0; i < shown; i++) {
        const json_t *variable = json_array_get(variables, i);
        if (value_text_is_known(variable))
            continue;
        if (named++ == 0)
            html_write(out, "<li class=\"unknown\"><details><summary>");
        else
            html_write(out, ", ");
        html_write(out, "%.*s", PAGE_SHORT, report_string(variable, "name"));
    }
    if (named == 0)
        return;
    html_write(out, " = ?</summary>");
    named = 0;
    for (size_t i = 0; i < shown; i++) {
        const json_t *variable = json_array_get(variables, i);
        if (!value_text_is_known(variable))
            html_write(out, "%s%.*s: %.*s", named++ == 0 ? "" : "; ", PAGE_SHORT,
                       report_string(variable, "name"), PAGE_SHORT,
                       value_text_reason(variable));
    }
    html_write(out, "</details></li>");
}

// write_scope reports that the next variables are those of an inner block, or of the
// function.
static void write_scope(struct text *out, int64_t scope)
{
    if (scope != 0)
        html_write(out, "<li class=\"scope\">in block %lld:</li>", (long long)scope);
    else
        html_write(out, "<li class=\"scope\">in the function:</li>");
}

// write_frame_variables writes the arguments, the local or the global variables of a
// frame.
static void write_frame_variables(struct text *out, const json_t *frame,
                                  const char *list)
{
    const json_t *arguments = json_object_get(frame, list);
    size_t count = json_array_size(arguments);
    size_t shown = count < ARGUMENTS_SHOWN ? count : ARGUMENTS_SHOWN;
    if (count == 0)
        return;
    html_write(out, "<ul class=\"arguments %.*s\">", PAGE_SHORT, list);
    int64_t scope = 0;
    for (size_t i = 0; i < shown; i++) {
        const json_t *argument = json_array_get(arguments, i);
        if (!value_text_is_known(argument))
            continue;
        if (value_text_scope(argument) != scope)
            write_scope(out, scope = value_text_scope(argument));
        write_known_variable(out, argument);
    }
    write_unknown(out, arguments, shown);
    html_write(out, "</ul>");
}

static void write_gap_of(struct text *out, int64_t count)
{
    html_write(out, "<li class=\"gap\">%'lld frames left out</li>\n", (long long)count);
}

// write_gap writes an entry that stands for frames and is no frame itself.
static void write_gap(struct text *out, const json_t *frame)
{
    const char *kind = report_string(frame, "kind");
    if (kind != NULL && strcmp(kind, "omit") == 0) {
        write_gap_of(out, report_integer(frame, "count", 0));
        return;
    }
    html_write(out, "<li class=\"gap\">Deeper frames were not recorded</li>\n");
}

// begin_function_link begins a link to the groups with that function; a name that is
// longer than the store keeps is cut as there.
static void begin_function_link(struct text *out, const char *function)
{
    enum { LINKED_NAME = 120, SHORTENED_NAME = 1000 };
    struct text CH_CLEANUP(text_deinit) name = { 0 };
    char linked[LINKED_NAME];
    if (strlen(function) <= SHORTENED_NAME)
        readable_name_short(function, &name);
    entry_copy(linked, sizeof(linked), name.size != 0 ? name.bytes : function);
    page_begin_link(out, "", "frame", linked);
}

// write_frame_function writes a function's name, with its parameters set apart.
static void write_frame_function(struct text *out, const char *function)
{
    struct text name = { 0 };
    readable_name(function, &name);
    if (name.size != 0) {
        size_t end = readable_name_parameters(name.bytes);
        struct text head = { 0 };
        text_append(&head, name.bytes, end);
        begin_function_link(out, function);
        html_write(out, "<code title=\"%.*s\">%.*s<span>%.*s</span></code></a>",
                   PAGE_NAME, function, PAGE_NAME, head.bytes, PAGE_NAME,
                   name.bytes + end);
        text_deinit(&head);
    }
    text_deinit(&name);
}

// write_frame_name writes the function of a frame, or else its offset in an image or
// its address.
static void write_frame_name(struct text *out, const json_t *report,
                             const json_t *frame)
{
    const char *function = report_string(frame, "function");
    const char *image = report_string(report_image(report, frame), "name");
    if (function != NULL)
        write_frame_function(out, function);
    else if (image != NULL)
        html_write(out, "<code class=\"nameless\">%.*s+%.*s</code>", PAGE_SHORT, image,
                   20, report_string(frame, "image_offset"));
    else
        html_write(out, "<code class=\"nameless\">%.*s</code>", 20,
                   report_string(frame, "address"));
}

// frame_number is the distance of the frame at index from the innermost one, including
// the frames that were left out.
static uint64_t frame_number(const json_t *frames, size_t index)
{
    uint64_t number = index;
    for (size_t i = 0; i < index; i++) {
        int64_t left_out = report_integer(json_array_get(frames, i), "count", 1);
        number += left_out > 1 ? (uint64_t)left_out - 1 : 0;
    }
    return number;
}

// frame_look is how a frame is shown.
enum frame_look {
    FRAME_FAULT, // the one to look at first
    FRAME_OPEN,
    FRAME_FOLDED,
    FRAME_REPEATED, // repeats another frame; its source lines are not repeated
};

// frame_mark_title returns what a frame is that a source of its own has named.
static const char *frame_mark_title(const json_t *frame)
{
    if (report_frame_is_interpreted(frame))
        return "Run by the interpreter's function below";
    if (report_flag(frame, "inline"))
        return "Compiled into the method below";
    const char *source = report_string(frame, "source");
    return source != NULL && strcmp(source, "vmstructs") == 0
               ? "Run by the virtual machine, compiled or interpreted"
               : "Compiled while the program ran";
}

// write_tail_callers writes the functions that ran between a frame and the next one and
// left no frames.
static void write_tail_callers(const struct frame_list *list, const json_t *frame)
{
    const json_t *callers = json_object_get(frame, "tail_callers");
    struct text *out = list->out;
    for (size_t i = 0; i < json_array_size(callers) && i < ARGUMENTS_SHOWN; i++) {
        const json_t *caller = json_array_get(callers, i);
        html_write(out, "<li class=\"frame\"><span class=\"index\">\u2212</span><div>"
                        "<div class=\"function\">");
        write_frame_name(out, list->report, caller);
        html_write(out, "<span class=\"mark\" title=\"Its last act was the call of the"
                        " function above: debug information proves that it ran here\">"
                        "inferred</span></div>");
        write_frame_place(list, caller);
        html_write(out, "</div></li>\n");
    }
}

static void write_frame_row(const struct frame_list *list, size_t index,
                            enum frame_look look)
{
    struct text *out = list->out;
    const json_t *frame = json_array_get(list->frames, index);
    if (!report_frame_is_code(frame)) {
        write_gap(out, frame);
        return;
    }
    bool is_inline = report_flag(frame, "inline");
    const char *mark = report_frame_mark(frame);
    bool is_language = mark != NULL && report_string(frame, "source") != NULL;
    int64_t omitted = report_integer(frame, "omitted", 0);
    html_write(out,
               "<li class=\"frame%s%s\"><span class=\"index\">%llu</span><div>"
               "<div class=\"function\">",
               frame_is_system(frame) ? " system" : "",
               look == FRAME_FAULT ? " fault" : "",
               (unsigned long long)frame_number(list->frames, index));
    write_frame_name(out, list->report, frame);
    if (is_language)
        html_write(out, "<span class=\"mark\" title=\"%s\">%s</span>",
                   frame_mark_title(frame), mark);
    else if (is_inline)
        html_write(out, "<span class=\"mark\" title=\"Compiled into the function"
                        " below\">inline</span>");
    if (report_flag(frame, "creator"))
        html_write(out, "<span class=\"mark\" title=\"Not a caller: it started the"
                        " goroutine above\">created it</span>");
    if (report_flag(frame, "tail_call"))
        html_write(out, "<span class=\"mark\" title=\"The function below called another"
                        " one, which is gone\">tail call</span>");
    html_write(out, "</div>");
    write_frame_place(list, frame);
    write_frame_variables(out, frame, "arguments");
    write_frame_variables(out, frame, "locals");
    write_frame_variables(out, frame, "globals");
    if (look != FRAME_REPEATED)
        page_source_write(out, list->sources, frame, look != FRAME_FOLDED);
    html_write(out, "</div></li>\n");
    write_tail_callers(list, frame);
    if (omitted > 0)
        write_gap_of(out, omitted);
}

// fold_end is the index after the run of system frames that begins at start.
static size_t fold_end(const json_t *frames, size_t start)
{
    size_t i = start;
    while (i < json_array_size(frames) && frame_is_system(json_array_get(frames, i)))
        i++;
    return i;
}

static void write_fold_names(struct text *out, const json_t *frames, size_t start,
                             size_t end)
{
    size_t named = 0;
    for (size_t i = start; i < end && named < NAMES_IN_A_FOLD; i++) {
        const char *function = report_string(json_array_get(frames, i), "function");
        if (function != NULL)
            html_write(out, "%s<code>%.*s</code>", named++ == 0 ? "" : " ", 60,
                       function);
    }
    if (named == NAMES_IN_A_FOLD && end - start > NAMES_IN_A_FOLD)
        html_write(out, " \u2026");
}

static void write_fold(const struct frame_list *list, size_t start, size_t end)
{
    struct text *out = list->out;
    html_write(out,
               "<li class=\"fold\"><details><summary><span>%zu system %s</span>"
               "<span class=\"names\">",
               end - start, end - start == 1 ? "frame" : "frames");
    write_fold_names(out, list->frames, start, end);
    html_write(out, "</span></summary><ol class=\"frames\">\n");
    for (size_t i = start; i < end; i++)
        write_frame_row(list, i, FRAME_FOLDED);
    html_write(out, "</ol></details></li>\n");
}

// frames_have_same compares one string of two frames; both lacking it counts as equal.
static bool frames_have_same(const json_t *one, const json_t *other, const char *key)
{
    const char *left = report_string(one, key);
    const char *right = report_string(other, key);
    return left == right || (left != NULL && right != NULL && strcmp(left, right) == 0);
}

// is_same_call returns true if two frames are calls of one function, wherever in it
// they are; without a name, of one place.
static bool is_same_call(const json_t *one, const json_t *other)
{
    return report_frame_is_code(one) && report_frame_is_code(other) &&
           report_string(one, "address") != NULL &&
           frames_have_same(one, other, "function") &&
           report_integer(one, "image", -1) == report_integer(other, "image", -1) &&
           report_flag(one, "inline") == report_flag(other, "inline") &&
           (report_string(one, "function") != NULL ||
            frames_have_same(one, other, "address"));
}

// recursion is a run of calls that repeats itself.
struct recursion {
    size_t period; // calls in one round; 0: there is none
    size_t folded; // frames of the rounds after the first
};

// find_recursion looks for a run from start on, of as few calls in a round as possible.
static struct recursion find_recursion(const json_t *frames, size_t start, size_t end)
{
    for (size_t period = 1; period <= PERIODS; period++) {
        size_t same = 0;
        size_t least = period == 1 ? REPEATS_FOLDED : REPEATS_FOLDED * period - period;
        while (start + same + period < end &&
               is_same_call(json_array_get(frames, start + same),
                            json_array_get(frames, start + same + period)))
            same++;
        if (same >= least)
            return (struct recursion){ .period = period,
                                       .folded = same - same % period };
    }
    return (struct recursion){ 0 };
}

// write_repeat writes a frame, or a round of a recursion, whose other rounds it folds;
// it returns the index after the frames that it wrote.
static size_t write_repeat(const struct frame_list *list, size_t start, size_t shown,
                           bool fault)
{
    struct text *out = list->out;
    const struct recursion recursion = find_recursion(list->frames, start, shown);
    size_t round = recursion.period != 0 ? recursion.period : 1;
    size_t end = start + round + recursion.folded;
    for (size_t i = start; i < start + round; i++)
        write_frame_row(list, i, fault && i == start ? FRAME_FAULT : FRAME_OPEN);
    if (recursion.folded == 0)
        return end;
    html_write(out, "<li class=\"fold\"><details><summary><span>the same ");
    if (round == 1)
        html_write(out, "call");
    else
        html_write(out, "%zu calls", round);
    html_write(out, " %zu times more</span></summary><ol class=\"frames\">\n",
               recursion.folded / round);
    size_t written =
        recursion.folded < REPEATS_SHOWN ? recursion.folded : REPEATS_SHOWN;
    for (size_t i = start + round; i < start + round + written; i++)
        write_frame_row(list, i, FRAME_REPEATED);
    if (written < recursion.folded)
        html_write(out, "<li class=\"gap\">%zu more of them are in the JSON</li>\n",
                   recursion.folded - written);
    html_write(out, "</ol></details></li>\n");
    return end;
}

static bool has_in_app_frames(const json_t *frames)
{
    size_t i;
    json_t *frame;
    json_array_foreach(frames, i, frame)
    {
        if (report_frame_is_code(frame) && !frame_is_system(frame))
            return true;
    }
    return false;
}

static void write_ending(struct text *out, const json_t *thread)
{
    const char *ended = report_string(json_object_get(thread, "backtrace"), "ended");
    for (size_t i = 0; ended != NULL && i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (strcmp(endings[i].ended, ended) == 0)
            html_write(out,
                       "<p class=\"ending\"><b>The stack goes on.</b> %s"
                       " <code>%s</code></p>",
                       endings[i].sentence, ended);
    }
}

void page_frames_write(struct text *out, const json_t *report, const json_t *thread,
                       struct page_sources *sources)
{
    const json_t *frames = report_frames(thread);
    const struct frame_list list = { out, report, frames, sources };
    size_t count = json_array_size(frames);
    size_t shown = count < FRAMES_SHOWN ? count : FRAMES_SHOWN;
    bool folding = has_in_app_frames(frames);
    size_t open = 0;
    if (count == 0)
        html_write(out, "<p class=\"cut\">No frames were recorded.</p>");
    html_write(out, "<ol class=\"frames\">\n");
    for (size_t i = 0; i < shown && !page_is_full(out);) {
        size_t end = folding ? fold_end(frames, i) : i;
        end = end < shown ? end : shown;
        if (end > i) {
            write_fold(&list, i, end);
            i = end;
        } else {
            i = write_repeat(&list, i, shown, open++ == 0);
        }
    }
    html_write(out, "</ol>\n");
    page_write_cut(out, shown, count, "frames");
    write_ending(out, thread);
}
