// SPDX-License-Identifier: Apache-2.0
#include "report/file/pack_values.h"

#include <stdint.h>
#include <string.h>

#include "report/file/pack_table.h"
#include "report/file/report_table.h"
#include "report/file/report_tree.h"

bool pack_is_same(const json_t *a, const json_t *b)
{
    if (a == b)
        return true;
    if (a == NULL || b == NULL || json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_string(a))
        return json_string_length(a) == json_string_length(b) &&
               memcmp(json_string_value(a), json_string_value(b),
                      json_string_length(a)) == 0;
    if (json_is_integer(a))
        return json_integer_value(a) == json_integer_value(b);
    return false; // true, false and null are singletons
}

// is_variable is true if the element can be split into what its place has and what
// differs.
static bool is_variable(const json_t *element)
{
    return json_is_object(element) && json_object_get(element, "varies") == NULL &&
           json_object_get(element, "list") == NULL &&
           json_object_get(element, "inlined") == NULL;
}

bool pack_is_variable_list(const char *key, const json_t *value)
{
    if (json_array_size(value) == 0 ||
        report_table_find(report_table_lists, REPORT_TABLE_LISTS, key) ==
            REPORT_TABLE_LISTS)
        return false;
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!is_variable(json_array_get(value, i)))
            return false;
    return true;
}

static bool member_varies(const char *key)
{
    return report_table_find(report_table_varying, REPORT_TABLE_VARYING, key) !=
           REPORT_TABLE_VARYING;
}

json_t *pack_run_frame(const struct pack_run *run, size_t index)
{
    return json_array_get(run->frames, run->begin + index);
}

// pack_variable is a variable of a frame: which frame of its place, in which list.
struct pack_variable {
    json_t *element;
    size_t inlined; // SIZE_MAX: the function itself
    const char *list;
};

// describes_variable is true if a row of a place's variables is this variable, and all
// members except the values are equal.
static bool describes_variable(const json_t *row, const struct pack_variable *variable)
{
    const json_t *inlined = json_object_get(row, "inlined");
    const char *list = report_string(row, "list");
    const json_t *varying = json_object_get(row, "varies");
    size_t own = 0;
    size_t different = 0;
    const char *key;
    json_t *value;
    if (strcmp(list != NULL ? list : report_table_lists[0], variable->list) != 0 ||
        (inlined != NULL ? (size_t)json_integer_value(inlined) : SIZE_MAX) !=
            variable->inlined)
        return false;
    json_object_foreach(variable->element, key, value)
    {
        if (member_varies(key)) {
            const char *expected =
                json_string_value(json_array_get(varying, different++));
            if (expected == NULL || strcmp(expected, key) != 0)
                return false;
            continue;
        }
        own++;
        if (!pack_is_same(json_object_get(row, key), value))
            return false;
    }
    size_t added = (list != NULL) + (inlined != NULL) + (varying != NULL);
    return different == json_array_size(varying) &&
           own + added == json_object_size(row);
}

// describe_variable makes the row of a variable.
static json_t *describe_variable(const struct pack_variable *variable)
{
    json_t *row = json_object();
    json_t *varying = json_array();
    int failed = row == NULL || varying == NULL;
    const char *key;
    json_t *value;
    json_object_foreach(variable->element, key, value)
    {
        failed |= member_varies(key) ? json_array_append_new(varying, json_string(key))
                                     : json_object_set(row, key, value);
    }
    if (json_array_size(varying) != 0)
        failed |= json_object_set(row, "varies", varying);
    if (variable->list != report_table_lists[0])
        failed |= json_object_set_new(row, "list", json_string(variable->list));
    if (variable->inlined != SIZE_MAX)
        failed |= json_object_set_new(row, "inlined",
                                      json_integer((json_int_t)variable->inlined));
    json_decref(varying);
    if (failed == 0)
        return row;
    json_decref(row);
    return NULL;
}

// variable_number is the index of the variable in its place, or PACK_NONE. It is likely
// to be guess.
static json_int_t variable_number(json_t *place, const struct pack_variable *variable,
                                  size_t guess)
{
    json_t *rows = json_object_get(place, "variables");
    size_t count = json_array_size(rows);
    // The first rows are those of the place's first threads, and fit most other
    // threads. No two of them are of the same variable.
    size_t looked_at = PACK_CANDIDATES * PACK_CANDIDATES;
    looked_at = count < looked_at ? count : looked_at;
    if (guess < looked_at && describes_variable(json_array_get(rows, guess), variable))
        return (json_int_t)guess;
    for (size_t i = 0; i < looked_at; i++)
        if (i != guess && describes_variable(json_array_get(rows, i), variable))
            return (json_int_t)i;
    if (rows == NULL) {
        rows = json_array();
        if (json_object_set_new(place, "variables", rows) != 0)
            return PACK_NONE;
    }
    return json_array_append_new(rows, describe_variable(variable)) == 0
               ? (json_int_t)count
               : PACK_NONE;
}

// pack_variable appends a thread's values of one variable to values, and advances the
// guess which one is next: they have an order.
static int pack_variable(json_t *place, const struct pack_variable *variable,
                         size_t *guess, json_t *values)
{
    json_int_t number = variable_number(place, variable, *guess);
    *guess = (size_t)number + 1;
    json_t *one = json_array();
    int failed = number == PACK_NONE;
    failed |= json_array_append_new(one, json_integer(number));
    const char *key;
    json_t *value;
    json_object_foreach(variable->element, key, value)
    {
        if (member_varies(key))
            failed |= json_array_append(one, value);
    }
    return failed | json_array_append_new(values, one);
}

int pack_run_values(const struct pack_run *run, json_t *place, json_t *values)
{
    size_t count = run->end - run->begin;
    size_t guess = 0;
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *frame = pack_run_frame(run, i);
        for (size_t k = 0; k < REPORT_TABLE_LISTS; k++) {
            const json_t *list = json_object_get(frame, report_table_lists[k]);
            if (list == NULL || !pack_is_variable_list(report_table_lists[k], list))
                continue;
            for (size_t j = 0; j < json_array_size(list); j++) {
                const struct pack_variable variable = {
                    .element = json_array_get(list, j),
                    .inlined = i + 1 < count ? i : SIZE_MAX,
                    .list = report_table_lists[k],
                };
                failed |= pack_variable(place, &variable, &guess, values);
            }
        }
    }
    return failed;
}
