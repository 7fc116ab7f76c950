// SPDX-License-Identifier: Apache-2.0
#include "collector/function_name.h"

#include <stdio.h>

#include "support/test.h"

static void expect(const char *name, const char *expected)
{
    struct text out = { 0 };
    char got[256];
    function_name_shorten(&out, name, 4000);
    (void)snprintf(got, sizeof(got), "%s", out.bytes != NULL ? out.bytes : "");
    text_deinit(&out);
    assert_string_equal(got, expected);
}

static void function_name_writes_strings_as_their_users_do(void **state)
{
    (void)state;
    expect("int f<int>(std::__cxx11::basic_string<char, std::char_traits<char>, "
           "std::allocator<char> > const&)",
           "int f<int>(std::string const&)");
    expect("g(std::basic_string_view<char, std::char_traits<char> >)",
           "g(std::string_view)");
    expect("std::__cxx11::list<int>::size()", "std::list<int>::size()");
    expect("s(std::basic_str", "s(std::basic_str");
    expect("", "");
}

static void function_name_tells_parameters_from_the_name(void **state)
{
    (void)state;
    assert_int_equal(function_name_parameters("f(int)"), 1);
    assert_int_equal(function_name_parameters("f"), 1);
    assert_int_equal(function_name_parameters("a::f(void (*)(int)) const"), 4);
    assert_int_equal(function_name_parameters("x::operator()(char)"), 13);
    assert_int_equal(function_name_parameters("(int)"), 5);
    assert_int_equal(function_name_parameters("f(a))"), 5);
    assert_int_equal(function_name_parameters(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_name_writes_strings_as_their_users_do),
        cmocka_unit_test(function_name_tells_parameters_from_the_name),
    };
    return cmocka_run_group_tests_name("collector/function_name", tests, NULL, NULL);
}
