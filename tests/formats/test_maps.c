// SPDX-License-Identifier: Apache-2.0
#include "formats/debug/maps.h"

#include <stdio.h>

#include "support/bytes.h"
#include "support/test.h"

static const char three_lines[] =
    "55d0c0000000-55d0c0021000 r-xp 00002000 fe:01 1234                       /bin/x "
    "y\n"
    "7f0000000000-7f0000001000 rw-s 00000000 00:05 77   /memfd:a (deleted)\n"
    "7ffd00000000-7ffd00021000 rw-p 00000000 00:00 0";

static void maps_reads_a_line_field_by_field(void **state)
{
    (void)state;
    struct cursor text = cursor_over(three_lines, strlen(three_lines));
    struct maps_entry e;

    assert_int_equal(maps_next(&text, &e), CH_OK);
    assert_true(e.start == 0x55d0c0000000 && e.end == 0x55d0c0021000);
    assert_int_equal(e.permissions, MAPS_READ | MAPS_EXECUTE);
    assert_int_equal(e.offset, 0x2000);
    assert_int_equal(e.device_major, 0xfe);
    assert_int_equal(e.device_minor, 1);
    assert_int_equal(e.inode, 1234);
    assert_int_equal(e.path_size, strlen("/bin/x y"));
    assert_memory_equal(e.path, "/bin/x y", e.path_size);
    assert_false(e.deleted);
}

static void maps_tells_a_deleted_file_from_its_name(void **state)
{
    (void)state;
    struct cursor text = cursor_over(three_lines, strlen(three_lines));
    struct maps_entry e;

    assert_int_equal(maps_next(&text, &e), CH_OK);
    assert_int_equal(maps_next(&text, &e), CH_OK);
    assert_true(e.deleted);
    assert_int_equal(e.permissions, MAPS_READ | MAPS_WRITE | MAPS_SHARED);
    assert_int_equal(e.path_size, strlen("/memfd:a"));
}

static void maps_reads_a_last_line_without_newline_or_path(void **state)
{
    (void)state;
    struct cursor text = cursor_over(three_lines, strlen(three_lines));
    struct maps_entry e;

    for (int i = 0; i < 3; i++)
        assert_int_equal(maps_next(&text, &e), CH_OK);
    assert_int_equal(e.path_size, 0);
    assert_int_equal(maps_next(&text, &e), CH_END);
}

static void maps_goes_on_behind_a_line_that_is_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "x",
        "1-2",
        "2-1 r--p 0 0:0 0",
        "1-2 rwx 0 0:0 0",
        "1-2 r--p 0 0:0 q",
        "11112222333344445-2 r--p 0 0:0 0",
        "1-2 r--p 0 0:0 99999999999999999999",
        "-2 r--p 0 0:0 0",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char two[128];
        int size = snprintf(two, sizeof(two), "%s\n1-2 r--p 0 0:0 0 /a\n", wrong[i]);
        struct cursor text = cursor_over(two, (size_t)size);
        struct maps_entry e;
        assert_int_equal(maps_next(&text, &e), CH_ERR_MALFORMED);
        assert_int_equal(maps_next(&text, &e), CH_OK);
        assert_int_equal(e.path_size, 2);
    }
}

static void maps_reads_this_process(void **state)
{
    (void)state;
    static char bytes[1 << 20];
    FILE *file = fopen("/proc/self/maps", "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    struct cursor text = cursor_over(bytes, size);
    uint64_t here = (uint64_t)(uintptr_t)maps_reads_this_process;
    struct maps_entry e;
    bool found = false;
    enum ch_status status = maps_next(&text, &e);
    for (; status == CH_OK; status = maps_next(&text, &e))
        found = found || (here >= e.start && here < e.end && e.path_size > 0 &&
                          e.permissions & MAPS_EXECUTE);
    assert_int_equal(status, CH_END);
    assert_true(found);
}

static int drain(const uint8_t *bytes, size_t size, void *context)
{
    struct cursor text = cursor_over(bytes, size);
    struct maps_entry e;
    size_t lines = 0;

    (void)context;
    while (maps_next(&text, &e) != CH_END)
        lines++;
    return lines > size;
}

static void maps_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    const uint8_t *bytes = (const uint8_t *)three_lines;
    assert_int_equal(bytes_cut_everywhere(bytes, strlen(three_lines), drain, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(bytes, strlen(three_lines), drain, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_reads_a_line_field_by_field),
        cmocka_unit_test(maps_tells_a_deleted_file_from_its_name),
        cmocka_unit_test(maps_reads_a_last_line_without_newline_or_path),
        cmocka_unit_test(maps_goes_on_behind_a_line_that_is_none),
        cmocka_unit_test(maps_reads_this_process),
        cmocka_unit_test(maps_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/maps", tests, NULL, NULL);
}
