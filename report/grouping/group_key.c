// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/group_key.h"

#include <ctype.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/file.h"
#include "report/file/report_tree.h"
#include "report/grouping/in_app.h"
#include "report/grouping/report_in_app.h"
#include "report/grouping/scoped_name.h"
#include "report/summary/crash_kind.h"
#include "report/summary/crash_words.h"
#include "report/summary/panic_text.h"
#include "report/summary/readable_name.h"

enum {
    FRAMES_READ = 96, // of the crashed thread: inner ones, and those kept of the outer
    CYCLE_LEAST = 3,  // how often a function of a cycle occurs at least
    SAID_BYTES = 160, // of a panic's message
};

// key_frame is a frame that may become part of a key.
struct key_frame {
    const json_t *frame;
    struct in_app_verdict verdict;
    struct text name; // scoped; empty: it has none
    bool weak;        // found by a scan of the stack
    bool interpreted; // its name is that of its language
};

struct keying {
    const json_t *report;
    const json_t *crash;
    struct key_frame *frames;
    size_t count;
    size_t inner; // of these, how many come before frames that were left out
    struct group_key *key;
};

static bool key_frame_has_place(const struct keying *keying, const json_t *frame)
{
    return report_string(frame, "function") != NULL ||
           report_image(keying->report, frame) != NULL;
}

// first_frame is the index of the first frame that counts: where a handler raised the
// signal again, the one that the first signal interrupted.
static size_t first_frame(const struct keying *keying, const json_t *frames)
{
    size_t first = 0;
    if (json_object_get(keying->crash, "then") == NULL)
        return 0;
    for (size_t i = 1; i < json_array_size(frames); i++) {
        const char *kind = report_string(json_array_get(frames, i), "kind");
        const json_t *inner = json_array_get(frames, i - 1);
        if (kind != NULL && strcmp(kind, "pc") == 0 && !report_flag(inner, "inline"))
            first = i;
    }
    while (first > 0 && report_flag(json_array_get(frames, first - 1), "inline") &&
           report_string(json_array_get(frames, first - 1), "address") != NULL)
        first--;
    return first;
}

// name_key_frame finds the scoped name of the frame's function. False: it is taken as
// it is written, because it is interpreted, or of Java, where `<init>` is no template's
// argument.
static bool name_key_frame(struct key_frame *to)
{
    const char *function = report_string(to->frame, "function");
    const char *source = report_string(to->frame, "source");
    bool java = source != NULL && strcmp(source, "vmstructs") == 0;
    to->interpreted = report_frame_is_interpreted(to->frame);
    bool as_written = to->interpreted || java;
    if (function != NULL && as_written)
        text_append_string(&to->name, function);
    else if (function != NULL)
        scoped_name(function, &to->name);
    return !as_written;
}

static void take_key_frame(struct keying *keying, const json_t *frame)
{
    struct key_frame *to = &keying->frames[keying->count++];
    const char *trust = report_string(frame, "trust");
    to->frame = frame;
    // After a jump to where no code is, the stack begins with where it came from.
    to->weak = keying->count > 1 && trust != NULL && strcmp(trust, "scan") == 0;
    if (keying->count > 1 && report_same_place(to[-1].frame, frame)) {
        to->verdict = to[-1].verdict;
        to->interpreted = to[-1].interpreted;
        text_append(&to->name, to[-1].name.bytes, to[-1].name.size);
        return;
    }
    bool scoped = name_key_frame(to);
    report_in_app_judge(keying->report, frame, scoped ? to->name.bytes : NULL,
                        &to->verdict);
}

// scope_lambda completes the name of a lambda that was inlined: debug information then
// calls it `operator()` alone. Its scope is in the name of the library's function that
// called it, or else it is the function that it was inlined into.
static void scope_lambda(struct keying *keying, size_t index)
{
    struct key_frame *frame = &keying->frames[index];
    struct text scope = { 0 };
    if (frame->name.size == 0 || strcmp(frame->name.bytes, "operator()") != 0)
        return;
    for (size_t i = index + 1; i < keying->count && scope.size == 0; i++) {
        const struct key_frame *caller = &keying->frames[i];
        const char *function = report_string(caller->frame, "function");
        if ((function != NULL && scoped_name_passed_lambda(function, &scope)) ||
            caller->name.size == 0)
            break;
        if (!caller->verdict.in_app)
            continue;
        text_append(&scope, caller->name.bytes, caller->name.size);
        text_append_string(&scope, "::{lambda}");
    }
    if (scope.size == 0 || !text_ok(&scope)) {
        text_deinit(&scope);
        return;
    }
    text_deinit(&frame->name);
    frame->name = scope;
}

