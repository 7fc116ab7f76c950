// SPDX-License-Identifier: Apache-2.0
//
// Chains of suspended coroutines, laid out here as compilers lay them out; the example
// backtrace_coroutine has real ones.
#include "crashhook/backtrace.h"

#include <errno.h>
#include <stdlib.h>

#include "support/test.h"

// A coroutine's frame: its resume and destroy functions, then its promise, which begins
// with the coroutine that awaits it.
struct coroutine {
    void (*resume)(void);
    void (*destroy)(void);
    const void *awaiting;
};

enum { AWAITING = offsetof(struct coroutine, awaiting), FRAMES_MAX = 16 };

static volatile int resumed;

static void resume_reader(void)
{
    resumed = 1;
}

static void resume_loader(void)
{
    resumed = 2;
}

static struct coroutine loader = { resume_loader, NULL, NULL };
static struct coroutine reader = { resume_reader, NULL, &loader };

// appended gives the addresses of the async frames that are appended to a backtrace of
// one program counter, ended by 0, and the error in out_error.
static const uint64_t *appended(const void *coroutine, size_t continuation, size_t max,
                                int *out_error)
{
    static uint64_t found[FRAMES_MAX + 1];
    struct crashhook_backtrace *backtrace;
    struct crashhook_frame frame;
    const uint64_t pc = 0x1000;
    size_t count = 0;
    assert_int_equal(crashhook_backtrace_from_addresses(
                         &pc, 1, CRASHHOOK_FRAME_PROGRAM_COUNTER, &backtrace),
                     0);
    *out_error =
        crashhook_backtrace_append_async(backtrace, coroutine, continuation, max);
    struct crashhook_frames frames = crashhook_backtrace_frames(backtrace);
    while (crashhook_frames_next(&frames, &frame) && count < FRAMES_MAX)
        if (frame.kind == CRASHHOOK_FRAME_ASYNC_RESUME_POINT)
            found[count++] = frame.address.bits;
    found[count] = 0;
    crashhook_backtrace_destroy(backtrace);
    return found;
}

static void coroutines_follow_who_awaits_them(void **state)
{
    (void)state;
    int error;
    const uint64_t *found = appended(&reader, AWAITING, FRAMES_MAX, &error);
    assert_int_equal(error, 0);
    assert_int_equal(found[0], (uintptr_t)resume_reader);
    assert_int_equal(found[1], (uintptr_t)resume_loader);
    assert_int_equal(found[2], 0);
}

static void coroutine_of_unknown_layout_stands_alone(void **state)
{
    (void)state;
    int error;
    const uint64_t *found =
        appended(&reader, CRASHHOOK_NO_CONTINUATION, FRAMES_MAX, &error);
    assert_int_equal(error, 0);
    assert_int_equal(found[0], (uintptr_t)resume_reader);
    assert_int_equal(found[1], 0);
}

static void chain_ends_at_a_coroutine_that_ended(void **state)
{
    (void)state;
    int error;
    const struct coroutine ended = { NULL, NULL, &loader };
    const struct coroutine first = { resume_reader, NULL, &ended };
    const uint64_t *found = appended(&first, AWAITING, FRAMES_MAX, &error);
    assert_int_equal(error, 0);
    assert_int_equal(found[0], (uintptr_t)resume_reader);
    assert_int_equal(found[1], 0);
    found = appended(NULL, AWAITING, FRAMES_MAX, &error);
    assert_int_equal(error, 0);
    assert_int_equal(found[0], 0);
}

static void chain_that_runs_in_a_circle_ends_at_its_limit(void **state)
{
    (void)state;
    int error;
    struct coroutine circle = { resume_reader, NULL, &circle };
    const uint64_t *found = appended(&circle, AWAITING, 5, &error);
    assert_int_equal(error, 0);
    assert_int_equal(found[4], (uintptr_t)resume_reader);
    assert_int_equal(found[5], 0);
}

static void what_is_no_coroutine_is_said_and_those_before_it_stay(void **state)
{
    (void)state;
    static const uint64_t data[] = { 0x123456789, 0, 0 };
    const void *const wrong[] = { (const void *)8, data, (const char *)&loader + 1 };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int error;
        const struct coroutine first = { resume_reader, NULL, wrong[i] };
        const uint64_t *found = appended(&first, AWAITING, FRAMES_MAX, &error);
        assert_int_equal(error, EFAULT);
        assert_int_equal(found[0], (uintptr_t)resume_reader);
        assert_int_equal(found[1], 0);
    }
}

static void nothing_is_appended_behind_a_truncated_frame(void **state)
{
    (void)state;
    const struct crashhook_frame truncated = { .kind = CRASHHOOK_FRAME_TRUNCATED };
    struct crashhook_backtrace *backtrace;
    assert_int_equal(
        crashhook_backtrace_from_frames("x86_64", &truncated, 1, NULL, &backtrace), 0);
    int error = crashhook_backtrace_append_async(backtrace, &reader, AWAITING, 4);
    crashhook_backtrace_destroy(backtrace);
    assert_int_equal(error, EINVAL);
}

static void coroutines_are_described_as_what_they_are(void **state)
{
    (void)state;
    const struct crashhook_frame frame = { .kind = CRASHHOOK_FRAME_ASYNC_RESUME_POINT,
                                           .address =
                                               crashhook_address_make(0x10, 64) };
    char *text = crashhook_frame_description(&frame);
    bool labelled = strstr(text, "[async]") != NULL;
    free(text);
    assert_true(labelled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coroutines_follow_who_awaits_them),
        cmocka_unit_test(coroutine_of_unknown_layout_stands_alone),
        cmocka_unit_test(chain_ends_at_a_coroutine_that_ended),
        cmocka_unit_test(chain_that_runs_in_a_circle_ends_at_its_limit),
        cmocka_unit_test(what_is_no_coroutine_is_said_and_those_before_it_stay),
        cmocka_unit_test(nothing_is_appended_behind_a_truncated_frame),
        cmocka_unit_test(coroutines_are_described_as_what_they_are),
    };
    return cmocka_run_group_tests_name("backtrace/async", tests, NULL, NULL);
}
