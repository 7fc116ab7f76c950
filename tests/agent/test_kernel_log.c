// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/termination.h"

#include "support/test.h"

static const char whole_log[] =
    "<6>[   10.000000] Out of memory: Killed process 41 (first) total-vm:1kB\n"
    "<6>[   20.500000] Memory cgroup out of memory: Killed process 42 (db) "
    "total-vm:2kB\n"
    "<6>[   21.000000] Out of memory: Killed process 422 (other) total-vm:3kB\n"
    "<6>[   22.000000] eth0: link is up\n";

static void
kernel_log_has_the_line_of_a_process_that_was_killed_for_memory(void **state)
{
    (void)state;
    char line[128];
    assert_true(kernel_log_find_oom(whole_log, 42, 0, line, sizeof(line)));
    assert_string_equal(
        line, "Memory cgroup out of memory: Killed process 42 (db) total-vm:2kB");
}

static void kernel_log_takes_no_line_of_an_earlier_process_of_that_number(void **state)
{
    (void)state;
    char line[128];
    const uint64_t second = 1000000000;
    assert_true(kernel_log_find_oom(whole_log, 42, 20 * second, line, sizeof(line)));
    assert_false(kernel_log_find_oom(whole_log, 42, 21 * second, line, sizeof(line)));
    assert_false(kernel_log_find_oom(whole_log, 4, 0, line, sizeof(line)));
    assert_false(kernel_log_find_oom("", 42, 0, line, sizeof(line)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            kernel_log_has_the_line_of_a_process_that_was_killed_for_memory),
        cmocka_unit_test(kernel_log_takes_no_line_of_an_earlier_process_of_that_number),
    };
    return cmocka_run_group_tests_name("agent/live/kernel_log", tests, NULL, NULL);
}
