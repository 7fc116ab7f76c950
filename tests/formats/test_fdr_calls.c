// SPDX-License-Identifier: Apache-2.0
#include "formats/interchange/fdr_calls.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

// A log is what the calls' user got: "tid+function" and "tid-function:time:how".
struct log {
    char text[16384];
    size_t size;
};

static void log_enter(void *context, struct fdr_calls_thread *thread,
                      struct fdr_call *call)
{
    struct log *log = context;
    log->size += (size_t)snprintf(log->text + log->size, sizeof(log->text) - log->size,
                                  "%d+%u ", thread->tid, call->function);
}

static void log_leave(void *context, const struct fdr_calls_thread *thread,
                      const struct fdr_call *call, uint64_t end, enum fdr_call_end how)
{
    struct log *log = context;
    log->size += (size_t)snprintf(log->text + log->size, sizeof(log->text) - log->size,
                                  "%d-%u:%d:%s ", thread->tid, call->function,
                                  (int)(end - call->begin), fdr_call_end_name(how));
}

struct step {
    int32_t tid;
    enum fdr_action action;
    uint32_t function;
    uint64_t tsc;
};

static uint64_t follow(struct log *log, const struct step *steps, size_t count)
{
    const struct fdr_calls_user user = { log, log_enter, log_leave };
    struct fdr_calls calls;
    enum ch_status status = CH_OK;
    fdr_calls_init(&calls, &user);
    for (size_t i = 0; i < count && status == CH_OK; i++) {
        const struct fdr_record record = { .kind = FDR_FUNCTION,
                                           .action = steps[i].action,
                                           .function = steps[i].function,
                                           .tid = steps[i].tid,
                                           .tsc = steps[i].tsc };
        status = fdr_calls_add(&calls, &record);
    }
    fdr_calls_finish(&calls);
    uint64_t unmatched = calls.unmatched;
    fdr_calls_deinit(&calls);
    assert_int_equal(status, CH_OK);
    return unmatched;
}

#define FOLLOW(log, steps) follow(log, steps, sizeof(steps) / sizeof((steps)[0]))

static void exits_end_the_innermost_call_of_their_function(void **state)
{
    (void)state;
    static const struct step steps[] = { { 1, FDR_ENTER, 7, 10 },
                                         { 1, FDR_ENTER, 7, 20 },
                                         { 1, FDR_EXIT, 7, 25 },
                                         { 1, FDR_EXIT, 7, 40 } };
    struct log log = { .size = 0 };
    assert_int_equal(FOLLOW(&log, steps), 0);
    assert_string_equal(log.text, "1+7 1+7 1-7:5:returned 1-7:30:returned ");
}

static void calls_without_an_exit_end_with_the_call_around_them(void **state)
{
    (void)state;
    static const struct step steps[] = { { 1, FDR_ENTER, 1, 10 },
                                         { 1, FDR_ENTER_ARGS, 2, 20 },
                                         { 1, FDR_EXIT, 1, 25 } };
    struct log log = { .size = 0 };
    assert_int_equal(FOLLOW(&log, steps), 0);
    assert_string_equal(log.text, "1+1 1+2 1-2:5:left 1-1:15:returned ");
}

static void tail_exits_and_calls_that_are_still_open_are_told_apart(void **state)
{
    (void)state;
    static const struct step steps[] = { { 1, FDR_ENTER, 1, 10 },
                                         { 1, FDR_ENTER, 2, 20 },
                                         { 1, FDR_TAIL_EXIT, 2, 22 },
                                         { 1, FDR_ENTER, 3, 23 } };
    struct log log = { .size = 0 };
    assert_int_equal(FOLLOW(&log, steps), 0);
    assert_string_equal(log.text, "1+1 1+2 1-2:2:tail 1+3 1-3:0:open 1-1:13:open ");
}

static void exits_without_an_entry_are_counted_and_end_nothing(void **state)
{
    (void)state;
    static const struct step steps[] = { { 1, FDR_EXIT, 9, 5 },
                                         { 1, FDR_ENTER, 1, 10 },
                                         { 1, FDR_EXIT, 9, 15 },
                                         { 1, FDR_EXIT, 1, 20 } };
    struct log log = { .size = 0 };
    assert_int_equal(FOLLOW(&log, steps), 2);
    assert_string_equal(log.text, "1+1 1-1:10:returned ");
}

static void threads_have_stacks_of_their_own(void **state)
{
    (void)state;
    struct step steps[300];
    struct log log = { .size = 0 };
    for (size_t i = 0; i < 100; i++) { // more than the hash table begins with
        steps[i] = (struct step){ (int32_t)i * 64, FDR_ENTER, 1, i };
        steps[100 + i] = (struct step){ (int32_t)i * 64, FDR_ENTER, 2, 100 + i };
        steps[200 + i] = (struct step){ (int32_t)i * 64, FDR_EXIT, 2, 200 + i };
    }
    assert_int_equal(FOLLOW(&log, steps), 0);
    assert_non_null(strstr(log.text, "6336+2 "));
    assert_non_null(strstr(log.text, "6336-2:100:returned "));
}

