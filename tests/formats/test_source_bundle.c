// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/source_bundle.h"

#include <string.h>

#include "support/bytes.h"
#include "support/test.h"

// The two examples of docs/formats/source-bundle.md.
static const char empty[] = "crashhook sources 1\n\n";
static const char two_files[] = "crashhook sources 1\n"
                                "7 /src/a.c\n"
                                "2 /src/b b.h\n"
                                "\n"
                                "int a;\n"
                                "b\n";

static enum ch_status check(const char *bundle)
{
    return source_bundle_check(bundle, strlen(bundle));
}

static void source_bundle_of_no_files_is_an_index_alone(void **state)
{
    (void)state;
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    assert_int_equal(source_bundle_read(&reader, empty, strlen(empty)), CH_OK);
    assert_int_equal(source_bundle_next(&reader, &file), CH_END);
    assert_int_equal(source_bundle_index_size(&reader), strlen(empty));
    assert_int_equal(check(empty), CH_OK);
}

static void source_bundle_says_where_each_file_lies(void **state)
{
    (void)state;
    struct source_bundle_reader reader;
    struct source_bundle_file a;
    struct source_bundle_file b;
    struct source_bundle_file end;
    assert_int_equal(source_bundle_read(&reader, two_files, strlen(two_files)), CH_OK);
    assert_int_equal(source_bundle_next(&reader, &a), CH_OK);
    assert_int_equal(source_bundle_next(&reader, &b), CH_OK);
    assert_int_equal(source_bundle_next(&reader, &end), CH_END);
    const char *contents = two_files + source_bundle_index_size(&reader);
    assert_int_equal(a.path_size, strlen("/src/a.c"));
    assert_memory_equal(a.path, "/src/a.c", a.path_size);
    assert_memory_equal(contents + a.offset, "int a;\n", a.size);
    assert_memory_equal(b.path, "/src/b b.h", b.path_size);
    assert_string_equal(contents + b.offset, "b\n");
    assert_int_equal(check(two_files), CH_OK);
}

static void source_bundle_writes_what_it_reads(void **state)
{
    (void)state;
    struct text out = { 0 };
    source_bundle_write_begin(&out);
    enum ch_status first = source_bundle_write_file(&out, "/src/a.c", 7);
    enum ch_status second = source_bundle_write_file(&out, "/src/b b.h", 2);
    source_bundle_write_end(&out);
    text_append_string(&out, "int a;\nb\n");
    bool same = strcmp(out.bytes, two_files) == 0;
    text_deinit(&out);
    assert_int_equal(first, CH_OK);
    assert_int_equal(second, CH_OK);
    assert_true(same);
}

static void source_bundle_leaves_out_paths_that_no_line_holds(void **state)
{
    (void)state;
    struct text out = { 0 };
    enum ch_status two_lines = source_bundle_write_file(&out, "a\nb", 1);
    enum ch_status nameless = source_bundle_write_file(&out, "", 1);
    size_t written = out.size;
    text_deinit(&out);
    assert_int_equal(two_lines, CH_ERR_MALFORMED);
    assert_int_equal(nameless, CH_ERR_MALFORMED);
    assert_int_equal(written, 0);
}

static void source_bundle_refuses_what_it_does_not_account_for(void **state)
{
    (void)state;
    assert_int_equal(check(""), CH_ERR_UNSUPPORTED);
    assert_int_equal(check("crashhook sources 2\n\n"), CH_ERR_UNSUPPORTED);
    assert_int_equal(check("crashhook sources 1\n3 a\n\nxx"), CH_ERR_TRUNCATED);
    assert_int_equal(check("crashhook sources 1\n1 a\n\nxx"), CH_ERR_MALFORMED);
    assert_int_equal(check("crashhook sources 1\n1 a\n"), CH_ERR_TRUNCATED);
    assert_int_equal(check("crashhook sources 1\n1\n\nx"), CH_ERR_MALFORMED);
    assert_int_equal(check("crashhook sources 1\n1 \n\nx"), CH_ERR_MALFORMED);
    assert_int_equal(check("crashhook sources 1\n-1 a\n\n"), CH_ERR_MALFORMED);
    assert_int_equal(check("crashhook sources 1\n0x1 a\n\nx"), CH_ERR_MALFORMED);
    static const char nul[] = "crashhook sources 1\n1 a\0b\n\nx";
    assert_int_equal(source_bundle_check(nul, sizeof(nul) - 1), CH_ERR_MALFORMED);
}

