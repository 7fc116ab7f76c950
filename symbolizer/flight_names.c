// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/flight_names.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"

// Reports may be untrusted; the agent has no more rings than this.
enum { THREADS_MAX = 4096 };

// type_is returns true if the argument's C type is one of the words, each in one
// spelling of libctf or DWARF. The upper bits of a register are undefined for a smaller
// type.
static bool type_is(const char *type, const char *const *words)
{
    for (; type != NULL && *words != NULL; words++) {
        if (strcmp(type, *words) == 0)
            return true;
    }
    return false;
}

// make_flight_value converts a register to the form that reports have for a value of
// type.
static json_t *make_flight_value(const char *type, const char *hex)
{
    static const char *const ints[] = { "int", "signed int", NULL };
    static const char *const unsigned_ints[] = { "unsigned int", "uint32_t", NULL };
    static const char *const longs[] = { "long int",
                                         "long",
                                         "long long int",
                                         "long long",
                                         "int64_t",
                                         "ssize_t",
                                         "long unsigned int",
                                         "unsigned long",
                                         "size_t",
                                         "uint64_t",
                                         NULL };
    uint64_t bits = strtoull(hex, NULL, 16);
    size_t length = type != NULL ? strlen(type) : 0;
    if (length != 0 && type[length - 1] == '*')
        return json_pack("{s:s}", "address", hex);
    if (type_is(type, ints))
        return json_integer((int32_t)(uint32_t)bits);
    if (type_is(type, unsigned_ints))
        return json_integer((uint32_t)bits);
    if (type_is(type, longs) && bits <= INT64_MAX)
        return json_integer((json_int_t)bits);
    return json_string(hex); // the register as recorded
}

// first_argument_of gives the frame's argument 0, which it creates if there is none.
// Other frames may share the one that was there, and the list, so both are copied.
static json_t *first_argument_of(json_t *frame)
{
    json_t *arguments = json_object_get(frame, "arguments");
    arguments = json_is_array(arguments) ? json_copy(arguments) : json_array();
    if (json_object_set_new(frame, "arguments", arguments) != 0)
        return NULL;
    for (size_t i = 0; i < json_array_size(arguments); i++) {
        json_t *argument = json_array_get(arguments, i);
        if (json_integer_value(json_object_get(argument, "index")) != 0)
            continue;
        argument = json_copy(argument);
        return json_array_set_new(arguments, i, argument) == 0 ? argument : NULL;
    }
    json_t *made = json_pack("{s:i}", "index", 0);
    return json_array_insert_new(arguments, 0, made) == 0 ? made : NULL;
}

static void add_flight_argument(json_t *frame, const char *hex)
{
    json_t *argument = first_argument_of(frame);
    if (argument == NULL || json_object_get(argument, "entry_value") != NULL)
        return;
    const char *type = json_string_value(json_object_get(argument, "type"));
    (void)json_object_set_new(argument, "entry_value", make_flight_value(type, hex));
    if (json_object_get(argument, "value") != NULL)
        return; // which has its own source
    (void)json_object_set_new(argument, "source", json_string("flight-record"));
    (void)json_object_set_new(argument, "confidence", json_string("proved"));
    (void)json_object_del(argument, "reason");
}

static json_t *thread_of(const json_t *report, json_int_t tid)
{
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads) && i < THREADS_MAX; i++) {
        json_t *thread = json_array_get(threads, i);
        if (json_integer_value(json_object_get(thread, "tid")) == tid)
            return thread;
    }
    return NULL;
}

void flight_arguments_add(json_t *report)
{
    const json_t *threads =
        json_object_get(json_object_get(report, "flight"), "threads");
    for (size_t i = 0; i < json_array_size(threads) && i < THREADS_MAX; i++) {
        const json_t *thread = json_array_get(threads, i);
        const json_t *open = json_object_get(thread, "open");
        json_t *unwound =
            thread_of(report, json_integer_value(json_object_get(thread, "tid")));
        for (size_t k = 0; k < json_array_size(open); k++) {
            const json_t *call = json_array_get(open, k);
            const json_t *at = json_object_get(call, "frame");
            const char *hex = json_string_value(
                json_array_get(json_object_get(call, "arguments"), 0));
            json_int_t number = json_integer_value(at);
            json_t *frame = json_is_integer(at) && number >= 0
                                ? report_own_frame(unwound, (size_t)number)
                                : NULL;
            if (frame != NULL && hex != NULL)
                add_flight_argument(frame, hex);
        }
    }
}

// Reports may be untrusted, so the number of comparisons is bounded. The agent writes
// fewer open calls and has no more rings.
enum { OPEN_MAX = 256, FRAMES_MAX = 16384 };

static size_t at_most(size_t limit, const json_t *array)
{
    size_t count = json_array_size(array);
    return count < limit ? count : limit;
}

json_t *flight_names_functions(const json_t *report)
{
    json_t *functions = json_object_get(json_object_get(report, "flight"), "functions");
    return json_is_object(functions) ? functions : NULL;
}

static const char *flight_string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool flight_names_key(const json_t *report, const json_t *function,
                      char key[FLIGHT_NAMES_KEY])
{
    const char *address = flight_string_of(function, "address");
    const json_t *image = json_object_get(function, "image");
    size_t number = json_is_integer(image) ? (size_t)json_integer_value(image) : 0;
    const json_t *listed = json_array_get(json_object_get(report, "images"), number);
    bool unloaded =
        json_is_integer(image) && json_is_true(json_object_get(listed, "unloaded"));
    int length = snprintf(key, FLIGHT_NAMES_KEY, "%s %zu",
                          address != NULL ? address : "", unloaded ? number + 1 : 0);
    return address != NULL && length < FLIGHT_NAMES_KEY;
}

