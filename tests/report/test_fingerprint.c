// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/fingerprint.h"

#include <signal.h>

#include "support/test.h"

#define FRAME(name)                                                                    \
    {                                                                                  \
        .function = (name), .image = "/opt/app/server"                                 \
    }
#define SYSTEM(name)                                                                   \
    {                                                                                  \
        .function = (name), .image = "/usr/lib/libc.so.6", .system = true              \
    }

// Fingerprints of two stacks, each ended by an empty frame.
struct pair {
    char first[FINGERPRINT_SIZE];
    char second[FINGERPRINT_SIZE];
};

static void compute(const struct fingerprint_frame *frames, int signal,
                    const char *kind, char out[static FINGERPRINT_SIZE])
{
    struct fingerprint fingerprint;
    fingerprint_init(&fingerprint, signal, kind);
    for (; frames->function != NULL || frames->image != NULL; frames++)
        fingerprint_add(&fingerprint, frames);
    fingerprint_finish(&fingerprint, out);
}

static struct pair compare(const struct fingerprint_frame *first,
                           const struct fingerprint_frame *second)
{
    struct pair pair;
    compute(first, SIGSEGV, "unknown", pair.first);
    compute(second, SIGSEGV, "unknown", pair.second);
    return pair;
}

#define assert_same_group(...) assert_group(assert_string_equal, __VA_ARGS__)
#define assert_other_group(...) assert_group(assert_string_not_equal, __VA_ARGS__)
#define assert_group(assertion, a, b)                                                  \
    do {                                                                               \
        struct pair pair_ = compare(a, b);                                             \
        assertion(pair_.first, pair_.second);                                          \
    } while (0)

static void fingerprint_differs_by_function_signal_and_kind(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = { FRAME("parse"),
                                                  FRAME("main"),
                                                  { 0 } };
    static const struct fingerprint_frame b[] = { FRAME("print"),
                                                  FRAME("main"),
                                                  { 0 } };
    char segv[FINGERPRINT_SIZE];
    char bus[FINGERPRINT_SIZE];
    char kind[FINGERPRINT_SIZE];
    assert_other_group(a, b);
    compute(a, SIGSEGV, "unknown", segv);
    compute(a, SIGBUS, "unknown", bus);
    compute(a, SIGSEGV, "null-dereference", kind);
    assert_string_not_equal(segv, bus);
    assert_string_not_equal(segv, kind);
}

static void fingerprint_ignores_the_path_of_an_image_and_the_build(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = {
        { .function = "f", .image = "/opt/1/app", .build_id = "aa", .image_offset = 1 },
        { 0 }
    };
    static const struct fingerprint_frame b[] = {
        { .function = "f", .image = "/opt/2/app", .build_id = "bb", .image_offset = 2 },
        { 0 }
    };
    assert_same_group(a, b);
}

static void fingerprint_uses_build_id_and_offset_where_no_name_is(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = {
        { .image = "/opt/app", .build_id = "aa", .image_offset = 1 }, { 0 }
    };
    static const struct fingerprint_frame b[] = {
        { .image = "/opt/app", .build_id = "aa", .image_offset = 2 }, { 0 }
    };
    static const struct fingerprint_frame c[] = {
        { .image = "/moved/app", .build_id = "aa", .image_offset = 1 }, { 0 }
    };
    assert_other_group(a, b);
    assert_same_group(a, c);
}

static void fingerprint_leaves_out_code_that_is_nowhere(void **state)
{
    (void)state;
    struct fingerprint plain;
    struct fingerprint wild;
    char first[FINGERPRINT_SIZE];
    char second[FINGERPRINT_SIZE];
    fingerprint_init(&plain, SIGSEGV, "wild-jump");
    fingerprint_init(&wild, SIGSEGV, "wild-jump");
    fingerprint_add(&wild, &(struct fingerprint_frame){ .image_offset = 4711 });
    fingerprint_add(&plain, &(struct fingerprint_frame)FRAME("call"));
    fingerprint_add(&wild, &(struct fingerprint_frame)FRAME("call"));
    fingerprint_finish(&plain, first);
    fingerprint_finish(&wild, second);
    assert_string_equal(first, second);
}

