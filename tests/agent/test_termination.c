// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/termination.h"
#include "report/summary/crash_kind.h"

#include <signal.h>
#include <stdio.h>

#include "support/test.h"

enum { SECOND = 1000000000 };

// A process whose number no other has, so that the kernel's log says nothing of it.
static struct termination killed_termination(void)
{
    return (struct termination){ .pid = (1 << 22) + 5,
                                 .supervisor = LIVENESS_BY_RUN,
                                 .signal = SIGKILL,
                                 .realtime_ns = UINT64_C(1000) * SECOND,
                                 .started_ns = UINT64_MAX };
}

// assert_judged judges termination and frees it.
static void assert_judged(struct termination *termination, const char *kind,
                          const char *cause, const char *summary)
{
    char said[512];
    termination_judge(termination);
    (void)snprintf(said, sizeof(said), "%s", termination->summary.bytes);
    termination_deinit(termination);
    assert_string_equal(crash_kind_word(termination->kind), kind);
    assert_string_equal(termination->cause, cause);
    assert_string_equal(said, summary);
}

static void termination_of_a_full_cgroup_names_its_limit(void **state)
{
    (void)state;
    struct termination termination = killed_termination();
    termination.liveness.limit_bytes = 60 << 20;
    termination.liveness.events = (struct liveness_events){ .oom_kills = 1, .ooms = 1 };
    assert_judged(&termination, "out-of-memory", "memory-cgroup",
                  "Killed by the kernel: its memory cgroup is full (limit 60 MB)");
}

static void
termination_by_memory_where_no_limit_was_reached_is_of_another_group(void **state)
{
    (void)state;
    struct termination termination = killed_termination();
    termination.liveness.limit_bytes = 60 << 20;
    termination.liveness.events = (struct liveness_events){ .oom_kills = 1 };
    assert_judged(
        &termination, "out-of-memory", "memory",
        "Killed by the kernel: the machine, or a cgroup above its own, is out "
        "of memory");
}

static void termination_by_systemd_oomd_is_its(void **state)
{
    (void)state;
    struct termination termination = killed_termination();
    termination.liveness.events.oomd_kills = 1;
    assert_judged(&termination, "out-of-memory", "systemd-oomd",
                  "Killed by systemd-oomd, which frees memory and swap");
}

static struct termination asked_termination(int signal, int by, const char *name,
                                            enum liveness_service service)
{
    struct termination termination = killed_termination();
    termination.liveness.asked_signal = signal;
    termination.liveness.asked_by = by;
    termination.liveness.asked_realtime_ns =
        termination.realtime_ns - UINT64_C(2) * SECOND;
    termination.liveness.service = service;
    (void)snprintf(termination.liveness.asked_by_name,
                   sizeof(termination.liveness.asked_by_name), "%s", name);
    return termination;
}

static void termination_after_a_request_says_whose_it_was(void **state)
{
    (void)state;
    struct termination termination =
        asked_termination(SIGTERM, 77, "supervisor", LIVENESS_NO_SERVICE);
    assert_judged(
        &termination, "killed", "did-not-end",
        "Killed by SIGKILL, 2.0 s after SIGTERM from process 77 (supervisor), "
        "which did not end it");
}

static void termination_by_kubernetes_says_what_that_does_so_for(void **state)
{
    (void)state;
    struct termination termination =
        asked_termination(SIGTERM, LIVENESS_ASKED_OUTSIDE, "", LIVENESS_OF_KUBERNETES);
    assert_judged(
        &termination, "killed", "did-not-end",
        "Killed by SIGKILL, 2.0 s after SIGTERM from outside of its container, "
        "which did not end it; so Kubernetes ends a container whose liveness "
        "probe failed, or whose pod is deleted");
}

static void termination_of_a_service_that_does_not_stop_says_so(void **state)
{
    (void)state;
    struct termination termination =
        asked_termination(SIGTERM, 1, "systemd", LIVENESS_OF_SYSTEMD);
    assert_judged(
        &termination, "killed", "did-not-end",
        "Killed by SIGKILL, 2.0 s after SIGTERM from process 1 (systemd), "
        "which did not end it; so systemd ends a service that does not stop in "
        "its TimeoutStopSec");
}

static void termination_after_systemds_watchdog_is_a_watchdogs(void **state)
{
    (void)state;
    struct termination termination =
        asked_termination(SIGABRT, 1, "systemd", LIVENESS_OF_SYSTEMD);
    assert_judged(&termination, "watchdog", "did-not-end",
                  "Killed by SIGKILL: it did not feed systemd's watchdog, and SIGABRT, "
                  "2.0 s before, did not end it");
}

static void termination_after_a_crash_that_nobody_reported_says_so(void **state)
{
    (void)state;
    struct termination termination = killed_termination();
    termination.crash_signal = SIGSEGV;
    assert_judged(&termination, "unknown", "cut-off",
                  "Crashed, and ended in another way, by SIGKILL, before the crash was "
                  "reported");
    termination = killed_termination();
    termination.crash_signal = SIGSEGV;
    termination.signal = 0;
    assert_judged(&termination, "unknown", "cut-off",
                  "Crashed, and ended in another way, with status 0, before the crash "
                  "was reported");
}

static void termination_by_the_crash_itself_says_that_nothing_reported_it(void **state)
{
    (void)state;
    struct termination termination = killed_termination();
    termination.crash_signal = SIGSEGV;
    termination.signal = SIGSEGV;
    assert_judged(&termination, "unknown", "signal",
                  "Ended by SIGSEGV, which no handler could report: only the end is "
                  "known");
}

static void termination_of_a_stuck_process_says_where_it_was(void **state)
{
    (void)state;
    struct termination termination = killed_termination();
    termination.liveness.stuck_since_ns =
        termination.realtime_ns - UINT64_C(4) * SECOND;
    termination.liveness.stuck_seen_ns = termination.realtime_ns - SECOND;
    (void)snprintf(termination.liveness.stuck_in, sizeof(termination.liveness.stuck_in),
                   "request_wait_answer");
    assert_judged(&termination, "killed", "signal",
                  "Killed by SIGKILL, which a process sent; its first thread had been "
                  "stuck in the kernel for 3.0 s, in request_wait_answer");
    termination = killed_termination();
    termination.liveness.stuck_seen_ns = termination.realtime_ns - SECOND;
    assert_judged(&termination, "killed", "signal",
                  "Killed by SIGKILL, which a process sent"); // it has gone on since
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(termination_of_a_full_cgroup_names_its_limit),
        cmocka_unit_test(
            termination_by_memory_where_no_limit_was_reached_is_of_another_group),
        cmocka_unit_test(termination_by_systemd_oomd_is_its),
        cmocka_unit_test(termination_after_a_request_says_whose_it_was),
        cmocka_unit_test(termination_by_kubernetes_says_what_that_does_so_for),
        cmocka_unit_test(termination_of_a_service_that_does_not_stop_says_so),
        cmocka_unit_test(termination_after_systemds_watchdog_is_a_watchdogs),
        cmocka_unit_test(termination_after_a_crash_that_nobody_reported_says_so),
        cmocka_unit_test(termination_by_the_crash_itself_says_that_nothing_reported_it),
        cmocka_unit_test(termination_of_a_stuck_process_says_where_it_was),
    };
    return cmocka_run_group_tests_name("agent/death", tests, NULL, NULL);
}
