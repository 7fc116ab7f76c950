// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "collector/query/commits.h"
#include "support/test.h"

static const char owners[] = "# who knows what\n"
                             "*            @everybody\r\n"
                             "*.sql        @data @dba  # both\n"
                             "/docs/*      @writers\n"
                             "src/         @core\n"
                             "net/**/tls.c @security\n"
                             "/src/free.c\n"
                             "[Section]\n"
                             "!src/x.c     @nobody\n"
                             "lib/log.c    @log";

static void assert_owned(const char *path, const char *expected)
{
    struct text CH_CLEANUP(text_deinit) found = { 0 };
    code_owners_find(owners, path, &found);
    assert_true(text_ok(&found));
    assert_string_equal(found.size != 0 ? found.bytes : "", expected);
}

static void the_last_pattern_that_matches_names_the_owners(void **state)
{
    (void)state;
    assert_owned("main.c", "@everybody");
    assert_owned("store/tables.sql", "@data @dba");
    assert_owned("src/x.c", "@core");
    assert_owned("src/deep/x.c", "@core");
    assert_owned("src", "@everybody");
    assert_owned("resrc/x.c", "@everybody");
    assert_owned("lib/log.c", "@log");
    assert_owned("src/free.c", "");
}

static void a_star_after_a_folder_is_for_the_files_in_it_alone(void **state)
{
    (void)state;
    assert_owned("docs/a.md", "@writers");
    assert_owned("docs/more/a.md", "@everybody");
    assert_owned("net/a/b/tls.c", "@security");
}

static void a_pattern_matches_from_any_folder_that_a_build_was_in(void **state)
{
    (void)state;
    assert_owned("/home/ci/build-7/src/x.c", "@core");
    assert_owned("/home/ci/build-7/lib/log.c", "@log");
}

static void a_text_without_patterns_has_no_owners(void **state)
{
    (void)state;
    struct text CH_CLEANUP(text_deinit) found = { 0 };
    code_owners_find("", "a.c", &found);
    code_owners_find("\n\r\n# a.c @me\n[x]", "a.c", &found);
    code_owners_find("*.c @me", "", &found);
    assert_int_equal(found.size, 0);
}

static void a_path_that_is_too_deep_has_no_owners(void **state)
{
    (void)state;
    char path[4001] = "";
    for (size_t i = 0; i + 2 < sizeof(path); i += 2)
        memcpy(path + i, "a/", 3);
    assert_owned(path, "");
    assert_owned(path + sizeof(path) - 1 - 64, "@everybody");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_pattern_that_matches_names_the_owners),
        cmocka_unit_test(a_star_after_a_folder_is_for_the_files_in_it_alone),
        cmocka_unit_test(a_pattern_matches_from_any_folder_that_a_build_was_in),
        cmocka_unit_test(a_text_without_patterns_has_no_owners),
        cmocka_unit_test(a_path_that_is_too_deep_has_no_owners),
    };
    return cmocka_run_group_tests_name("collector/code_owners", tests, NULL, NULL);
}