static void fingerprint_skips_frames_that_only_report_the_failure(void **state)
{
    (void)state;
    static const struct fingerprint_frame asserted[] = {
        FRAME("__pthread_kill_implementation"),
        FRAME("raise"),
        FRAME("abort"),
        FRAME("__assert_fail_base"),
        FRAME("__assert_fail"),
        FRAME("check"),
        { 0 },
    };
    static const struct fingerprint_frame thrown[] = {
        FRAME("abort"),
        FRAME("__gnu_cxx::__verbose_terminate_handler()"),
        FRAME("std::terminate()"),
        FRAME("__cxa_throw"),
        FRAME("check"),
        { 0 },
    };
    static const struct fingerprint_frame plain[] = { FRAME("check"), { 0 } };
    assert_same_group(asserted, plain);
    assert_same_group(thrown, plain);
}

static void fingerprint_keeps_an_abort_in_the_middle_of_the_stack(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = {
        FRAME("hook"), FRAME("abort"), FRAME("main"), { 0 }
    };
    static const struct fingerprint_frame b[] = { FRAME("hook"), FRAME("main"), { 0 } };
    assert_other_group(a, b);
}

static void fingerprint_counts_recursion_once(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = {
        FRAME("f"), FRAME("f"), FRAME("f"), FRAME("main"), { 0 }
    };
    static const struct fingerprint_frame b[] = { FRAME("f"), FRAME("main"), { 0 } };
    assert_same_group(a, b);
}

static void fingerprint_leaves_system_frames_out_where_there_are_others(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = {
        SYSTEM("__memmove_avx_unaligned"), FRAME("copy"), SYSTEM("start_thread"), { 0 }
    };
    static const struct fingerprint_frame b[] = {
        SYSTEM("__memmove_evex_unaligned"), FRAME("copy"), SYSTEM("clone3"), { 0 }
    };
    static const struct fingerprint_frame c[] = { SYSTEM("poll"), { 0 } };
    static const struct fingerprint_frame d[] = { SYSTEM("read"), { 0 } };
    assert_same_group(a, b);
    assert_other_group(c, d);
}

static void fingerprint_ends_after_the_innermost_frames(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = { FRAME("1"), FRAME("2"), FRAME("3"),
                                                  FRAME("4"), FRAME("5"), FRAME("6"),
                                                  FRAME("7"), FRAME("8"), FRAME("9"),
                                                  { 0 } };
    struct fingerprint_frame b[sizeof(a) / sizeof(a[0])];
    memcpy(b, a, sizeof(a));
    b[8].function = "other";
    assert_same_group(a, b);
    b[7].function = "other";
    assert_other_group(a, b);
}

static void fingerprint_ignores_suffixes_of_compiler_clones(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = { FRAME("f.constprop.0"), { 0 } };
    static const struct fingerprint_frame b[] = { FRAME("f [clone .cold]"), { 0 } };
    static const struct fingerprint_frame c[] = { FRAME("f"), { 0 } };
    assert_same_group(a, c);
    assert_same_group(b, c);
}

// Keys live in stores for years: the rules of a version never change.
static void fingerprint_of_version_1_stays_what_it_was(void **state)
{
    (void)state;
    static const struct fingerprint_frame a[] = { FRAME("parse"),
                                                  FRAME("main"),
                                                  { 0 } };
    char key[FINGERPRINT_SIZE];
    compute(a, SIGSEGV, "null-dereference", key);
    assert_string_equal(key, "6b004b7553fbdc6218abe1f4c8438d8a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprint_differs_by_function_signal_and_kind),
        cmocka_unit_test(fingerprint_ignores_the_path_of_an_image_and_the_build),
        cmocka_unit_test(fingerprint_uses_build_id_and_offset_where_no_name_is),
        cmocka_unit_test(fingerprint_leaves_out_code_that_is_nowhere),
        cmocka_unit_test(fingerprint_skips_frames_that_only_report_the_failure),
        cmocka_unit_test(fingerprint_keeps_an_abort_in_the_middle_of_the_stack),
        cmocka_unit_test(fingerprint_counts_recursion_once),
        cmocka_unit_test(fingerprint_leaves_system_frames_out_where_there_are_others),
        cmocka_unit_test(fingerprint_ends_after_the_innermost_frames),
        cmocka_unit_test(fingerprint_ignores_suffixes_of_compiler_clones),
        cmocka_unit_test(fingerprint_of_version_1_stays_what_it_was),
    };
    return cmocka_run_group_tests_name("report/fingerprint", tests, NULL, NULL);
}