// is_jump_into_data returns true if the frame is data that the program has jumped to.
// The place of such a crash is the function that did so, which is the next frame.
static bool is_jump_into_data(const struct keying *keying, const json_t *frame)
{
    return crash_words_is_in_data(keying->crash) &&
           report_string(frame, "function") == NULL;
}

static void read_key_frames(struct keying *keying, const json_t *frames)
{
    size_t first = first_frame(keying, frames);
    if (first + 1 < json_array_size(frames) &&
        is_jump_into_data(keying, json_array_get(frames, first)))
        first++;
    for (size_t i = first; i < json_array_size(frames) && keying->count < FRAMES_READ;
         i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!report_frame_is_code(frame) && keying->inner == 0)
            keying->inner = keying->count;
        if (report_frame_is_code(frame) && !report_flag(frame, "creator") &&
            key_frame_has_place(keying, frame))
            take_key_frame(keying, frame);
    }
    if (keying->inner == 0)
        keying->inner = keying->count;
    for (size_t i = 0; i < keying->count; i++)
        scope_lambda(keying, i);
}

static bool same_key_name(const struct key_frame *a, const struct key_frame *b)
{
    return a->name.size != 0 && a->name.size == b->name.size &&
           memcmp(a->name.bytes, b->name.bytes, a->name.size) == 0;
}

// next_in_app is the first in-app frame from start on that is not a weak guess, or
// count.
static size_t next_in_app(const struct keying *keying, size_t start)
{
    size_t weak = keying->count;
    for (size_t i = start; i < keying->count; i++) {
        if (!keying->frames[i].verdict.in_app)
            continue;
        if (!keying->frames[i].weak)
            return i;
        weak = weak == keying->count ? i : weak;
    }
    return weak;
}

static bool is_reported(const struct keying *keying, size_t before)
{
    for (size_t i = 0; i < before; i++) {
        if (keying->frames[i].verdict.reports)
            return true;
    }
    return false;
}

// is_one_word is true for names that many programs have: `main`, `parse`.
static bool is_one_word(const struct text *name)
{
    for (size_t i = 0; i < name->size; i++) {
        if (!isalnum((unsigned char)name->bytes[i]))
            return false;
    }
    return name->size != 0;
}

static void append_key_name(const struct keying *keying, const struct key_frame *frame,
                            struct text *out)
{
    const json_t *image = report_image(keying->report, frame->frame);
    const char *path = report_string(image, "path");
    const char *id = report_string(image, "build_id");
    const char *file = report_frame_file(frame->frame);
    const char *scope = file != NULL ? file : path;
    if (path == NULL)
        path = report_string(image, "name");
    if (frame->name.size == 0) {
        const char *offset = report_string(frame->frame, "image_offset");
        text_append_string(out, id != NULL ? id : path != NULL ? path : "?");
        text_appendf(out, "+%s", offset != NULL ? offset : "?");
        return;
    }
    text_append(out, frame->name.bytes, frame->name.size);
    if ((frame->interpreted || is_one_word(&frame->name)) && scope != NULL) {
        text_append_string(out, "@");
        scoped_name_stem(scope, out);
    }
}

// append_key_place appends the frame as people say it.
static void append_key_place(const struct keying *keying, const struct key_frame *frame,
                             struct text *out)
{
    const json_t *image = report_image(keying->report, frame->frame);
    const char *name = report_string(image, "name");
    const char *offset = report_string(frame->frame, "image_offset");
    const char *file = report_frame_file(frame->frame);
    if (frame->name.size == 0)
        text_appendf(out, "%s+%s", name != NULL ? name : "an unknown image",
                     offset != NULL ? offset : "?");
    else if (strncmp(frame->name.bytes, "(anonymous)::", 13) == 0)
        text_append(out, frame->name.bytes + 13, frame->name.size - 13);
    else
        text_append(out, frame->name.bytes, frame->name.size);
    if ((frame->interpreted || is_one_word(&frame->name)) && file != NULL)
        text_appendf(out, " (%s)", file_name(file));
}

static void choose_key_frame(struct keying *keying, size_t index)
{
    struct group_key *key = keying->key;
    if (key->frame_count == GROUP_KEY_FRAMES)
        return;
    const struct key_frame *frame = &keying->frames[index];
    key->frames[key->frame_count++] = frame->frame;
    text_append_string(&key->material, "frame ");
    append_key_name(keying, frame, &key->material);
    text_append_string(&key->material, "\n");
}

