// SPDX-License-Identifier: Apache-2.0
#include "agent/live/keep.h"

#include <unistd.h>

#include "support/bytes.h"
#include "support/test.h"

static const char asked_status[] = "Name:\tx\nSigPnd:\t0000000000000000\n"
                                   "ShdPnd:\t0000000000004100\nSigBlk:\t0\n";

static void keep_sees_a_request_that_a_stuck_process_cannot_take(void **state)
{
    (void)state;
    struct context_liveness liveness = { 0 };
    keep_parse_status(asked_status, &liveness); // SIGTERM and SIGKILL
    assert_int_equal(liveness.asked_signal, SIGTERM);
    assert_int_equal(liveness.asked_by, 0);
    assert_true(liveness.asked_realtime_ns != 0);
}

static void keep_leaves_a_request_that_it_knows(void **state)
{
    (void)state;
    struct context_liveness liveness = { .asked_signal = SIGHUP, .asked_by = 7 };
    keep_parse_status(asked_status, &liveness);
    assert_int_equal(liveness.asked_signal, SIGHUP);
    assert_int_equal(liveness.asked_by, 7);
}

static int parse_cut_status(const uint8_t *bytes, size_t size, void *context)
{
    struct context_liveness liveness = { 0 };
    char text[sizeof(asked_status)] = "";
    (void)context;
    memcpy(text, bytes, size);
    keep_parse_status(text, &liveness);
    return liveness.asked_signal != 0 && liveness.asked_signal != SIGTERM &&
           size >= sizeof(asked_status) - 10;
}

static void keep_survives_a_status_that_is_cut_anywhere(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere((const uint8_t *)asked_status,
                                          sizeof(asked_status) - 1, parse_cut_status,
                                          NULL),
                     0);
}

static void keep_notes_who_asks_and_not_what_a_program_tells_itself(void **state)
{
    (void)state;
    struct keep keep = { .usage = { .pid = getpid() } };
    siginfo_t info = { .si_signo = SIGTERM, .si_code = SI_USER };
    info.si_pid = getpid();
    assert_false(keep_asked(&keep, SIGTERM, &info));
    info.si_pid = getppid();
    assert_false(keep_asked(&keep, SIGUSR1, &info));
    assert_true(keep_asked(&keep, SIGTERM, &info));
    assert_int_equal(keep.liveness.asked_by, getppid());
    assert_true(keep.liveness.asked_by_name[0] != 0);
    info.si_pid = 0;
    assert_true(keep_asked(&keep, SIGINT, &info));
    assert_int_equal(keep.liveness.asked_by, LIVENESS_ASKED_OUTSIDE);
}

static void keep_looks_often_at_first(void **state)
{
    (void)state;
    uint64_t pause = keep_pause_ms(0);
    assert_true(pause < 20);
    for (int i = 0; i < 20; i++)
        pause = keep_pause_ms(pause);
    assert_int_equal(pause, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_sees_a_request_that_a_stuck_process_cannot_take),
        cmocka_unit_test(keep_leaves_a_request_that_it_knows),
        cmocka_unit_test(keep_survives_a_status_that_is_cut_anywhere),
        cmocka_unit_test(keep_notes_who_asks_and_not_what_a_program_tells_itself),
        cmocka_unit_test(keep_looks_often_at_first),
    };
    return cmocka_run_group_tests_name("agent/keep", tests, NULL, NULL);
}
