// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/build_sources.h"
#include "collector/symbols/symbol_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

enum { LINES = 20000 };

// A symbols folder with one bundle, of build ID abcd.
struct folder {
    char path[64];
    char file[128];
    struct build_sources sources;
    struct source_lines lines;
};

static int set_up(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    if (folder == NULL)
        return -1;
    snprintf(folder->path, sizeof(folder->path), "/tmp/crashhook-sources-XXXXXX");
    if (mkdtemp(folder->path) == NULL)
        return -1;
    snprintf(folder->file, sizeof(folder->file), "%s/.build-id", folder->path);
    if (mkdir(folder->file, 0700) != 0)
        return -1;
    snprintf(folder->file, sizeof(folder->file), "%s/.build-id/ab", folder->path);
    if (mkdir(folder->file, 0700) != 0)
        return -1;
    snprintf(folder->file, sizeof(folder->file), "%s/.build-id/ab/cd.sources",
             folder->path);
    folder->sources.fd = -1;
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    struct folder *folder = *state;
    build_sources_close(&folder->sources);
    unlink(folder->file);
    *strrchr(folder->file, '/') = 0;
    rmdir(folder->file);
    *strrchr(folder->file, '/') = 0;
    rmdir(folder->file);
    rmdir(folder->path);
    free(folder);
    return 0;
}

// put writes a bundle of one file in front of another, and opens it.
static bool put(struct folder *folder, const char *name, const char *bytes, size_t size)
{
    FILE *file = fopen(folder->file, "w");
    if (file == NULL)
        return false;
    fprintf(file, "crashhook sources 1\n%zu %s\n5 /other.c\n\n", size, name);
    fwrite(bytes, 1, size, file);
    fputs("other", file);
    fclose(file);
    return build_sources_open(&folder->sources,
                              symbol_folder_open(folder->path, SYMBOL_SOURCES, "abcd"));
}

static enum ch_status look(struct folder *folder, const char *name, uint64_t line)
{
    return build_sources_lines(&folder->sources, name, line, &folder->lines);
}

