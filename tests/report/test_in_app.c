// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/in_app.h"

#include <stdio.h>

#include "support/folder.h"
#include "support/test.h"

static struct in_app_verdict judge(const struct in_app_frame *frame)
{
    struct in_app_verdict verdict;
    in_app_judge(frame, &verdict);
    return verdict;
}

static void expect_rule(const struct in_app_frame *frame, const char *rule)
{
    assert_string_equal(judge(frame).rule, rule);
}

static void what_no_rule_matches_is_the_programs_own(void **state)
{
    (void)state;
    struct in_app_verdict verdict =
        judge(&(struct in_app_frame){ .image = "/opt/shop/bin/shop",
                                      .function = "shop::total(int)",
                                      .raw_name = "_ZN4shop5totalEi",
                                      .file = "/build/shop/total.cc" });
    assert_true(verdict.in_app);
    assert_string_equal(verdict.rule, "");
}

static void a_verdict_names_the_rule(void **state)
{
    (void)state;
    expect_rule(
        &(struct in_app_frame){ .image = "/usr/lib/x86_64-linux-gnu/libz.so.1" },
        "image /usr/lib/*");
    expect_rule(&(struct in_app_frame){ .image = "/opt/app",
                                        .function = "int std::max<int>(int, int)" },
                "namespace std::");
    expect_rule(&(struct in_app_frame){ .image = "/opt/app",
                                        .function = "grow",
                                        .file = "/usr/include/x86_64/bits/stdio.h" },
                "source /usr/include/*");
    expect_rule(&(struct in_app_frame){ .image = "/opt/app", .function = "abort" },
                "reports abort");
    expect_rule(
        &(struct in_app_frame){ .image = "/opt/app", .function = "start_thread" },
        "starts start_thread");
}

static void rules_stand_in_the_order_in_which_kinds_decide(void **state)
{
    (void)state;
    for (size_t i = 1; i < in_app_rules_count; i++)
        assert_true(in_app_rules[i - 1].kind <= in_app_rules[i].kind);
    // What a function does counts more than the image that it is in.
    expect_rule(&(struct in_app_frame){ .image = "/usr/lib/libc.so.6",
                                        .package = "libc6",
                                        .function = "abort" },
                "reports abort");
    expect_rule(&(struct in_app_frame){ .image = "/usr/lib/libc.so.6",
                                        .package = "libc6",
                                        .function = "qsort" },
                "package libc6");
}

static void a_stub_of_the_linker_is_nobodys_own(void **state)
{
    (void)state;
    expect_rule(&(struct in_app_frame){ .image = "/opt/app",
                                        .executable = true,
                                        .function = "shop::total(int)@plt" },
                "function *@plt");
    assert_true(judge(&(struct in_app_frame){ .image = "/opt/app",
                                              .executable = true,
                                              .function = "shop::total(int)" })
                    .in_app);
}

static void a_namespace_is_a_whole_component(void **state)
{
    (void)state;
    assert_true(judge(&(struct in_app_frame){ .function = "stdx::f()" }).in_app);
    assert_true(judge(&(struct in_app_frame){ .function = "shop::std::f()" }).in_app);
    assert_false(
        judge(&(struct in_app_frame){ .function = "boost::asio::f()" }).in_app);
}

static void core_is_a_library_of_rust_alone(void **state)
{
    (void)state;
    assert_true(judge(&(struct in_app_frame){ .function = "core::Engine::run()",
                                              .raw_name = "_ZN4core6Engine3runEv",
                                              .file = "/src/engine.cc" })
                    .in_app);
    assert_false(
        judge(&(struct in_app_frame){ .function = "core::slice::sort::heapsort",
                                      .raw_name = "_RNvNtCs_4core5slice4sort",
                                      .file = "library/core.rs" })
            .in_app);
}

static void an_executable_is_its_own_program_wherever_it_is(void **state)
{
    (void)state;
    struct in_app_frame frame = { .image = "/usr/lib/git-core/git", .function = "run" };
    assert_false(judge(&frame).in_app);
    frame.executable = true;
    assert_true(judge(&frame).in_app);
}

static void the_c_library_in_a_static_program_is_not_its_own_code(void **state)
{
    (void)state;
    struct in_app_frame frame = { .image = "/opt/app",
                                  .function = "__memmove_avx_unaligned_erms",
                                  .executable = true };
    assert_true(judge(&frame).in_app);
    frame.is_static = true;
    expect_rule(&frame, "C library __*");
    frame.function = "strlen";
    expect_rule(&frame, "C library strlen");
    // The program may have a function of that name.
    frame.file = "/src/strlen.c";
    assert_true(judge(&frame).in_app);
    frame.file = NULL;
    frame.function = "string_length";
    assert_true(judge(&frame).in_app);
}

static void an_interpreters_functions_are_nobodys_place(void **state)
{
    (void)state;
    struct in_app_frame frame = { .image = "/usr/bin/python3.11",
                                  .function = "_PyEval_EvalFrameDefault",
                                  .executable = true };
    assert_false(judge(&frame).in_app);
    frame.file = "/srv/app/orders.py";
    assert_true(judge(&frame).in_app);
}

static bool reports(const char *function)
{
    struct in_app_verdict verdict;
    in_app_judge(&(struct in_app_frame){ .function = function }, &verdict);
    return verdict.reports;
}

static void functions_that_report_are_told_from_others(void **state)
{
    (void)state;
    assert_true(reports("__assert_fail"));
    assert_true(reports("operator new(unsigned long)"));
    assert_true(reports("core::option::unwrap_failed"));
    assert_true(reports("std::process::abort"));
    assert_false(reports("aborted"));
    assert_false(reports("shop::free"));
    assert_false(reports("std::panic::catch_unwind"));
}

