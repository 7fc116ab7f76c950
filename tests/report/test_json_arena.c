// SPDX-License-Identifier: Apache-2.0
#include "report/json/json_arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/test.h"

// MANY values take several blocks, LONG is a string that takes more than the largest.
enum { MANY = 200000, LONG = 6 << 20 };

static json_t *numbers(size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_integer((json_int_t)i));
    return list;
}

static json_t *long_string(void)
{
    char *bytes = malloc(LONG);
    if (bytes == NULL)
        abort();
    memset(bytes, 'x', LONG);
    json_t *string = json_stringn(bytes, LONG);
    free(bytes);
    return string;
}

static void arena_holds_values_of_any_size_and_number(void **state)
{
    (void)state;
    struct json_arena arena = { 0 };
    json_arena_begin(&arena);
    json_t *list = numbers(MANY);
    json_t *string = long_string();
    json_t *after = json_string("after");
    bool aligned = (uintptr_t)after % sizeof(void *) == 0;
    bool kept = json_array_size(list) == MANY && json_string_length(string) == LONG;
    for (size_t i = 0; i < MANY; i++)
        kept = kept && json_integer_value(json_array_get(list, i)) == (json_int_t)i;
    kept = kept && strcmp(json_string_value(after), "after") == 0;
    json_arena_drop(&arena, list);
    json_decref(string);
    json_arena_drop(&arena, after);
    json_arena_end(&arena);
    assert_true(kept);
    assert_true(aligned);
}

static void arena_that_ended_is_empty_and_may_begin_again(void **state)
{
    (void)state;
    struct json_arena arena = { 0 };
    for (size_t i = 0; i < 3; i++) {
        json_arena_begin(&arena);
        json_decref(numbers(10));
        json_arena_end(&arena);
        json_arena_end(&arena);
    }
    assert_null(arena.last);
}

static void arena_leaves_alone_what_is_made_without_one(void **state)
{
    (void)state;
    struct json_arena arena = { 0 };
    json_t *before = numbers(10);
    json_arena_begin(&arena);
    json_decref(numbers(10));
    json_arena_end(&arena);
    json_t *after = numbers(10);
    bool equal = json_equal(before, after) == 1;
    json_decref(before);
    json_decref(after);
    assert_true(equal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_holds_values_of_any_size_and_number),
        cmocka_unit_test(arena_that_ended_is_empty_and_may_begin_again),
        cmocka_unit_test(arena_leaves_alone_what_is_made_without_one),
    };
    json_arena_install();
    return cmocka_run_group_tests_name("report/json_arena", tests, NULL, NULL);
}