static void build_sources_give_the_lines_around_one(void **state)
{
    struct folder *folder = *state;
    static const char text[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n";
    assert_true(put(folder, "/a.c", text, sizeof(text) - 1));
    assert_int_equal(look(folder, "/a.c", 7), CH_OK);
    assert_int_equal(folder->lines.first, 2);
    assert_int_equal(folder->lines.count, 11);
    assert_string_equal(folder->lines.lines[0], "2");
    assert_string_equal(folder->lines.lines[5], "7");
    assert_string_equal(folder->lines.lines[10], "12");
}

static void build_sources_end_where_the_file_does(void **state)
{
    struct folder *folder = *state;
    static const char text[] = "1\n2\n3\n4\n5\n6\n7\n";
    assert_true(put(folder, "/a.c", text, sizeof(text) - 1));
    assert_int_equal(look(folder, "/a.c", 1), CH_OK);
    assert_int_equal(folder->lines.first, 1);
    assert_int_equal(folder->lines.count, 6);
    assert_int_equal(look(folder, "/a.c", 7), CH_OK);
    assert_int_equal(folder->lines.first, 2);
    assert_int_equal(folder->lines.count, 6);
    assert_string_equal(folder->lines.lines[5], "7");
    assert_int_equal(look(folder, "/a.c", 8), CH_ERR_NOT_FOUND);
    assert_int_equal(look(folder, "/a.c", 0), CH_ERR_NOT_FOUND);
    assert_int_equal(look(folder, "/a.c", UINT64_MAX), CH_ERR_NOT_FOUND);
    assert_int_equal(look(folder, "/other.c", 1), CH_OK);
    assert_int_equal(folder->lines.count, 1);
    assert_string_equal(folder->lines.lines[0], "other");
}

static void build_sources_of_an_empty_file_have_no_line(void **state)
{
    struct folder *folder = *state;
    assert_true(put(folder, "/a.c", "", 0));
    assert_int_equal(look(folder, "/a.c", 1), CH_ERR_NOT_FOUND);
}

static void build_sources_take_off_carriage_returns_and_show_nuls(void **state)
{
    struct folder *folder = *state;
    static const char text[] = "a\r\nb\0c\r\n\r\nd";
    assert_true(put(folder, "/a.c", text, sizeof(text) - 1));
    assert_int_equal(look(folder, "/a.c", 1), CH_OK);
    assert_int_equal(folder->lines.count, 4);
    assert_string_equal(folder->lines.lines[0], "a");
    assert_string_equal(folder->lines.lines[1], "b\uFFFDc");
    assert_string_equal(folder->lines.lines[2], "");
    assert_string_equal(folder->lines.lines[3], "d");
}

static void build_sources_find_lines_far_into_a_file(void **state)
{
    struct folder *folder = *state;
    struct text text = { 0 };
    for (int i = 1; i <= LINES; i++)
        text_appendf(&text, "line %d of many\n", i);
    bool opened = put(folder, "/a.c", text.bytes, text.size);
    text_deinit(&text);
    assert_true(opened);
    for (uint64_t line = 1; line <= LINES; line += 1999) {
        char expected[64];
        snprintf(expected, sizeof(expected), "line %d of many", (int)line);
        assert_int_equal(look(folder, "/a.c", line), CH_OK);
        assert_string_equal(folder->lines.lines[line - folder->lines.first], expected);
    }
}

static void build_sources_cut_lines_that_are_long(void **state)
{
    struct folder *folder = *state;
    char *text = malloc(1 << 20);
    assert_non_null(text);
    memset(text, 'x', 1 << 20);
    memcpy(text + (1 << 20) - 6, "\nlast\n", 6);
    bool opened = put(folder, "/a.c", text, 1 << 20);
    free(text);
    assert_true(opened);
    assert_int_equal(look(folder, "/a.c", 2), CH_OK);
    assert_int_equal(strlen(folder->lines.lines[0]), BUILD_SOURCES_LINE_SIZE - 1);
    assert_string_equal(folder->lines.lines[1], "last");
}

static void build_sources_find_a_file_whose_home_was_masked(void **state)
{
    struct folder *folder = *state;
    assert_true(put(folder, "/home/ann/src/a.c", "a\n", 2));
    assert_int_equal(look(folder, "~/src/a.c", 1), CH_OK);
    assert_string_equal(folder->lines.lines[0], "a");
    assert_int_equal(look(folder, "~/rc/a.c", 1), CH_ERR_NOT_FOUND);
    assert_int_equal(look(folder, "~/a/very/long/name/that/is/no/part.c", 1),
                     CH_ERR_NOT_FOUND);
    assert_int_equal(look(folder, "src/a.c", 1), CH_ERR_NOT_FOUND);
}

static void build_sources_that_are_no_bundle_are_not_opened(void **state)
{
    struct folder *folder = *state;
    static const char *const bundles[] = { "", "crashhook sources 1\n", "x\n\n",
                                           "crashhook sources 1\nx a\n\n" };
    assert_false(build_sources_open(
        &folder->sources, symbol_folder_open(folder->path, SYMBOL_SOURCES, "abcd")));
    assert_false(build_sources_open(
        &folder->sources,
        symbol_folder_open(folder->path, SYMBOL_SOURCES, "../../etc")));
    for (size_t i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
        FILE *file = fopen(folder->file, "w");
        assert_non_null(file);
        fputs(bundles[i], file);
        fclose(file);
        assert_false(build_sources_open(
            &folder->sources,
            symbol_folder_open(folder->path, SYMBOL_SOURCES, "abcd")));
    }
}

static void build_sources_cut_after_they_were_stored_are_survived(void **state)
{
    struct folder *folder = *state;
    assert_true(put(folder, "/a.c", "1\n2\n3\n", 6));
    assert_int_equal(truncate(folder->file, 45), 0);
    enum ch_status status = look(folder, "/other.c", 1);
    assert_true(status == CH_ERR_IO || status == CH_ERR_NOT_FOUND);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(build_sources_give_the_lines_around_one),
        TEST(build_sources_end_where_the_file_does),
        TEST(build_sources_of_an_empty_file_have_no_line),
        TEST(build_sources_take_off_carriage_returns_and_show_nuls),
        TEST(build_sources_find_lines_far_into_a_file),
        TEST(build_sources_cut_lines_that_are_long),
        TEST(build_sources_find_a_file_whose_home_was_masked),
        TEST(build_sources_that_are_no_bundle_are_not_opened),
        TEST(build_sources_cut_after_they_were_stored_are_survived),
    };
    return cmocka_run_group_tests_name("collector/build_sources", tests, NULL, NULL);
}