static void time_that_goes_back_gives_calls_no_time(void **state)
{
    (void)state;
    static const struct step steps[] = { { 1, FDR_ENTER, 1, 10 },
                                         { 1, FDR_EXIT, 1, 4 } };
    struct log log = { .size = 0 };
    assert_int_equal(FOLLOW(&log, steps), 0);
    assert_string_equal(log.text, "1+1 1-1:0:returned ");
}

static void nothing(void *context, struct fdr_calls_thread *thread,
                    struct fdr_call *call)
{
    (void)context;
    (void)thread;
    (void)call;
}

static void open_calls_past_the_limit_are_counted(void **state)
{
    (void)state;
    const struct fdr_calls_user user = { NULL, nothing, NULL };
    struct fdr_record record = { .kind = FDR_FUNCTION, .function = 1, .tid = 1 };
    struct fdr_calls calls;
    bool ok = true;
    fdr_calls_init(&calls, &user);
    for (size_t i = 0; i < FDR_CALLS_OPEN_MAX + 3; i++)
        ok &= fdr_calls_add(&calls, &record) == CH_OK;
    record.action = FDR_EXIT;
    for (size_t i = 0; i < 3; i++) // of those that were not tracked
        ok &= fdr_calls_add(&calls, &record) == CH_OK;
    uint64_t left_out = calls.left_out;
    size_t open = calls.open_count;
    fdr_calls_deinit(&calls);
    assert_true(ok);
    assert_int_equal(left_out, 3);
    assert_int_equal(open, FDR_CALLS_OPEN_MAX);
}

static void nothing_left(void *context, const struct fdr_calls_thread *thread,
                         const struct fdr_call *call, uint64_t end,
                         enum fdr_call_end how)
{
    (void)context;
    (void)thread;
    (void)call;
    (void)end;
    (void)how;
}

static void exits_without_an_entry_in_a_deep_recursion_take_bounded_time(void **state)
{
    (void)state;
    enum { DEPTH = 4000 };
    const struct fdr_calls_user user = { NULL, nothing, nothing_left };
    struct fdr_record record = { .kind = FDR_FUNCTION, .function = 1, .tid = 1 };
    struct fdr_calls calls;
    bool ok = true;
    fdr_calls_init(&calls, &user);
    for (size_t i = 0; i < DEPTH; i++) {
        ok &= fdr_calls_add(&calls, &record) == CH_OK;
        record.function = 2;
    }
    record.action = FDR_EXIT;
    record.function = 3;
    for (size_t i = 0; i < DEPTH; i++)
        ok &= fdr_calls_add(&calls, &record) == CH_OK;
    uint64_t unmatched = calls.unmatched;
    uint64_t left_out = calls.left_out;
    record.function = 2;
    ok &= fdr_calls_add(&calls, &record) == CH_OK;
    size_t open = calls.open_count;
    fdr_calls_deinit(&calls);
    assert_true(ok);
    assert_int_equal(unmatched + left_out, DEPTH);
    assert_in_range(unmatched, 200, 400); // what DEPTH entries allow
    assert_int_equal(open, DEPTH - 1);
}

static void an_exit_may_end_a_deep_recursion(void **state)
{
    (void)state;
    enum { DEPTH = 200000 };
    const struct fdr_calls_user user = { NULL, nothing, nothing_left };
    struct fdr_record record = { .kind = FDR_FUNCTION, .function = 1, .tid = 1 };
    struct fdr_calls calls;
    bool ok = true;
    fdr_calls_init(&calls, &user);
    for (size_t i = 0; i < DEPTH; i++) {
        ok &= fdr_calls_add(&calls, &record) == CH_OK;
        record.function = 2;
    }
    record.action = FDR_EXIT;
    record.function = 1;
    ok &= fdr_calls_add(&calls, &record) == CH_OK;
    size_t open = calls.open_count;
    fdr_calls_deinit(&calls);
    assert_true(ok);
    assert_int_equal(open, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exits_end_the_innermost_call_of_their_function),
        cmocka_unit_test(calls_without_an_exit_end_with_the_call_around_them),
        cmocka_unit_test(tail_exits_and_calls_that_are_still_open_are_told_apart),
        cmocka_unit_test(exits_without_an_entry_are_counted_and_end_nothing),
        cmocka_unit_test(threads_have_stacks_of_their_own),
        cmocka_unit_test(time_that_goes_back_gives_calls_no_time),
        cmocka_unit_test(open_calls_past_the_limit_are_counted),
        cmocka_unit_test(exits_without_an_entry_in_a_deep_recursion_take_bounded_time),
        cmocka_unit_test(an_exit_may_end_a_deep_recursion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
