// SPDX-License-Identifier: Apache-2.0
#include "report/summary/readable_name.h"

#include <stdio.h>

#include "support/test.h"

#define STRING                                                                         \
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

static const char *said(void (*name)(const char *, struct text *), const char *function)
{
    static char copy[512];
    struct text text = { 0 };
    name(function, &text);
    (void)snprintf(copy, sizeof(copy), "%s", text.size != 0 ? text.bytes : "");
    text_deinit(&text);
    return copy;
}

static void readable_names_leave_defaults_of_templates_out(void **state)
{
    (void)state;
    assert_string_equal(said(readable_name, "f(" STRING " const&)"),
                        "f(std::string const&)");
    assert_string_equal(said(readable_name,
                             "g(std::map<" STRING ", int, std::less<" STRING
                             " >, std::allocator<std::pair<" STRING
                             " const, int> > >&)"),
                        "g(std::map<std::string, int>&)");
    assert_string_equal(
        said(readable_name,
             "std::unique_ptr<A, std::default_delete<A> >::~unique_ptr()"),
        "std::unique_ptr<A>::~unique_ptr()");
}

static void readable_names_use_every_alias_of_a_name(void **state)
{
    (void)state;
    assert_string_equal(said(readable_name,
                             "(anonymous namespace)::show(std::basic_ostream<char>&, "
                             "std::basic_string_view<char>, std::__1::vector<int>)"),
                        "show(std::ostream&, std::string_view, std::vector<int>)");
}

static void readable_names_leave_others_as_they_are(void **state)
{
    (void)state;
    static const char *const names[] = {
        "main", "",     "f(std::allocator<int>)", "operator<<(int, A->B)",
        "g<(>", "a, b", "h<X, std::less<",        "x >> y"
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_string_equal(said(readable_name, names[i]), names[i]);
}

static void readable_short_names_are_the_qualified_name_alone(void **state)
{
    (void)state;
    assert_string_equal(said(readable_name_short, "int ns::f<a b>(int (*)(int), x)"),
                        "ns::f<a b>");
    assert_string_equal(said(readable_name_short, "main"), "main");
    assert_string_equal(said(readable_name_short, "main.(*T).f"), "main.(*T).f");
    assert_string_equal(said(readable_name_short, "(anonymous namespace)::run(int)"),
                        "run");
    assert_string_equal(said(readable_name_short, "A::operator()(int)"),
                        "A::operator()(int)");
    assert_string_equal(said(readable_name_short, "(x)"), "(x)");
}

static void readable_names_tell_parameters_from_the_name(void **state)
{
    (void)state;
    assert_int_equal(readable_name_parameters("f(int)"), 1);
    assert_int_equal(readable_name_parameters("f"), 1);
    assert_int_equal(readable_name_parameters("a::f(void (*)(int)) const"), 4);
    assert_int_equal(readable_name_parameters("x::operator()(char)"), 13);
    assert_int_equal(readable_name_parameters("(int)"), 5);
    assert_int_equal(readable_name_parameters("f(a))"), 5);
    assert_int_equal(readable_name_parameters(""), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readable_names_leave_defaults_of_templates_out),
        cmocka_unit_test(readable_names_use_every_alias_of_a_name),
        cmocka_unit_test(readable_names_leave_others_as_they_are),
        cmocka_unit_test(readable_short_names_are_the_qualified_name_alone),
        cmocka_unit_test(readable_names_tell_parameters_from_the_name),
    };
    return cmocka_run_group_tests_name("report/readable_name", tests, NULL, NULL);
}
