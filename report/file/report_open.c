// SPDX-License-Identifier: Apache-2.0
//
// How it works (report_open):
// 1. open_places prepares each place: frames of inlined calls get the members of their
//    place, and the variables of a place are looked at once (prepare_variables).
// 2. open_stacks turns the numbers in each stack into frames; equal places share one
//    JSON value. `elements` keeps the numbers until step 3.
// 3. open_report_threads gives each thread, then each goroutine, its backtrace, and
//    puts the thread's values into copies of the frames that they belong to
//    (open_values). Frames without values stay shared.
//
// Limits: count_opened_frames counts each frame once per occurrence, count_members the
// members of copies; both bound what a small file can become. With `brief`, values are
// checked, but only those of the crashed thread are put into frames.
//
// A check that fails writes the reason into report_error. The report is then half
// changed, and the caller drops it.
#include "report/file/report_open.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/file/report_shape.h"
#include "report/file/report_tree.h"

void report_error_set(struct report_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof(error->text), format, arguments);
    va_end(arguments);
}

void report_error_within(struct report_error *error, const char *where, size_t index)
{
    struct report_error inner = *error;
    report_error_set(error, "%s[%zu].%.200s", where, index, inner.text);
}

// open_report_variable is a variable of a place, looked at once for all its values.
struct open_report_variable {
    const json_t *object; // NULL: the table has something else there
    const json_t *varies;
    const char *list; // the member of its frame that it belongs to; NULL: none such
    size_t call;      // the inlined call that it is of, or how many there are
    bool named;       // varies holds names alone
};

// open_report_place is a place, ready to be put into stacks.
struct open_report_place {
    json_t *frame;     // of the function itself; borrowed from the table
    json_t *inlined;   // frames of the calls inlined there, innermost first; NULL: none
    json_t *variables; // variables that the values of frames here refer to; NULL: none
    struct open_report_variable *prepared; // the same
};

struct opening {
    struct open_report_place *places;
    size_t place_count;
    json_t *stacks; // each of them turned into a backtrace
    bool brief;     // values are checked, those of the crashed thread alone are stored
    bool keeping;   // the values of the thread that is opened
    size_t frames;  // in all threads, so far
    size_t members; // of objects that were copied, so far
    struct report_error *error;
};

static enum ch_status open_refuse(const struct opening *opening, const char *why)
{
    report_error_set(opening->error, "%s", why);
    return CH_ERR_MALFORMED;
}

// take_member removes member key from object and passes its ownership; NULL: there is
// none.
static json_t *take_member(json_t *object, const char *key)
{
    json_t *value = json_incref(json_object_get(object, key));
    (void)json_object_del(object, key);
    return value;
}

// count_members limits the objects that are made from one of the file's: a few bytes of
// a value make a whole frame a copy.
static enum ch_status count_members(struct opening *opening, const json_t *object)
{
    opening->members += json_object_size(object) + 1;
    if (opening->members <= REPORT_MEMBERS_MAX)
        return CH_OK;
    report_error_set(opening->error, "its values take more than %d members",
                     REPORT_MEMBERS_MAX);
    return CH_ERR_LIMIT;
}

// open_inlined completes the frame of an inlined call with the members of its place.
static json_t *open_inlined(const json_t *place, const json_t *call)
{
    json_t *frame = json_object();
    int failed = frame == NULL;
    for (size_t i = 0; i < REPORT_TABLE_REPEATED; i++) {
        json_t *value = json_object_get(place, report_table_repeated[i]);
        if (value != NULL)
            failed |= json_object_set(frame, report_table_repeated[i], value);
    }
    failed |= json_object_update(frame, (json_t *)(uintptr_t)call);
    if (failed == 0)
        return frame;
    json_decref(frame);
    return NULL;
}

// open_inlined_calls replaces the calls in an array by their frames.
static enum ch_status open_inlined_calls(struct opening *opening, const json_t *place,
                                         json_t *calls)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        if (!json_is_object(call))
            return open_refuse(opening, "inlined holds what is no object");
        enum ch_status status = count_members(opening, place);
        if (status != CH_OK)
            return status;
        json_t *frame = open_inlined(place, call);
        if (frame == NULL || json_array_set_new(calls, i, frame) != 0)
            return CH_ERR_NO_MEMORY;
    }
    return CH_OK;
}

// open_list_key names the list of a frame that variable belongs to; NULL: there is no
// such list.
static const char *open_list_key(const json_t *variable)
{
    const char *key = json_string_value(json_object_get(variable, "list"));
    size_t index = key != NULL
                       ? report_table_find(report_table_lists, REPORT_TABLE_LISTS, key)
                       : 0;
    return index < REPORT_TABLE_LISTS ? report_table_lists[index] : NULL;
}

