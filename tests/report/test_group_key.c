// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/group_key.h"

#include "report/grouping/report_in_app.h"
#include "report/grouping/title.h"
#include "report/value/report.h"
#include "support/test.h"

// A stack is written as words, innermost first: `f`, `f@file.c`, `+0x10` for a frame
// without a name, `lib:f` for one of the C library, `py:f@file` for one of Python.
static json_t *make_frame(const char *word)
{
    json_t *frame = json_pack("{s:s, s:i, s:s}", "kind", "ra", "image",
                              strncmp(word, "lib:", 4) == 0 ? 1 : 0, "address", "0x1");
    const char *name = strncmp(word, "lib:", 4) == 0 ? word + 4 : word;
    if (strncmp(word, "py:", 3) == 0) {
        name = word + 3;
        (void)json_object_set_new(frame, "inline", json_true());
        (void)json_object_set_new(frame, "source", json_string("interpreter"));
        (void)json_object_set_new(frame, "language", json_string("python"));
        (void)json_object_set_new(frame, "image", json_integer(1));
    }
    size_t length = strcspn(name, "@");
    if (name[0] == '+') {
        (void)json_object_set_new(frame, "image_offset", json_string(name + 1));
        return frame;
    }
    (void)json_object_set_new(frame, "function", json_stringn(name, length));
    if (name[length] != 0) {
        (void)json_object_set_new(frame, "file", json_string(name + length + 1));
        (void)json_object_set_new(frame, "line", json_integer(3));
    }
    return frame;
}

static json_t *make_report(int signal, const char *kind, const char *stack)
{
    json_t *frames = json_array();
    char word[128];
    while (*stack != 0) {
        size_t length = strcspn(stack, "|");
        (void)snprintf(word, sizeof(word), "%.*s", (int)length, stack);
        (void)json_array_append_new(frames, make_frame(word));
        stack += length + (stack[length] != 0);
    }
    return json_pack("{s:{s:i, s:s}, s:{s:s}, s:[{s:b, s:{s:o}}], s:[{s:s, s:s, s:s},"
                     " {s:s, s:s}]}",
                     "crash", "signal", signal, "kind", kind, "process", "executable",
                     "/opt/shop-1.2", "threads", "crashed", 1, "backtrace", "frames",
                     frames, "images", "path", "/opt/shop-1.2", "name", "shop-1.2",
                     "build_id", "ab12", "path", "/usr/lib/libc.so.6", "name",
                     "libc.so.6");
}

struct made {
    char key[FINGERPRINT_SIZE];
    char title[256];
    char stack[256];
};

static struct made make(json_t *report)
{
    struct made made = { 0 };
    struct group_key key;
    struct text title = { 0 };
    assert_true(group_key_make(report, &key));
    title_write(report, &key, &title);
    memcpy(made.key, key.fingerprint, sizeof(made.key));
    (void)snprintf(made.title, sizeof(made.title), "%s", title.bytes);
    if (key.stack.size != 0)
        (void)snprintf(made.stack, sizeof(made.stack), "%s", key.stack.bytes);
    text_deinit(&title);
    group_key_deinit(&key);
    json_decref(report);
    return made;
}

static struct made of(int signal, const char *kind, const char *stack)
{
    return make(make_report(signal, kind, stack));
}

static struct made panicked(const char *message)
{
    json_t *report = make_report(6, "panic", "lib:abort|stock::find|main");
    (void)json_object_set_new(json_object_get(report, "crash"), "message",
                              json_string(message));
    return make(report);
}

static void expect_same(struct made a, struct made b)
{
    assert_string_equal(a.key, b.key);
}

static void expect_other(struct made a, struct made b)
{
    assert_string_not_equal(a.key, b.key);
}

static void name_first_thread(json_t *report, const char *name,
                              const char *first_argument)
{
    json_t *process = json_object_get(report, "process");
    json_t *thread = json_array_get(json_object_get(report, "threads"), 0);
    (void)json_object_set_new(process, "pid", json_integer(7));
    (void)json_object_set_new(process, "arguments", json_pack("[s]", first_argument));
    (void)json_object_set_new(thread, "tid", json_integer(7));
    (void)json_object_set_new(thread, "name", json_string(name));
}

