// SPDX-License-Identifier: Apache-2.0
#include "net/libcurl.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/test.h"

static bool is_mapped(const char *library)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps) != NULL)
        found = found || strstr(line, library) != NULL;
    fclose(maps);
    return found;
}

static void libcurl_is_loaded_when_it_is_asked_for_and_not_before(void **state)
{
    (void)state;
    char why[256] = "";
    const struct libcurl *curl = NULL;
    assert_false(is_mapped("/libcurl"));
    assert_int_equal(libcurl_load(&curl, why, sizeof(why)), CH_OK);
    assert_true(is_mapped("/libcurl"));
    assert_string_equal(why, "");
}

static void libcurl_load_gives_functions_that_work(void **state)
{
    (void)state;
    char why[256];
    const struct libcurl *first = NULL;
    const struct libcurl *second = NULL;
    assert_int_equal(libcurl_load(&first, why, sizeof(why)), CH_OK);
    assert_int_equal(libcurl_load(&second, why, sizeof(why)), CH_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(first->getdate("Sun, 06 Nov 1994 08:49:37 GMT", NULL), 784111777);
    assert_string_equal(first->easy_strerror(CURLE_OK), "No error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libcurl_is_loaded_when_it_is_asked_for_and_not_before),
        cmocka_unit_test(libcurl_load_gives_functions_that_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