static struct open_report_variable prepared_variable(const json_t *variable,
                                                     size_t calls)
{
    const json_t *inlined = json_object_get(variable, "inlined");
    struct open_report_variable out = {
        .object = json_is_object(variable) ? variable : NULL,
        .varies = json_object_get(variable, "varies"),
        .list = open_list_key(variable),
        .call = json_is_integer(inlined) ? (size_t)json_integer_value(inlined) : calls,
        .named = true,
    };
    for (size_t i = 0; i < json_array_size(out.varies); i++)
        out.named = out.named && json_is_string(json_array_get(out.varies, i));
    return out;
}

static enum ch_status prepare_variables(struct open_report_place *place)
{
    size_t count = json_array_size(place->variables);
    if (count == 0)
        return CH_OK;
    place->prepared = calloc(count, sizeof(*place->prepared));
    if (place->prepared == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        place->prepared[i] = prepared_variable(json_array_get(place->variables, i),
                                               json_array_size(place->inlined));
    return CH_OK;
}

static enum ch_status open_report_place(struct opening *opening, json_t *place)
{
    struct open_report_place *out = &opening->places[opening->place_count];
    if (!json_is_object(place))
        return open_refuse(opening, "it is not an object");
    out->frame = place;
    out->inlined = take_member(place, "inlined");
    out->variables = take_member(place, "variables");
    opening->place_count++; // from here on opening_deinit frees both
    if ((out->inlined != NULL && !json_is_array(out->inlined)) ||
        (out->variables != NULL && !json_is_array(out->variables)))
        return open_refuse(opening, "inlined or variables is not an array");
    enum ch_status status = prepare_variables(out);
    return status == CH_OK ? open_inlined_calls(opening, place, out->inlined) : status;
}

static enum ch_status open_places(struct opening *opening, const json_t *places)
{
    size_t count = json_array_size(places);
    opening->places = calloc(count + 1, sizeof(*opening->places));
    if (opening->places == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        enum ch_status status = open_report_place(opening, json_array_get(places, i));
        if (status != CH_OK) {
            report_error_within(opening->error, "places", i);
            return status;
        }
    }
    return CH_OK;
}

// open_place_at is the place that an element of a stack's frames names, or NULL.
static const struct open_report_place *open_place_at(const struct opening *opening,
                                                     const json_t *element)
{
    json_int_t number = json_integer_value(element);
    if (!json_is_integer(element) || number < 0 ||
        (uint64_t)number >= opening->place_count)
        return NULL;
    return &opening->places[number];
}

// count_opened_frames limits what opening makes: each frame counts once per occurrence.
static enum ch_status count_opened_frames(struct opening *opening, size_t count)
{
    if (count > REPORT_FRAMES_MAX - opening->frames) {
        report_error_set(opening->error, "its threads have more than %d frames",
                         REPORT_FRAMES_MAX);
        return CH_ERR_LIMIT;
    }
    opening->frames += count;
    return CH_OK;
}

// open_element appends the frames that one element of a stack stands for.
static enum ch_status open_element(struct opening *opening, json_t *element,
                                   json_t *frames)
{
    const struct open_report_place *place = open_place_at(opening, element);
    if (place == NULL && !json_is_object(element))
        return open_refuse(opening, "frames holds what is no place");
    enum ch_status status = count_opened_frames(
        opening, 1 + json_array_size(place != NULL ? place->inlined : NULL));
    if (status != CH_OK)
        return status;
    json_t *frame = place != NULL ? place->frame : element;
    if ((place != NULL && place->inlined != NULL &&
         json_array_extend(frames, place->inlined) != 0) ||
        json_array_append(frames, frame) != 0)
        return CH_ERR_NO_MEMORY;
    return CH_OK;
}

// open_stack turns a stack into a backtrace of version 1. `elements` keeps the numbers
// of places until the threads have their values.
static enum ch_status open_stack(struct opening *opening, json_t *stack)
{
    json_t *elements = json_object_get(stack, "frames");
    if (!json_is_object(stack))
        return open_refuse(opening, "it is not an object");
    if (elements == NULL)
        return CH_OK; // its CBF has the frames
    if (!json_is_array(elements))
        return open_refuse(opening, "frames is not an array");
    json_t *frames = json_array();
    enum ch_status status = frames != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    for (size_t i = 0; status == CH_OK && i < json_array_size(elements); i++)
        status = open_element(opening, json_array_get(elements, i), frames);
    if (status != CH_OK) {
        json_decref(frames);
        return status;
    }
    return json_object_set(stack, "elements", elements) == 0 &&
                   json_object_set_new(stack, "frames", frames) == 0
               ? CH_OK
               : CH_ERR_NO_MEMORY;
}

static enum ch_status open_stacks(struct opening *opening)
{
    for (size_t i = 0; i < json_array_size(opening->stacks); i++) {
        enum ch_status status = open_stack(opening, json_array_get(opening->stacks, i));
        if (status != CH_OK) {
            report_error_within(opening->error, "stacks", i);
            return status;
        }
    }
    // From here on only the frames of the threads count.
    opening->frames = 0;
    return CH_OK;
}

// open_position is a position in a stack: an element, and the first of its frames.
struct open_position {
    size_t element;
    size_t frame;
};

// advance_opening moves a position forward to element; false: the element is before it,
// or does not exist.
static bool advance_opening(const struct opening *opening, const json_t *elements,
                            json_int_t element, struct open_position *at)
{
    if (element < 0 || (uint64_t)element < at->element ||
        (uint64_t)element >= json_array_size(elements))
        return false;
    for (; at->element < (uint64_t)element; at->element++) {
        const struct open_report_place *place =
            open_place_at(opening, json_array_get(elements, at->element));
        at->frame += 1 + json_array_size(place != NULL ? place->inlined : NULL);
    }
    return true;
}

// is_of_table is true for the members of a variable that say how values belong to it.
static bool is_of_table(const char *key)
{
    return strcmp(key, "varies") == 0 || strcmp(key, "list") == 0 ||
           strcmp(key, "inlined") == 0;
}

// open_variable completes a variable with a thread's values of it. NULL: memory is
// short.
static json_t *open_variable(const struct open_report_variable *variable,
                             const json_t *value)
{
    json_t *whole = json_object();
    const char *key;
    json_t *member;
    int failed = whole == NULL;
    json_object_foreach((json_t *)(uintptr_t)variable->object, key, member)
    {
        if (!is_of_table(key))
            failed |= json_object_set_nocheck(whole, key, member);
    }
    for (size_t i = 0; i < json_array_size(variable->varies); i++) {
        key = json_string_value(json_array_get(variable->varies, i));
        if (!is_of_table(key))
            failed |= json_object_set(whole, key, json_array_get(value, i + 1));
    }
    if (failed == 0)
        return whole;
    json_decref(whole);
    return NULL;
}

// open_list_of is the array of frame that key names; it is created if it is missing.
static json_t *open_list_of(json_t *frame, const char *key)
{
    json_t *list = json_object_get(frame, key);
    if (json_is_array(list))
        return list;
    list = json_array();
    return json_object_set_new(frame, key, list) == 0 ? list : NULL;
}

// put_open_value puts a value that was checked into the frame.
static enum ch_status put_open_value(json_t *frame,
                                     const struct open_report_variable *variable,
                                     const json_t *value)
{
    json_t *list = open_list_of(frame, variable->list);
    json_t *whole = open_variable(variable, value);
    if (list != NULL && whole != NULL && json_array_append_new(list, whole) == 0)
        return CH_OK;
    if (list == NULL)
        json_decref(whole);
    return CH_ERR_NO_MEMORY;
}

// open_variable_at is the variable of place that a value names, or NULL.
static const struct open_report_variable *
open_variable_at(const struct open_report_place *place, const json_t *value)
{
    const json_t *number = json_array_get(value, 0);
    json_int_t index = json_integer_value(number);
    if (!json_is_integer(number) || index < 0 ||
        (uint64_t)index >= json_array_size(place->variables))
        return NULL;
    return &place->prepared[index];
}

// open_thread_value puts one value into its frame. at is the first frame of its place.
static enum ch_status open_thread_value(struct opening *opening, json_t *thread,
                                        const struct open_report_place *place,
                                        size_t at, const json_t *value)
{
    const struct open_report_variable *variable = open_variable_at(place, value);
    size_t calls = json_array_size(place->inlined);
    if (variable == NULL || variable->object == NULL || variable->call > calls)
        return open_refuse(opening, "values names a variable that is not there");
    if (variable->list == NULL || !variable->named ||
        json_array_size(value) <= json_array_size(variable->varies))
        return open_refuse(opening, "values are not those that the variable has");
    enum ch_status status = count_members(
        opening, variable->call < calls ? json_array_get(place->inlined, variable->call)
                                        : place->frame);
    if (status == CH_OK)
        status = count_members(opening, variable->object);
    if (status != CH_OK || !opening->keeping)
        return status;
    json_t *frame = report_own_frame(thread, at + variable->call);
    return put_open_value(frame, variable, value);
}

// open_frame_values puts the values of one element of thread's stack into its frames.
static enum ch_status open_frame_values(struct opening *opening, json_t *thread,
                                        const json_t *elements, const json_t *values,
                                        struct open_position *at)
{
    const json_t *number = json_array_get(values, 0);
    if (!json_is_integer(number) ||
        !advance_opening(opening, elements, json_integer_value(number), at))
        return open_refuse(opening, "values is of a frame that is not there");
    const struct open_report_place *place =
        open_place_at(opening, json_array_get(elements, at->element));
    enum ch_status status =
        place != NULL ? CH_OK : open_refuse(opening, "values is of frames left out");
    for (size_t i = 1; status == CH_OK && i < json_array_size(values); i++)
        status = open_thread_value(opening, thread, place, at->frame,
                                   json_array_get(values, i));
    return status;
}

static enum ch_status open_values(struct opening *opening, json_t *thread)
{
    const json_t *values = json_object_get(thread, "values");
    const json_t *elements =
        json_object_get(json_object_get(thread, "backtrace"), "elements");
    opening->keeping = !opening->brief || report_flag(thread, "crashed");
    struct open_position at = { 0 };
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < json_array_size(values); i++)
        status = open_frame_values(opening, thread, elements, json_array_get(values, i),
                                   &at);
    // Freeing values takes as long as checking them, and a brief report goes as a
    // whole.
    if (!opening->brief)
        (void)json_object_del(thread, "values");
    return status;
}