static size_t count_key_name(const struct keying *keying, size_t index)
{
    size_t count = 0;
    for (size_t i = 0; i < keying->inner; i++)
        count += same_key_name(&keying->frames[i], &keying->frames[index]);
    return count;
}

// cycle_place is the place of a stack overflow: of the in-app functions that occur
// again and again, the first of the alphabet. count: there are none.
static size_t cycle_place(const struct keying *keying)
{
    size_t place = keying->count;
    for (size_t i = 0; i < keying->inner; i++) {
        const struct key_frame *frame = &keying->frames[i];
        if (!frame->verdict.in_app || frame->name.size == 0 ||
            count_key_name(keying, i) < CYCLE_LEAST)
            continue;
        if (place == keying->count ||
            strcmp(frame->name.bytes, keying->frames[place].name.bytes) < 0)
            place = i;
    }
    return place;
}

// choose_caller adds the in-app function that called a helper which only reports.
static void choose_caller(struct keying *keying, size_t helper)
{
    for (size_t i = next_in_app(keying, helper + 1); i < keying->count;
         i = next_in_app(keying, i + 1)) {
        const struct key_frame *frame = &keying->frames[i];
        if (frame->name.size != 0 && in_app_is_failing(frame->name.bytes))
            continue;
        choose_key_frame(keying, i);
        append_key_place(keying, frame, &keying->key->place);
        return;
    }
}

static void choose_nameless(struct keying *keying, size_t first)
{
    keying->key->why = "the program's frames have no names: build ID and offset";
    choose_key_frame(keying, first);
    append_key_place(keying, &keying->frames[first], &keying->key->place);
    if (!is_reported(keying, first))
        return;
    for (size_t i = next_in_app(keying, first + 1); i < keying->count;
         i = next_in_app(keying, i + 1))
        choose_key_frame(keying, i);
}

static void choose_in_app(struct keying *keying, size_t first)
{
    struct group_key *key = keying->key;
    bool overflow = crash_words_kind(keying->crash) == CRASH_KIND_STACK_OVERFLOW;
    size_t cycle = overflow ? cycle_place(keying) : keying->count;
    const struct key_frame *frame = &keying->frames[first];
    if (cycle < keying->count) {
        key->why = "the functions that call each other until the stack is full";
        choose_key_frame(keying, cycle);
        append_key_place(keying, &keying->frames[cycle], &key->place);
        return;
    }
    if (frame->name.size == 0) {
        choose_nameless(keying, first);
        return;
    }
    choose_key_frame(keying, first);
    if (is_reported(keying, first) && in_app_is_failing(frame->name.bytes)) {
        key->why = "a function that only reports, and the one that called it";
        choose_caller(keying, first);
        if (key->place.size != 0) {
            text_append_string(&key->place, " by ");
            append_key_place(keying, frame, &key->place);
            return;
        }
    }
    key->why = "the innermost function of the program's own";
    append_key_place(keying, frame, &key->place);
}

// choose_others is for a stack in which nothing is the program's own.
static void choose_others(struct keying *keying)
{
    struct group_key *key = keying->key;
    key->why = "no frame is the program's own: the innermost others";
    for (size_t i = 0; i < keying->count; i++) {
        const struct in_app_verdict *verdict = &keying->frames[i].verdict;
        bool again = i > 0 && same_key_name(&keying->frames[i - 1], &keying->frames[i]);
        if (verdict->reports || verdict->starts || again)
            continue;
        if (key->frame_count == 0)
            append_key_place(keying, &keying->frames[i], &key->place);
        choose_key_frame(keying, i);
    }
    if (key->frame_count == 0)
        key->why = "no frame is known that says where";
}

static const char *ending_of(int64_t signal)
{
    switch (signal) {
    case SIGSEGV:
    case SIGBUS:
        return "memory";
    case SIGFPE:
        return "arithmetic";
    case SIGILL:
    case SIGTRAP:
        return "trap";
    case SIGABRT:
        return "abort";
    default:
        return NULL;
    }
}

// append_asserted appends the expression of an assertion's message. False: it has none.
static bool append_asserted(const char *message, struct text *out)
{
    size_t size;
    const char *expression = assertion_text(message, &size);
    if (expression == NULL)
        return false;
    text_append_string(out, "`");
    text_append(out, expression, size);
    text_append_string(out, "'");
    return true;
}