static void a_program_with_many_names_has_the_one_it_was_started_by(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *first_argument;
        const char *title;
    } cases[] = {
        { "till", "/usr/bin/till", "abort in run \u00b7 till" },
        { "till", "till *:6379", "abort in run \u00b7 till" },
        { "till-of-the-wid", "./till-of-the-widow",
          "abort in run \u00b7 till-of-the-widow" },
        { "shop.py", "/usr/bin/python3", "abort in run \u00b7 shop-1.2" },
        { "worker", "shop", "abort in run \u00b7 shop-1.2" },
        { "till", "tiller", "abort in run \u00b7 shop-1.2" },
        { "shop", "shop", "abort in run \u00b7 shop-1.2" },
        { "", "till", "abort in run \u00b7 shop-1.2" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *report = make_report(6, "abort", "run|main@shop.c");
        name_first_thread(report, cases[i].name, cases[i].first_argument);
        assert_string_equal(make(report).title, cases[i].title);
    }
}

static void a_jump_into_data_is_of_the_function_that_jumped(void **state)
{
    (void)state;
    struct made base = of(11, "execute-of-data", "fire_all|add_item|main@shop.c");
    struct made ours =
        of(11, "execute-of-data", "+0x4050|fire_all|add_item|main@shop.c");
    json_t *report = make_report(11, "execute-of-data", "+0x1|fire_all|main@shop.c");
    json_t *frames = json_object_get(
        json_object_get(json_array_get(json_object_get(report, "threads"), 0),
                        "backtrace"),
        "frames");
    (void)json_object_set_new(json_array_get(frames, 0), "image", json_integer(1));
    (void)json_object_set_new(json_array_get(frames, 1), "trust", json_string("scan"));
    expect_same(base, ours);
    assert_string_equal(ours.title, "jump into data in fire_all \u00b7 shop-1.2");
    expect_same(base, make(report));
    // Without another frame, all that is known is the data.
    expect_other(base, of(11, "execute-of-data", "+0x4050"));
    expect_other(base, of(11, "illegal-instruction", "+0x4050|fire_all|main@shop.c"));
}

static void a_key_is_the_innermost_own_function(void **state)
{
    (void)state;
    struct made base = of(11, "unknown", "put_item|add_item|main@shop.c");
    expect_same(base, of(11, "unknown", "put_item|other_caller|main@shop.c"));
    expect_same(base, of(11, "null-dereference", "put_item|main@shop.c"));
    expect_same(base, of(7, "unknown", "lib:memcpy|put_item|main@shop.c"));
    expect_same(
        base, of(11, "unknown", "std::copy<int*>(int*)|put_item.constprop.0|main@x.c"));
    expect_other(base, of(11, "unknown", "get_item|add_item|main@shop.c"));
    expect_other(base, of(8, "unknown", "put_item|add_item|main@shop.c"));
}

// of_freed is a use after free whose block a stack freed.
static struct made of_freed(const char *word)
{
    json_t *report = make_report(11, "use-after-free", "put_item|main@shop.c");
    json_t *heap = json_pack("{s:{s:{s:[o, o]}}}", "freed", "backtrace", "frames",
                             make_frame("lib:free"), make_frame(word));
    (void)json_object_set_new(json_object_get(report, "crash"), "heap", heap);
    return make(report);
}

static void a_use_after_free_is_keyed_by_what_freed_the_block(void **state)
{
    (void)state;
    struct made base = of_freed("close_shop");
    expect_same(base, of_freed("close_shop"));
    expect_other(base, of_freed("clear_cart"));
    expect_other(base, of(11, "unknown", "put_item|main@shop.c"));
    // Their stacks are the same, so groups with and without the proof are similar.
    assert_string_equal(base.stack, of(11, "unknown", "put_item|main@shop.c").stack);
    assert_string_equal(base.title, "use after free in put_item \u00b7 shop-1.2");
}

static void code_that_returns_from_a_signal_is_no_place(void **state)
{
    (void)state;
    json_t *report = make_report(6, "abort", "lib:raise|+0x5eb20|main.leaf|main.main");
    json_t *frames = report_frames(report_crashed_thread(report));
    (void)json_object_set_new(json_array_get(frames, 2), "kind", json_string("pc"));
    report_in_app_mark(report);
    assert_true(report_flag(json_array_get(frames, 1), "system"));
    struct made made = make(report);
    assert_string_equal(made.title, "abort in main.leaf \u00b7 shop-1.2");
}

static void
a_program_that_has_the_note_of_the_c_library_alone_is_not_of_its_package(void **state)
{
    (void)state;
    json_t *report = make_report(6, "abort", "lib:raise|put_item@shop.c");
    json_t *images = json_object_get(report, "images");
    for (size_t i = 0; i < json_array_size(images); i++)
        (void)json_object_set_new(json_array_get(images, i), "package",
                                  json_pack("{s:s}", "name", "cross-toolchain-base"));
    report_in_app_mark(report);
    json_t *frames = report_frames(report_crashed_thread(report));
    bool library = report_flag(json_array_get(frames, 0), "system");
    bool program = report_flag(json_array_get(frames, 1), "system");
    json_decref(report);
    assert_true(library);
    assert_false(program);
}