static enum ch_status open_thread(struct opening *opening, json_t *thread)
{
    json_t *number = json_object_get(thread, "stack");
    if (!json_is_object(thread))
        return open_refuse(opening, "it is not an object");
    if (number == NULL)
        return CH_OK;
    json_t *stack =
        json_is_integer(number) && json_integer_value(number) >= 0
            ? json_array_get(opening->stacks, (size_t)json_integer_value(number))
            : NULL;
    if (stack == NULL)
        return open_refuse(opening, "stack is not in the list of stacks");
    enum ch_status status =
        count_opened_frames(opening, json_array_size(json_object_get(stack, "frames")));
    if (status != CH_OK)
        return status;
    (void)json_object_del(thread, "stack");
    if (json_object_set(thread, "backtrace", stack) != 0)
        return CH_ERR_NO_MEMORY;
    return open_values(opening, thread);
}

// forget_elements removes the numbers of a stack's places, which its frames replace.
static void forget_elements(json_t *stack)
{
    (void)json_object_del(stack, "elements");
}

static enum ch_status open_report_threads(struct opening *opening, json_t *threads)
{
    enum ch_status status = CH_OK;
    for (size_t i = 0; status == CH_OK && i < json_array_size(threads); i++) {
        json_t *thread = json_array_get(threads, i);
        status = open_thread(opening, thread);
        if (status != CH_OK)
            report_error_within(opening->error, "threads", i);
        json_t *backtrace = json_object_get(thread, "backtrace");
        if (backtrace != NULL && backtrace->refcount == 1)
            forget_elements(backtrace);
    }
    for (size_t i = 0; i < json_array_size(opening->stacks); i++)
        forget_elements(json_array_get(opening->stacks, i));
    return status;
}

