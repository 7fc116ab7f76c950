// SPDX-License-Identifier: Apache-2.0
#include "formats/runtime/jitdump.h"

#include <inttypes.h>
#include <stdio.h>

#include "support/test.h"

// listed is the entries of a map, as `start+size name;` each.
static const char *listed(const char *bytes, size_t size)
{
    static char text[512];
    struct cursor c = cursor_over(bytes, size);
    struct perf_map_entry entry;
    size_t used = 0;
    text[0] = 0;
    while (perf_map_next(&c, &entry) == CH_OK && used < sizeof(text))
        used += (size_t)snprintf(text + used, sizeof(text) - used,
                                 "%" PRIx64 "+%" PRIx64 " %.*s;", entry.start,
                                 entry.size, (int)entry.name_size, entry.name);
    return text;
}

static const char *of(const char *map)
{
    return listed(map, strlen(map));
}

static void lines_are_a_start_a_size_and_a_name_with_spaces(void **state)
{
    (void)state;
    assert_string_equal(of("7f00 1a JS:*f /a b.js:1:2\n0xAB0 0x10 g\n"),
                        "7f00+1a JS:*f /a b.js:1:2;ab0+10 g;");
}

static void the_last_line_may_have_no_end(void **state)
{
    (void)state;
    assert_string_equal(of("1 2 f"), "1+2 f;");
}

static void lines_of_another_form_are_passed_over(void **state)
{
    (void)state;
    assert_string_equal(of("\n\n# f\n1 2\n1 2 \nx 2 f\n1 0 f\n1 11111111111111111 f\n"
                           "-1 2 f\n 1 2 f\n3 4 g\n"),
                        "3+4 g;");
}

static void bytes_that_are_no_text_are_part_of_a_name(void **state)
{
    (void)state;
    assert_string_equal(listed("1 2 \xff\x01\n3 4 g", 13), "1+2 \xff\x01;3+4 g;");
}

static void a_map_that_is_cut_has_a_shorter_last_line(void **state)
{
    (void)state;
    static const char map[] = "10 20 first\n30 40 second\n";
    for (size_t size = 0; size < sizeof(map); size++) {
        struct cursor c = cursor_over(map, size);
        struct perf_map_entry entry;
        size_t count = 0;
        while (perf_map_next(&c, &entry) == CH_OK) {
            assert_true(entry.name + entry.name_size <= map + size);
            count++;
        }
        assert_true(count <= 2);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_a_start_a_size_and_a_name_with_spaces),
        cmocka_unit_test(the_last_line_may_have_no_end),
        cmocka_unit_test(lines_of_another_form_are_passed_over),
        cmocka_unit_test(bytes_that_are_no_text_are_part_of_a_name),
        cmocka_unit_test(a_map_that_is_cut_has_a_shorter_last_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