static bool holds(const char *bundle, const char *path, const char *text)
{
    struct cursor found;
    return source_bundle_find(cursor_over(bundle, strlen(bundle)), path, &found) &&
           cursor_left(&found) == strlen(text) &&
           memcmp(found.at, text, strlen(text)) == 0;
}

static void source_bundle_finds_a_file_and_joins_its_parts(void **state)
{
    (void)state;
    struct cursor found;
    static const char parts[] =
        "crashhook sources 1\n1 /a\n2 /b\n3 /b\n1 /c\n\nabbbbbc";
    assert_true(holds(two_files, "/src/b b.h", "b\n"));
    assert_true(holds(parts, "/a", "a"));
    assert_true(holds(parts, "/b", "bbbbb"));
    assert_true(holds(parts, "/c", "c"));
    assert_false(
        source_bundle_find(cursor_over(parts, sizeof(parts) - 1), "/", &found));
    for (size_t size = 0; size < sizeof(parts) - 2; size++)
        assert_false(source_bundle_find(cursor_over(parts, size), "/c", &found));
}

static void source_bundle_stops_at_its_limits(void **state)
{
    (void)state;
    assert_int_equal(check("crashhook sources 1\n16777217 a\n\n"), CH_ERR_LIMIT);
    assert_int_equal(check("crashhook sources 1\n18446744073709551617 a\n\n"),
                     CH_ERR_MALFORMED);
    struct text bundle = { 0 };
    source_bundle_write_begin(&bundle);
    for (size_t i = 0; i <= SOURCE_BUNDLE_FILES; i++)
        text_append_string(&bundle, "0 a\n");
    source_bundle_write_end(&bundle);
    enum ch_status many = source_bundle_check(bundle.bytes, bundle.size);
    text_clear(&bundle);
    source_bundle_write_begin(&bundle);
    text_append_string(&bundle, "0 ");
    for (size_t i = 0; i <= SOURCE_BUNDLE_PATH_BYTES + 16; i++)
        text_append_string(&bundle, "a");
    text_append_string(&bundle, "\n\n");
    enum ch_status long_path = source_bundle_check(bundle.bytes, bundle.size);
    text_deinit(&bundle);
    assert_int_equal(many, CH_ERR_LIMIT);
    assert_int_equal(long_path, CH_ERR_LIMIT);
}

static int drain(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    struct source_bundle_reader reader;
    struct source_bundle_file file;
    enum ch_status status = source_bundle_read(&reader, bytes, size);
    while (status == CH_OK) {
        status = source_bundle_next(&reader, &file);
        if (status == CH_OK && memchr(file.path, '\n', file.path_size) != NULL)
            return 1;
    }
    // What is cut is noticed; a flipped bit may make another bundle.
    return size < strlen(two_files) && source_bundle_check(bytes, size) == CH_OK;
}

static void source_bundle_survives_every_cut_and_flipped_bit(void **state)
{
    (void)state;
    const uint8_t *bytes = (const uint8_t *)two_files;
    assert_int_equal(bytes_cut_everywhere(bytes, strlen(two_files), drain, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(bytes, strlen(two_files), drain, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_bundle_of_no_files_is_an_index_alone),
        cmocka_unit_test(source_bundle_says_where_each_file_lies),
        cmocka_unit_test(source_bundle_writes_what_it_reads),
        cmocka_unit_test(source_bundle_leaves_out_paths_that_no_line_holds),
        cmocka_unit_test(source_bundle_refuses_what_it_does_not_account_for),
        cmocka_unit_test(source_bundle_finds_a_file_and_joins_its_parts),
        cmocka_unit_test(source_bundle_stops_at_its_limits),
        cmocka_unit_test(source_bundle_survives_every_cut_and_flipped_bit),
    };
    return cmocka_run_group_tests_name("formats/source_bundle", tests, NULL, NULL);
}