static void opening_deinit(struct opening *opening)
{
    for (size_t i = 0; i < opening->place_count; i++) {
        json_decref(opening->places[i].inlined);
        json_decref(opening->places[i].variables);
        free(opening->places[i].prepared);
    }
    free(opening->places);
    json_decref(opening->stacks);
}

enum ch_status report_open(json_t *report, bool brief, struct report_error *error)
{
    json_t *places = take_member(report, "places");
    struct opening opening = { .stacks = take_member(report, "stacks"),
                               .brief = brief,
                               .error = error };
    enum ch_status status = CH_OK;
    if (!json_is_array(places) || !json_is_array(opening.stacks))
        status = open_refuse(&opening, "places or stacks is not an array");
    if (status == CH_OK)
        status = open_places(&opening, places);
    if (status == CH_OK)
        status = open_stacks(&opening);
    if (status == CH_OK)
        status = open_report_threads(&opening, json_object_get(report, "threads"));
    if (status == CH_OK)
        status = open_report_threads(&opening, json_object_get(report, "goroutines"));
    if (status == CH_ERR_NO_MEMORY)
        report_error_set(error, "out of memory");
    opening_deinit(&opening);
    json_decref(places);
    return status;
}

json_t *report_own_frames(json_t *thread)
{
    json_t *backtrace = json_object_get(thread, "backtrace");
    json_t *frames = json_object_get(backtrace, "frames");
    if (!json_is_array(frames))
        return NULL;
    if (backtrace->refcount > 1) {
        backtrace = json_copy(backtrace);
        if (json_object_set_new(thread, "backtrace", backtrace) != 0)
            return NULL;
    }
    if (frames->refcount == 1)
        return frames;
    frames = json_copy(frames);
    return json_object_set_new(backtrace, "frames", frames) == 0 ? frames : NULL;
}

json_t *report_own_frame(json_t *thread, size_t index)
{
    json_t *frames = report_own_frames(thread);
    json_t *frame = json_array_get(frames, index);
    if (frame == NULL || frame->refcount == 1)
        return frame;
    frame = json_copy(frame);
    return json_array_set_new(frames, index, frame) == 0 ? frame : NULL;
}