// names_by_key makes an object that maps the keys of functions to names. A function
// that is inlined at the start of another one is not taken for it.
static json_t *names_by_key(const json_t *report, const json_t *functions)
{
    char key[FLIGHT_NAMES_KEY];
    json_t *names = json_object();
    const json_t *frames = json_object_get(functions, "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        json_t *name = json_object_get(frame, "function");
        if (flight_names_key(report, frame, key) && json_is_string(name) &&
            !json_is_true(json_object_get(frame, "inline")))
            (void)json_object_set(names, key, name);
    }
    return names;
}

// name_calls adds the names to events or open calls.
static enum ch_status name_calls(const json_t *report, const json_t *names,
                                 const json_t *calls)
{
    char key[FLIGHT_NAMES_KEY];
    for (size_t i = 0; i < json_array_size(calls); i++) {
        json_t *call = json_array_get(calls, i);
        json_t *name =
            flight_names_key(report, call, key) ? json_object_get(names, key) : NULL;
        (void)json_object_del(call, "function");
        if (name != NULL && json_object_set(call, "function", name) != 0)
            return CH_ERR_NO_MEMORY;
    }
    return CH_OK;
}

// list_open_calls makes the plain list of open calls: names, or addresses where there
// is no name.
static enum ch_status list_open_calls(json_t *thread, const json_t *open)
{
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(open); i++) {
        const json_t *call = json_array_get(open, i);
        json_t *word = json_object_get(call, "function");
        if (word == NULL)
            word = json_object_get(call, "address");
        json_t *unknown = json_string("0x0");
        (void)json_array_append(list, json_is_string(word) ? word : unknown);
        json_decref(unknown);
    }
    return json_object_set_new(thread, "open_calls", list) == 0 ? CH_OK
                                                                : CH_ERR_NO_MEMORY;
}

static const json_t *named_frames_of(const json_t *report, json_int_t tid)
{
    const json_t *thread = thread_of(report, tid);
    return json_object_get(json_object_get(thread, "backtrace"), "frames");
}

// is_flight_frame_of returns true if frame is one of the call's function: its function
// has the call's entry address or, if it is inlined, the same name.
static bool is_flight_frame_of(const json_t *frame, const json_t *call)
{
    const char *name = flight_string_of(call, "function");
    const char *other = flight_string_of(frame, "function");
    const char *entry = flight_string_of(call, "address");
    const char *address = flight_string_of(frame, "address");
    const json_t *offset = json_object_get(frame, "function_offset");
    if (name != NULL && other != NULL && strcmp(name, other) == 0)
        return true;
    return entry != NULL && address != NULL && json_is_integer(offset) &&
           strtoull(entry, NULL, 16) + (uint64_t)json_integer_value(offset) ==
               strtoull(address, NULL, 16);
}

// compare_open_calls walks both lists from the innermost element outwards. A call
// without a frame was left without an exit record (longjmp), or the unwinder missed its
// frame; both are worth knowing.
static enum ch_status compare_open_calls(json_t *thread, const json_t *open,
                                         const json_t *frames)
{
    size_t at = 0;
    size_t found = 0;
    size_t count = json_array_size(open);
    size_t frame_count = at_most(FRAMES_MAX, frames);
    for (size_t k = 1; k <= at_most(OPEN_MAX, open); k++) {
        json_t *call = json_array_get(open, count - k);
        size_t frame = at;
        (void)json_object_del(call, "frame");
        while (frame < frame_count &&
               !is_flight_frame_of(json_array_get(frames, frame), call))
            frame++;
        if (frame == frame_count)
            continue;
        if (json_object_set_new(call, "frame", json_integer((json_int_t)frame)) != 0)
            return CH_ERR_NO_MEMORY;
        at = frame + 1;
        found++;
    }
    json_t *on_stack = json_integer((json_int_t)found);
    return json_object_set_new(thread, "open_on_stack", on_stack) == 0
               ? CH_OK
               : CH_ERR_NO_MEMORY;
}

static enum ch_status name_flight_thread(const json_t *report, const json_t *names,
                                         json_t *thread)
{
    const json_t *open = json_object_get(thread, "open");
    const json_t *frames =
        named_frames_of(report, json_integer_value(json_object_get(thread, "tid")));
    enum ch_status status =
        name_calls(report, names, json_object_get(thread, "events"));
    if (status == CH_OK)
        status = name_calls(report, names, open);
    if (status == CH_OK && json_is_array(open))
        status = list_open_calls(thread, open);
    // A thread that has ended has no stack.
    bool ended = json_is_true(json_object_get(thread, "ended"));
    if (status == CH_OK && json_is_array(frames) && !ended)
        status = compare_open_calls(thread, open, frames);
    return status;
}

enum ch_status flight_names_write(json_t *report)
{
    const json_t *threads =
        json_object_get(json_object_get(report, "flight"), "threads");
    const json_t *functions = flight_names_functions(report);
    if (functions == NULL)
        return CH_OK;
    json_t *names = names_by_key(report, functions);
    enum ch_status status = names != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    for (size_t i = 0; status == CH_OK && i < at_most(THREADS_MAX, threads); i++)
        status = name_flight_thread(report, names, json_array_get(threads, i));
    json_decref(names);
    return status;
}
