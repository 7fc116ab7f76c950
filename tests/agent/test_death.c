// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/death.h"
#include "report/summary/crash_kind.h"

#include <signal.h>
#include <stdio.h>

#include "support/test.h"

enum { SECOND = 1000000000 };

// A process whose number no other has, so that the kernel's log says nothing of it.
static struct death killed_death(void)
{
    return (struct death){ .pid = (1 << 22) + 5,
                           .keeper = LIFE_BY_RUN,
                           .signal = SIGKILL,
                           .realtime_ns = UINT64_C(1000) * SECOND,
                           .started_ns = UINT64_MAX };
}

// assert_judged judges death and frees it.
static void assert_judged(struct death *death, const char *kind, const char *cause,
                          const char *summary)
{
    char said[512];
    death_judge(death);
    (void)snprintf(said, sizeof(said), "%s", death->summary.bytes);
    death_deinit(death);
    assert_string_equal(crash_kind_word(death->kind), kind);
    assert_string_equal(death->cause, cause);
    assert_string_equal(said, summary);
}

static void death_of_a_full_cgroup_names_its_limit(void **state)
{
    (void)state;
    struct death death = killed_death();
    death.life.limit_bytes = 60 << 20;
    death.life.events = (struct life_events){ .oom_kills = 1, .ooms = 1 };
    assert_judged(&death, "out-of-memory", "memory-cgroup",
                  "Killed by the kernel: its memory cgroup is full (limit 60 MB)");
}

static void death_by_memory_where_no_limit_was_reached_is_of_another_group(void **state)
{
    (void)state;
    struct death death = killed_death();
    death.life.limit_bytes = 60 << 20;
    death.life.events = (struct life_events){ .oom_kills = 1 };
    assert_judged(
        &death, "out-of-memory", "memory",
        "Killed by the kernel: the machine, or a cgroup above its own, is out "
        "of memory");
}

static void death_by_systemd_oomd_is_its(void **state)
{
    (void)state;
    struct death death = killed_death();
    death.life.events.oomd_kills = 1;
    assert_judged(&death, "out-of-memory", "systemd-oomd",
                  "Killed by systemd-oomd, which frees memory and swap");
}

static struct death asked_death(int signal, int by, const char *name,
                                enum life_service service)
{
    struct death death = killed_death();
    death.life.asked_signal = signal;
    death.life.asked_by = by;
    death.life.asked_realtime_ns = death.realtime_ns - UINT64_C(2) * SECOND;
    death.life.service = service;
    (void)snprintf(death.life.asked_by_name, sizeof(death.life.asked_by_name), "%s",
                   name);
    return death;
}

static void death_after_a_request_says_whose_it_was(void **state)
{
    (void)state;
    struct death death = asked_death(SIGTERM, 77, "supervisor", LIFE_NO_SERVICE);
    assert_judged(
        &death, "killed", "did-not-end",
        "Killed by SIGKILL, 2.0 s after SIGTERM from process 77 (supervisor), "
        "which did not end it");
}

static void death_by_kubernetes_says_what_that_does_so_for(void **state)
{
    (void)state;
    struct death death =
        asked_death(SIGTERM, LIFE_ASKED_OUTSIDE, "", LIFE_OF_KUBERNETES);
    assert_judged(
        &death, "killed", "did-not-end",
        "Killed by SIGKILL, 2.0 s after SIGTERM from outside of its container, "
        "which did not end it; so Kubernetes ends a container whose liveness "
        "probe failed, or whose pod is deleted");
}

static void death_of_a_service_that_does_not_stop_says_so(void **state)
{
    (void)state;
    struct death death = asked_death(SIGTERM, 1, "systemd", LIFE_OF_SYSTEMD);
    assert_judged(
        &death, "killed", "did-not-end",
        "Killed by SIGKILL, 2.0 s after SIGTERM from process 1 (systemd), "
        "which did not end it; so systemd ends a service that does not stop in "
        "its TimeoutStopSec");
}

static void death_after_systemds_watchdog_is_a_watchdogs(void **state)
{
    (void)state;
    struct death death = asked_death(SIGABRT, 1, "systemd", LIFE_OF_SYSTEMD);
    assert_judged(&death, "watchdog", "did-not-end",
                  "Killed by SIGKILL: it did not feed systemd's watchdog, and SIGABRT, "
                  "2.0 s before, did not end it");
}

static void death_after_a_crash_that_nobody_reported_says_so(void **state)
{
    (void)state;
    struct death death = killed_death();
    death.crash_signal = SIGSEGV;
    assert_judged(&death, "unknown", "cut-off",
                  "Crashed, and ended in another way, by SIGKILL, before the crash was "
                  "reported");
    death = killed_death();
    death.crash_signal = SIGSEGV;
    death.signal = 0;
    assert_judged(&death, "unknown", "cut-off",
                  "Crashed, and ended in another way, with status 0, before the crash "
                  "was reported");
}

static void death_by_the_crash_itself_says_that_nothing_reported_it(void **state)
{
    (void)state;
    struct death death = killed_death();
    death.crash_signal = SIGSEGV;
    death.signal = SIGSEGV;
    assert_judged(&death, "unknown", "signal",
                  "Ended by SIGSEGV, which no handler could report: only the end is "
                  "known");
}

static void death_of_a_stuck_process_says_where_it_was(void **state)
{
    (void)state;
    struct death death = killed_death();
    death.life.stuck_since_ns = death.realtime_ns - UINT64_C(4) * SECOND;
    death.life.stuck_seen_ns = death.realtime_ns - SECOND;
    (void)snprintf(death.life.stuck_in, sizeof(death.life.stuck_in),
                   "request_wait_answer");
    assert_judged(&death, "killed", "signal",
                  "Killed by SIGKILL, which a process sent; its first thread had been "
                  "stuck in the kernel for 3.0 s, in request_wait_answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(death_of_a_full_cgroup_names_its_limit),
        cmocka_unit_test(
            death_by_memory_where_no_limit_was_reached_is_of_another_group),
        cmocka_unit_test(death_by_systemd_oomd_is_its),
        cmocka_unit_test(death_after_a_request_says_whose_it_was),
        cmocka_unit_test(death_by_kubernetes_says_what_that_does_so_for),
        cmocka_unit_test(death_of_a_service_that_does_not_stop_says_so),
        cmocka_unit_test(death_after_systemds_watchdog_is_a_watchdogs),
        cmocka_unit_test(death_after_a_crash_that_nobody_reported_says_so),
        cmocka_unit_test(death_by_the_crash_itself_says_that_nothing_reported_it),
        cmocka_unit_test(death_of_a_stuck_process_says_where_it_was),
    };
    return cmocka_run_group_tests_name("agent/death", tests, NULL, NULL);
}