// append_panicked appends what a message says without numbers, quoted parts and what
// follows words after which values come.
static void append_panicked(const char *message, struct text *out)
{
    static const char *const before_values[] = { "value: ", "out of bounds of `",
                                                 "it is inside '" };
    size_t size;
    const char *begin = panic_text(message, &size);
    const char *end = begin + (size < SAID_BYTES ? size : SAID_BYTES);
    for (size_t i = 0; i < sizeof(before_values) / sizeof(before_values[0]); i++) {
        const char *value = strstr(begin, before_values[i]);
        end = value != NULL && value < end ? value : end;
    }
    for (const char *at = begin; at < end; at++) {
        const char *quote =
            *at == '"' ? memchr(at + 1, '"', (size_t)(end - at - 1)) : NULL;
        if (quote != NULL)
            at = quote;
        else if (isdigit((unsigned char)*at))
            while (at + 1 < end && isxdigit((unsigned char)at[1]))
                at++;
        else
            text_append(out, at, 1);
    }
}

// choose_program is for a process that was killed: where it was then says nothing.
static void choose_program(struct keying *keying, const char *cause)
{
    const json_t *process = json_object_get(keying->report, "process");
    const char *program = file_name(report_string(process, "executable"));
    keying->key->why = "it was killed: the program and why";
    text_appendf(&keying->key->material, "killed %s\nprogram %s\n", cause,
                 program != NULL ? program : "");
    // Rust's panics have what they say in the second line.
    const char *message = report_string(keying->crash, "message");
    const char *second = message != NULL ? strchr(message, '\n') : NULL;
    if (second != NULL) {
        append_panicked(second + 1, &keying->key->material);
        text_append_string(&keying->key->material, "\n");
    }
}

// append_said adds what keeps two failures of one function apart.
static void append_said(const json_t *crash, struct text *out)
{
    enum crash_said said = crash_kind_said(crash_words_kind(crash));
    const char *message = report_string(crash, "message");
    const char *type = report_string(json_object_get(crash, "exception"), "type");
    if (said == CRASH_SAID_ASSERTION && message != NULL) {
        text_append_string(out, "assertion ");
        if (!append_asserted(message, out))
            append_panicked(message, out);
    } else if (said == CRASH_SAID_CHECK && message != NULL) {
        text_append_string(out, "check ");
        append_panicked(message, out);
    } else if (said == CRASH_SAID_PANIC && message != NULL) {
        text_append_string(out, "panic ");
        append_panicked(message, out);
    } else if (said == CRASH_SAID_EXCEPTION && type != NULL) {
        text_append_string(out, "exception ");
        scoped_name(type, out);
    } else {
        return;
    }
    text_append_string(out, "\n");
}

// append_heap_site adds the in-app function that freed or, if it was not freed,
// allocated the misused block.
static void append_heap_site(const json_t *report, const json_t *crash,
                             struct text *out)
{
    const json_t *heap = json_object_get(crash, "heap");
    bool is_freed = crash_words_kind(crash) == CRASH_KIND_USE_AFTER_FREE ||
                    crash_words_kind(crash) == CRASH_KIND_DOUBLE_FREE;
    const char *event = is_freed ? "freed" : "allocated";
    const json_t *frames = report_frames(json_object_get(heap, event));
    for (size_t i = 0; i < json_array_size(frames); i++) {
        struct keying site = { .report = report };
        struct key_frame frame;
        site.frames = memset(&frame, 0, sizeof(frame));
        const json_t *at = json_array_get(frames, i);
        if (!report_frame_is_code(at) || !key_frame_has_place(&site, at))
            continue;
        take_key_frame(&site, at);
        bool is_site = frame.verdict.in_app;
        if (is_site) {
            text_appendf(out, "%s ", event);
            append_key_name(&site, &frame, out);
            text_append_string(out, "\n");
        }
        text_deinit(&frame.name);
        if (is_site)
            return;
    }
}

// write_key_stack lists the in-app functions, innermost first, repetitions once.
static void write_key_stack(struct keying *keying)
{
    struct text *stack = &keying->key->stack;
    const struct key_frame *last = NULL;
    size_t written = 0;
    for (size_t i = 0; i < keying->count && written < GROUP_KEY_STACK; i++) {
        const struct key_frame *frame = &keying->frames[i];
        if (!frame->verdict.in_app || frame->weak ||
            (last != NULL && same_key_name(last, frame)))
            continue;
        append_key_name(keying, frame, stack);
        text_append_string(stack, "\n");
        last = frame;
        written++;
    }
}

