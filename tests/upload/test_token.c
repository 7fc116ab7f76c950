// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>

#include "net/http.h"
#include "support/folder.h"
#include "support/test.h"

// given returns what token_read makes of a file and a value, "!why" where it fails.
static const char *given(const char *file, const char *value)
{
    static char result[256];
    struct text token = { 0 };
    const char *why = "";
    enum ch_status status = token_read(file, value, &token, &why);
    (void)snprintf(result, sizeof(result), "%s%s", status == CH_OK ? "" : "!",
                   status != CH_OK   ? why
                   : token.size != 0 ? token.bytes
                                     : "");
    text_deinit(&token);
    return result;
}

static void token_comes_without_the_space_around_it(void **state)
{
    struct folder *folder = *state;
    assert_int_equal(folder_write(folder, "token", " \tabc\r\n\n"), 0);
    assert_string_equal(given(folder_path(folder, "token"), "other"), "abc");
    assert_string_equal(given(NULL, " x "), "x");
    assert_string_equal(given(NULL, NULL), "");
}

static void token_that_could_break_a_header_is_refused(void **state)
{
    (void)state;
    assert_string_equal(given(NULL, "a\r\nX-Evil: 1"),
                        "!it holds characters that no token has");
}

static void token_file_that_is_missing_or_open_to_others_is_refused(void **state)
{
    struct folder *folder = *state;
    const char *path = folder_path(folder, "token");
    assert_string_equal(given(path, NULL), "!No such file or directory");
    assert_int_equal(folder_write(folder, "token", "abc"), 0);
    assert_int_equal(chmod(path, 0602), 0);
    assert_string_equal(given(path, NULL), "!others may write to it");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(token_comes_without_the_space_around_it),
        TEST(token_that_could_break_a_header_is_refused),
        TEST(token_file_that_is_missing_or_open_to_others_is_refused),
    };
    return cmocka_run_group_tests_name("upload/token", tests, NULL, NULL);
}
