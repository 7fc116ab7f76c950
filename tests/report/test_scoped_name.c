// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/scoped_name.h"

#include "support/test.h"

static void expect(const char *function, const char *scoped)
{
    struct text out = { 0 };
    scoped_name(function, &out);
    bool equal = out.size != 0 && strcmp(out.bytes, scoped) == 0;
    if (!equal)
        print_error("%s: %s, not %s\n", function, out.bytes, scoped);
    text_deinit(&out);
    assert_true(equal);
}

static void scoped_name_leaves_out_types_parameters_and_clones(void **state)
{
    (void)state;
    expect("main", "main");
    expect("shop::total(long) const", "shop::total");
    expect("int* shop::Cart<int, std::allocator<int> >::find<long>(int, long*)",
           "shop::Cart::find");
    expect("std::vector<std::pair<int, long> > make<int>(unsigned long)", "make");
    expect("total[abi:cxx11](std::string const&)", "total");
    expect("free_cart.part.0", "free_cart");
    expect("free_cart.constprop.0.isra.1", "free_cart");
    expect("free_cart(cart*) [clone .cold]", "free_cart");
    expect("go.lto_priv.0", "go");
    expect("void run(int)::Local::step(int)", "run::Local::step");
    expect("non-virtual thunk to shop::Cart::~Cart()", "shop::Cart::~Cart");
    expect("(anonymous namespace)::parse(char const*)", "(anonymous)::parse");
    expect("decltype(auto) f<int>(int)", "f");
}

static void scoped_name_keeps_operators(void **state)
{
    (void)state;
    expect("operator new(unsigned long)", "operator new");
    expect("bool operator==<int>(A<int> const&, A<int> const&)", "operator==");
    expect("shop::Key::operator<(shop::Key const&) const", "shop::Key::operator<");
    expect("bool shop::operator< <int>(A<int>, A<int>)", "shop::operator<");
    expect("std::ostream& shop::operator<< <char>(std::ostream&, int)",
           "shop::operator<<");
    expect("shop::Key::operator()(int)", "shop::Key::operator()");
    expect("shop::Key::operator bool() const", "shop::Key::operator bool");
    expect("shop::Ptr<int>::operator->() const", "shop::Ptr::operator->");
    expect("shop::operators(int)", "shop::operators");
}

static void scoped_name_is_the_same_for_lambdas_of_every_compiler(void **state)
{
    (void)state;
    expect("main::{lambda(int)#1}::operator()(int) const", "main::{lambda}");
    expect("main::$_0::operator()(int) const", "main::{lambda}");
    expect("shop::run(int)::{lambda()#2}::operator()() const", "shop::run::{lambda}");
    expect("shop::run(int)::'lambda0'(int)::operator()(int) const",
           "shop::run::{lambda}");
    expect("main::{lambda(int)#1}::_FUN(int)", "main::{lambda}");
    expect("shop::run(int)::<lambda(int)>", "shop::run::{lambda}");
}

static void expect_passed(const char *function, const char *lambda)
{
    struct text out = { 0 };
    bool found = scoped_name_passed_lambda(function, &out);
    bool equal = lambda == NULL ? !found : found && strcmp(out.bytes, lambda) == 0;
    text_deinit(&out);
    assert_true(equal);
}

static void a_lambda_is_found_among_the_arguments_of_what_calls_it(void **state)
{
    (void)state;
    expect_passed("std::_Function_handler<void (int), gw::run(int)::{lambda(int)#1}>"
                  "::_M_invoke(std::_Any_data const&, int&&)",
                  "gw::run::{lambda}");
    expect_passed("std::__invoke_r<int, gw::run(int)::<lambda(int)>&, int>",
                  "gw::run::{lambda}");
    expect_passed("int gw::apply<gw::run(int)::{lambda(auto:1)#1}::operator()<int>(int)"
                  " const::{lambda(auto:1)#1}>(gw::run(int)::{lambda(auto:1)#1})",
                  "gw::run::{lambda}::operator()::{lambda}");
    expect_passed("std::invoke<void gw::each<int, long>(int)::{lambda()#2}>",
                  "gw::each::{lambda}");
    expect_passed("std::invoke<gw::run(int)>", NULL);
    expect_passed("std::invoke<gw::run(int)::{lambda(", "gw::run::{lambda}");
    expect_passed("::<lambda(", "::{lambda}");
    expect_passed("", NULL);
}

