// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/flight_arguments.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/value/report.h"

// Reports may be untrusted; the agent has no more rings than this.
enum { THREADS_MAX = 4096 };

// type_is says whether the argument's C type is one of the words, each in one spelling
// of libctf or DWARF. The upper bits of a register are undefined for a smaller type.
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