static void a_constructor_of_java_is_told_from_a_class_initializer(void **state)
{
    (void)state;
    static const char *const stacks[] = { "Cart.<init>@Cart.java",
                                          "Cart.<clinit>@Cart.java" };
    struct made made[2];
    for (size_t i = 0; i < 2; i++) {
        json_t *report = make_report(11, "unknown", stacks[i]);
        json_t *frame = json_array_get(report_frames(report_crashed_thread(report)), 0);
        (void)json_object_set_new(frame, "source", json_string("vmstructs"));
        (void)json_object_set_new(frame, "language", json_string("java"));
        made[i] = make(report);
    }
    expect_other(made[0], made[1]);
    assert_non_null(strstr(made[0].title, "Cart.<init>"));
}

static void what_created_a_goroutine_is_part_of_no_key(void **state)
{
    (void)state;
    json_t *report = make_report(11, "unknown", "main.serve|lib:goexit|main.main");
    json_t *frames = report_frames(report_crashed_thread(report));
    (void)json_object_set_new(json_array_get(frames, 2), "creator", json_true());
    struct made with = make(report);
    struct made without = of(11, "unknown", "main.serve|lib:goexit");
    expect_same(with, without);
    assert_string_equal(with.stack, without.stack);
}

static void a_helper_that_only_reports_takes_its_caller_along(void **state)
{
    (void)state;
    static const char inner[] = "lib:raise|lib:abort|";
    char first[128];
    char second[128];
    (void)snprintf(first, sizeof(first), "%slog_fatal|load_shop|main@a.c", inner);
    (void)snprintf(second, sizeof(second), "%slog_fatal|save_shop|main@a.c", inner);
    expect_other(of(6, "abort", first), of(6, "abort", second));
    assert_string_equal(of(6, "abort", first).title,
                        "abort in load_shop by log_fatal \u00b7 shop-1.2");
    // Where nothing was reported the same name is a place like any other.
    expect_same(of(11, "unknown", "log_fatal|load_shop|main@a.c"),
                of(11, "unknown", "log_fatal|save_shop|main@a.c"));
}

static void the_phase_of_a_recursion_does_not_count(void **state)
{
    (void)state;
    static const char first[] = "do_term|do_expr|do_term|do_expr|do_term|do_expr";
    static const char second[] = "do_expr|do_term|do_expr|do_term|do_expr|do_term";
    static const char leaf[] =
        "leaf_it|do_expr|do_term|do_expr|do_term|do_expr|do_term";
    struct made base = of(11, "stack-overflow", first);
    expect_same(base, of(11, "stack-overflow", second));
    expect_same(base, of(11, "stack-overflow", leaf));
}

static void a_name_of_one_word_has_its_file_as_scope(void **state)
{
    (void)state;
    expect_other(of(11, "unknown", "parse@/a/http.c"),
                 of(11, "unknown", "parse@/a/ini.c"));
    expect_same(of(11, "unknown", "parse@/a/http.c"),
                of(11, "unknown", "parse@/b/http-1.2.c"));
    expect_same(of(11, "unknown", "parse_ini@/a/x.c"),
                of(11, "unknown", "parse_ini@y.c"));
}

static void an_inlined_lambda_has_the_scope_of_its_caller(void **state)
{
    (void)state;
    static const char library[] =
        "std::_Function_handler<void (int), gw::run(int)::{lambda(int)#1}>::_M_invoke";
    char stack[256];
    (void)snprintf(stack, sizeof(stack), "operator()|%s|gw::each|main@s.c", library);
    expect_same(
        of(11, "unknown", "gw::run(int)::{lambda(int)#1}::operator()(int) const"),
        of(11, "unknown", stack));
    expect_same(of(11, "unknown", "gw::run(int)::$_0::operator()(int) const"),
                of(11, "unknown", "operator()|gw::run(int)|main@s.c"));
}

static void a_frame_without_a_name_is_its_build_and_offset(void **state)
{
    (void)state;
    struct made base = of(11, "unknown", "lib:memcpy|+0x10|+0x20");
    expect_same(base, of(11, "unknown", "lib:memcpy|+0x10|+0x30"));
    expect_other(base, of(11, "unknown", "lib:memcpy|+0x11|+0x20"));
    assert_string_equal(base.title, "crash in shop-1.2+0x10 \u00b7 shop-1.2");
    expect_other(of(6, "abort", "lib:abort|+0x10|+0x20"),
                 of(6, "abort", "lib:abort|+0x10|+0x30"));
}