static void helpers_are_told_by_their_words(void **state)
{
    (void)state;
    static const char *const helpers[] = { "die", "log_fatal", "shop::Log::fatal",
                                           "throwError", "shop::bail" };
    static const char *const others[] = { "diet", "failover", "shop::Fatal::run",
                                          "abortable", "main" };
    for (size_t i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++)
        assert_true(in_app_is_failing(helpers[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(in_app_is_failing(others[i]));
}

static void a_pattern_may_have_several_stars(void **state)
{
    (void)state;
    assert_true(in_app_matches("*/vendor/*.c", "/src/vendor/zip/zip.c", 21));
    assert_false(in_app_matches("*/vendor/*.c", "/src/vendor/zip/zip.h", 21));
    assert_true(in_app_matches("*", "", 0));
    assert_false(in_app_matches("a*a", "a", 1));
}

static void an_image_of_the_programs_package_is_own_wherever_it_is(void **state)
{
    (void)state;
    struct in_app_frame frame = { .image = "/usr/lib64/shop/libshop.so.1",
                                  .function = "shop::total(int)",
                                  .package = "shop",
                                  .program_package = "shop" };
    assert_true(judge(&frame).in_app);
    frame.function = "std::vector<int>::at(unsigned long)";
    expect_rule(&frame, "namespace std::");
    frame.function = "shop::total(int)";
    frame.image = "/opt/shop/libz.so.1";
    frame.package = "zlib";
    expect_rule(&frame, "package zlib");
    frame.program_package = NULL; // built here
    expect_rule(&frame, "package zlib");
}

static void builds_that_a_file_lists_are_told_by_their_ids(void **state)
{
    struct folder *folder = *state;
    char rules[512];
    const char *path = folder_path(folder, "builds");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("Package: libz1-dbgsym\n"
          "Build-Ids: 1111111111111111aa 2222222222222222bb\n"
          "SHA256: 3333333333333333cc\n\n"
          "4444444444444444dd /usr/lib/libold.so 5555555555555555ee\n"
          "short\n",
          file);
    fclose(file);
    (void)snprintf(rules, sizeof(rules), "!builds:%s", path);
    assert_null(in_app_extend(rules));
    static const char *const listed[] = { "1111111111111111aa", "2222222222222222bb",
                                          "4444444444444444dd" };
    static const char *const others[] = { "3333333333333333cc", "5555555555555555ee",
                                          "1111", "" };
    for (size_t i = 0; i < 3; i++) {
        struct in_app_frame frame = { .image = "/opt/x.so", .build_id = listed[i] };
        assert_false(judge(&frame).in_app);
        assert_memory_equal(judge(&frame).rule, "builds ", 7);
        frame.executable = true;
        assert_true(judge(&frame).in_app);
    }
    for (size_t i = 0; i < 4; i++)
        assert_true(
            judge(&(struct in_app_frame){ .image = "/opt/x.so", .build_id = others[i] })
                .in_app);
    assert_string_equal(in_app_extend("!builds:/nonexistent"), "!builds:/nonexistent");
}

// The last test: rules of the user stay for the rest of the process.
static void rules_of_the_user_come_before_the_table(void **state)
{
    (void)state;
    assert_null(in_app_extend("/usr/lib/acme/* !*/vendor/*, std::acme:: !legacy::"));
    struct in_app_verdict verdict =
        judge(&(struct in_app_frame){ .image = "/usr/lib/acme/libacme.so.1" });
    assert_true(verdict.in_app);
    assert_true(verdict.by_user);
    assert_string_equal(verdict.rule, "own image /usr/lib/acme/*");
    assert_true(judge(&(struct in_app_frame){ .function = "std::acme::f()" }).in_app);
    assert_false(judge(&(struct in_app_frame){ .function = "legacy::f()" }).in_app);
    expect_rule(&(struct in_app_frame){ .function = "f", .file = "/src/vendor/zip.c" },
                "source */vendor/*");
    assert_null(in_app_extend("function:my_abort !image:/opt/other/* package:shop"));
    assert_string_equal(in_app_extend("fine:: !"), "!");
    assert_string_equal(in_app_extend("fuction:abort"), "fuction:abort");
    assert_null(in_app_extend("a::b c::d:: /opt/a:b/* !x::*"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_rule_matches_is_the_programs_own),
        cmocka_unit_test(a_verdict_names_the_rule),
        cmocka_unit_test(rules_stand_in_the_order_in_which_kinds_decide),
        cmocka_unit_test(a_stub_of_the_linker_is_nobodys_own),
        cmocka_unit_test(a_namespace_is_a_whole_component),
        cmocka_unit_test(core_is_a_library_of_rust_alone),
        cmocka_unit_test(an_executable_is_its_own_program_wherever_it_is),
        cmocka_unit_test(the_c_library_in_a_static_program_is_not_its_own_code),
        cmocka_unit_test(an_interpreters_functions_are_nobodys_place),
        cmocka_unit_test(functions_that_report_are_told_from_others),
        cmocka_unit_test(helpers_are_told_by_their_words),
        cmocka_unit_test(a_pattern_may_have_several_stars),
        cmocka_unit_test(an_image_of_the_programs_package_is_own_wherever_it_is),
        cmocka_unit_test_setup_teardown(builds_that_a_file_lists_are_told_by_their_ids,
                                        folder_setup, folder_teardown),
        cmocka_unit_test(rules_of_the_user_come_before_the_table),
    };
    return cmocka_run_group_tests_name("report/own", tests, NULL, NULL);
}