static void scoped_name_reads_go(void **state)
{
    (void)state;
    expect("main.coldStart", "main.coldStart");
    expect("main.(*List[go.shape.int_0]).Head", "main.(*List).Head");
    expect("main.(*List[...]).Head", "main.(*List).Head");
    expect("main.Map[go.shape.int_0,go.shape.int_1]", "main.Map");
    expect("main.(*List[", "main.(*List");
}

static void scoped_name_leaves_out_the_number_of_a_nested_function(void **state)
{
    (void)state;
    expect("inner.0", "inner");
    expect("inner.1234", "inner");
    expect("inner.0.cold", "inner");
    expect("inner.", "inner.");
    expect("main.run.1", "main.run.1");
}

static void scoped_name_reads_rust(void **state)
{
    (void)state;
    expect("shop::main::h0123456789abcdef", "shop::main");
    expect("shop::main::{{closure}}", "shop::main::{closure}");
    expect("shop::main::{closure#3}", "shop::main::{closure}");
    expect("<shop::Cart as core::ops::drop::Drop>::drop", "shop::Cart::drop");
    expect("<shop::cart::Cart>::total", "shop::cart::Cart::total");
    expect("<T as shop::Total>::total", "shop::Total::total");
    expect("<&T as core::fmt::Debug>::fmt", "core::fmt::Debug::fmt");
    expect("<alloc::vec::Vec<T,A> as core::ops::index::Index<I>>::index",
           "alloc::vec::Vec::index");
    expect("core::ptr::drop_in_place<shop::Cart>", "core::ptr::drop_in_place");
    expect("shop::total::<i32>", "shop::total");
    expect("shop::cart::<impl core::ops::Drop for shop::Cart>::drop",
           "shop::cart::shop::Cart::drop");
    expect("core::ops::function::FnOnce::call_once{{vtable.shim}}",
           "core::ops::function::FnOnce::call_once{vtable.shim}");
    expect("shop[8f2b1c0d]::main", "shop::main");
}

static void scoped_name_survives_names_that_are_cut(void **state)
{
    (void)state;
    static const char *const cut[] = {
        "f<int",    "f(",        "<T as ", "{",  "{{closure", "[", "$_", "'lambda",
        "operator", "operator ", "<",      "::", "a::<impl ", " ", ")"
    };
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        struct text out = { 0 };
        scoped_name(cut[i], &out);
        bool some = out.size != 0;
        text_deinit(&out);
        assert_true(some);
    }
}

static void scoped_name_stem_has_no_version(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *stem;
    } cases[] = {
        { "/opt/prog-2.1", "prog" },
        { "prog", "prog" },
        { "libapp.so.1.2.3", "libapp" },
        { "/usr/bin/python3.11", "python" },
        { "shop_v2", "shop" },
        { "/src/a/parse.c", "parse" },
        { "7", "7" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct text out = { 0 };
        scoped_name_stem(cases[i].path, &out);
        bool equal = out.size != 0 && strcmp(out.bytes, cases[i].stem) == 0;
        text_deinit(&out);
        assert_true(equal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scoped_name_leaves_out_types_parameters_and_clones),
        cmocka_unit_test(scoped_name_keeps_operators),
        cmocka_unit_test(scoped_name_is_the_same_for_lambdas_of_every_compiler),
        cmocka_unit_test(a_lambda_is_found_among_the_arguments_of_what_calls_it),
        cmocka_unit_test(scoped_name_reads_go),
        cmocka_unit_test(scoped_name_leaves_out_the_number_of_a_nested_function),
        cmocka_unit_test(scoped_name_reads_rust),
        cmocka_unit_test(scoped_name_survives_names_that_are_cut),
        cmocka_unit_test(scoped_name_stem_has_no_version),
    };
    return cmocka_run_group_tests_name("report/scoped_name", tests, NULL, NULL);
}