static void two_bugs_in_one_interpreter_are_two_groups(void **state)
{
    (void)state;
    struct made total = of(11, "null-dereference",
                           "lib:strlen|py:Shop.total.<locals>.one@/srv/"
                           "shop.py|lib:_PyEval|py:main@/srv/a.py");
    expect_same(total,
                of(11, "wild-jump",
                   "lib:strlen|py:string_at@/usr/lib/python3.11/ctypes/__init__.py|"
                   "py:Shop.total.<locals>.one@/opt/shop.py|lib:_PyEval"));
    expect_other(total, of(11, "null-dereference",
                           "lib:strlen|py:Shop.name@/srv/shop.py|lib:_PyEval"));
    expect_other(total, of(11, "null-dereference",
                           "lib:strlen|py:Shop.total.<locals>.one@/srv/other.py"));
    assert_string_equal(
        total.title,
        "null pointer in Shop.total.<locals>.one (shop.py) \u00b7 shop-1.2");
    assert_string_equal(total.stack, "Shop.total.<locals>.one@shop\nmain@a\n");
}

static struct made make_assertion(const char *message)
{
    json_t *report = make_report(6, "assertion", "lib:abort|put_item|main@s.c");
    (void)json_object_set_new(json_object_get(report, "crash"), "message",
                              json_string(message));
    return make(report);
}

static void messages_keep_assertions_apart_but_not_their_numbers(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "shop: shop.c:7: put_item: Assertion `count > 0' failed.",
        "shop-2: shop.c:99: put_item: Assertion `count > 0' failed.",
        "shop: shop.c:7: put_item: Assertion `item != NULL' failed.",
    };
    struct made made[3];
    for (size_t i = 0; i < 3; i++)
        made[i] = make_assertion(messages[i]);
    expect_same(made[0], made[1]);
    expect_other(made[0], made[2]);
    assert_string_equal(made[0].title,
                        "assertion \"count > 0\" in put_item \u00b7 shop-1.2");
}