static void write_key(struct keying *keying)
{
    struct group_key *key = keying->key;
    int64_t signal = report_integer(keying->crash, "signal", 0);
    const char *ending = ending_of(signal);
    text_appendf(&key->material, "version %d\n", GROUP_KEY_VERSION);
    if (ending != NULL)
        text_appendf(&key->material, "ended %s\n", ending);
    else
        text_appendf(&key->material, "ended signal %lld\n", (long long)signal);
    const char *cause = report_string(json_object_get(keying->crash, "death"), "cause");
    size_t first = next_in_app(keying, 0);
    if (cause != NULL && report_exception_stack(keying->report) == NULL)
        choose_program(keying, cause);
    else if (first < keying->count)
        choose_in_app(keying, first);
    else
        choose_others(keying);
    append_said(keying->crash, &key->material);
    append_heap_site(keying->report, keying->crash, &key->material);
    write_key_stack(keying);
}

bool group_key_make(const json_t *report, struct group_key *out)
{
    *out = (struct group_key){ 0 };
    const json_t *said = report_exception_stack(report);
    const json_t *frames =
        said != NULL ? said : report_frames(report_crashed_thread(report));
    size_t most = json_array_size(frames);
    most = most < FRAMES_READ ? most : FRAMES_READ;
    struct keying keying = { .report = report,
                             .crash = json_object_get(report, "crash"),
                             .frames = calloc(most + 1, sizeof(struct key_frame)),
                             .key = out };
    bool crashed = json_is_object(keying.crash) && keying.frames != NULL;
    if (crashed) {
        read_key_frames(&keying, frames);
        write_key(&keying);
    }
    for (size_t i = 0; i < keying.count; i++)
        text_deinit(&keying.frames[i].name);
    free(keying.frames);
    if (!crashed || !text_ok(&out->material) || !text_ok(&out->stack) ||
        !text_ok(&out->place)) {
        group_key_deinit(out);
        return false;
    }
    fingerprint_of_bytes(out->material.bytes, out->material.size, out->fingerprint);
    return true;
}

void group_key_deinit(struct group_key *key)
{
    text_deinit(&key->material);
    text_deinit(&key->stack);
    text_deinit(&key->place);
}

enum { LINES_MAX = 16, WEIGHT_FIRST = 1000 };

// similar_stack is the lines of a stack, which the caller's text holds.
struct similar_stack {
    const char *lines[LINES_MAX];
    size_t lengths[LINES_MAX];
    size_t count;
};

static void similar_split(const char *text, struct similar_stack *out)
{
    out->count = 0;
    while (*text != 0 && out->count < LINES_MAX) {
        size_t length = strcspn(text, "\n");
        if (length != 0) {
            out->lines[out->count] = text;
            out->lengths[out->count++] = length;
        }
        text += length + (text[length] != 0);
    }
}

// similar_weight is what the frame at a depth counts.
static int similar_weight(size_t depth)
{
    return WEIGHT_FIRST / (int)(depth + 1);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

// similar_change is what it costs to make one line of the other: nothing where they are
// equal.
static int similar_change(const struct similar_stack *a, size_t i,
                          const struct similar_stack *b, size_t k)
{
    int weight = (similar_weight(i) + similar_weight(k)) / 2;
    size_t length = a->lengths[i];
    if (length == b->lengths[k] && memcmp(a->lines[i], b->lines[k], length) == 0)
        return 0;
    return weight;
}

int similar_percent(const char *first, const char *second)
{
    struct similar_stack a;
    struct similar_stack b;
    int row[LINES_MAX + 1] = { 0 };
    int whole = 0;
    similar_split(first, &a);
    similar_split(second, &b);
    if (a.count == 0 || b.count == 0)
        return 0;
    for (size_t k = 0; k < b.count; k++)
        row[k + 1] = row[k] + similar_weight(k);
    whole = row[b.count];
    for (size_t i = 0; i < a.count; i++) {
        int diagonal = row[0];
        row[0] += similar_weight(i);
        for (size_t k = 0; k < b.count; k++) {
            int changed = diagonal + similar_change(&a, i, &b, k);
            diagonal = row[k + 1];
            row[k + 1] = least(changed, least(row[k + 1] + similar_weight(i),
                                              row[k] + similar_weight(k)));
        }
    }
    whole = whole > row[0] ? whole : row[0];
    return row[b.count] >= whole ? 0 : 100 - 100 * row[b.count] / whole;
}