static void an_assertion_is_keyed_and_titled_by_its_whole_expression(void **state)
{
    (void)state;
    static const char *const messages[] = {
        "shop: shop.c:7: put_item: Assertion `state != failed' failed.",
        "Assertion failed: state != failed (shop.c: put_item: 7)", // musl
        "shop: shop.c:7: put_item: Assertion `state == failed' failed.",
        "Assertion failed: count (of items) > 0 (shop.c: put_item: 9)",
        "Assertion failed: k || !\"Assertion `k' failed\" (shop.c: put_item: 9)",
        "Assertion failed: ",
        "Assertion `' failed.",
        "Assertion failed",
    };
    enum { COUNT = sizeof(messages) / sizeof(messages[0]) };
    struct made made[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        made[i] = make_assertion(messages[i]);
    expect_same(made[0], made[1]);
    expect_other(made[0], made[2]);
    assert_string_equal(made[0].title,
                        "assertion \"state != failed\" in put_item \u00b7 shop-1.2");
    assert_string_equal(made[1].title, made[0].title);
    assert_string_equal(
        made[3].title,
        "assertion \"count (of items) > 0\" in put_item \u00b7 shop-1.2");
    assert_string_equal(made[4].title, "assertion \"k || !\"Assertion `k' failed\"\""
                                       " in put_item \u00b7 shop-1.2");
}

static void
code_without_a_line_is_not_of_the_header_that_was_inlined_there(void **state)
{
    (void)state;
    static const char stack[] = "lib:abort|run@/usr/include/c++/12/bits/std_thread.h";
    json_t *report = make_report(6, "terminate", stack);
    json_t *frames = report_frames(report_crashed_thread(report));
    (void)json_object_del(json_array_get(frames, 1), "line");
    assert_string_equal(make(report).title, "std::terminate in run \u00b7 shop-1.2");
    assert_string_equal(of(6, "terminate", stack).title,
                        "std::terminate in run (std_thread.h) \u00b7 shop-1.2");
    expect_other(of(6, "terminate", stack), of(6, "terminate", "lib:abort|run@/s.cc"));
}

static void a_title_says_what_where_and_in_which_program(void **state)
{
    (void)state;
    json_t *report =
        make_report(11, "null-dereference", "lib:memcpy|pricing_add_line|main@s.c");
    (void)json_object_set_new(report, "release", json_string("1.4.2"));
    assert_string_equal(make(report).title,
                        "null pointer in pricing_add_line \u00b7 shop-1.2");
    report = make_report(6, "abort", "lib:abort|pricing_add_line|main@s.c");
    (void)json_object_set_new(json_object_get(report, "crash"), "message",
                              json_string("no price\r\nof a pear"));
    assert_string_equal(make(report).title,
                        "abort \"no price\" in pricing_add_line \u00b7 shop-1.2");
}

static void stacks_without_own_frames_still_have_a_key(void **state)
{
    (void)state;
    expect_other(of(11, "unknown", "lib:memcpy|lib:qsort"),
                 of(11, "unknown", "lib:strlen|lib:qsort"));
    expect_same(of(11, "unknown", ""), of(11, "unknown", ""));
}

static void near_stacks_share_their_inner_frames(void **state)
{
    (void)state;
    assert_int_equal(similar_percent("a\nb\nc\n", "a\nb\nc\n"), 100);
    assert_int_equal(similar_percent("a\nb\n", "x\ny\n"), 0);
    assert_int_equal(similar_percent("", "a\n"), 0);
    assert_true(similar_percent("a\nb\nc\n", "a\nb\nx\n") >
                similar_percent("a\nb\nc\n", "x\nb\nc\n"));
    assert_true(similar_percent("new\na\nb\nc\n", "a\nb\nc\n") > NEAR_LEAST - 20);
}

static void a_panic_is_known_by_what_it_says_and_not_where_its_source_was(void **state)
{
    (void)state;
    static const char *const same[] = {
        "thread 'main' panicked at /a/src/stock.rs:40:9:\nno page 17 of \"x\"",
        "thread 'w-3' panicked at src/stock.rs:41:13: no page 9 of \"yy\"",
        "thread 'main' panicked at 'no page 9 of \"yy\"', src/stock.rs:41:13",
    };
    struct made first = panicked(same[0]);
    for (size_t i = 1; i < sizeof(same) / sizeof(same[0]); i++)
        assert_string_equal(panicked(same[i]).key, first.key);
    assert_string_equal(first.title,
                        "panic \"no page 17 of \"x\"\" in stock::find · shop-1.2");
    assert_string_not_equal(panicked("thread 'main' panicked at a.rs:1:2:\nfull").key,
                            first.key);
    assert_string_equal(panicked("thread 'main' panicked at a.rs:1:2:").title,
                        "panic in stock::find · shop-1.2");
    assert_string_equal(panicked("panic: no page 9").title,
                        "panic \"no page 9\" in stock::find · shop-1.2");
    (void)panicked("thread 'main' panicked at ");
    (void)panicked("thread 'main' panicked at 'cut");
    (void)panicked("thread 'main' panicked at a:b:c:1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_panic_is_known_by_what_it_says_and_not_where_its_source_was),
        cmocka_unit_test(a_key_is_the_innermost_own_function),
        cmocka_unit_test(a_program_with_many_names_has_the_one_it_was_started_by),
        cmocka_unit_test(a_jump_into_data_is_of_the_function_that_jumped),
        cmocka_unit_test(a_use_after_free_is_keyed_by_what_freed_the_block),
        cmocka_unit_test(code_that_returns_from_a_signal_is_no_place),
        cmocka_unit_test(what_created_a_goroutine_is_part_of_no_key),
        cmocka_unit_test(
            a_program_that_has_the_note_of_the_c_library_alone_is_not_of_its_package),
        cmocka_unit_test(a_constructor_of_java_is_told_from_a_class_initializer),
        cmocka_unit_test(a_helper_that_only_reports_takes_its_caller_along),
        cmocka_unit_test(the_phase_of_a_recursion_does_not_count),
        cmocka_unit_test(a_name_of_one_word_has_its_file_as_scope),
        cmocka_unit_test(an_inlined_lambda_has_the_scope_of_its_caller),
        cmocka_unit_test(a_frame_without_a_name_is_its_build_and_offset),
        cmocka_unit_test(two_bugs_in_one_interpreter_are_two_groups),
        cmocka_unit_test(messages_keep_assertions_apart_but_not_their_numbers),
        cmocka_unit_test(an_assertion_is_keyed_and_titled_by_its_whole_expression),
        cmocka_unit_test(
            code_without_a_line_is_not_of_the_header_that_was_inlined_there),
        cmocka_unit_test(a_title_says_what_where_and_in_which_program),
        cmocka_unit_test(stacks_without_own_frames_still_have_a_key),
        cmocka_unit_test(near_stacks_share_their_inner_frames),
    };
    return cmocka_run_group_tests_name("report/group_key", tests, NULL, NULL);
}
