// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <time.h>

#include "cli/node/node.h"
#include "support/test.h"

static long this_minute(void)
{
    enum { SECONDS = 60 };
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec / SECONDS;
}

// admitted is how many of count crashes, each of another program, are to be reported.
static unsigned admitted(struct node_rates *rates, uid_t user, unsigned count)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++) {
        char program[16];
        (void)snprintf(program, sizeof(program), "/%u", i);
        found += node_rates_take(rates, user, program) == 0;
    }
    return found;
}

static void
a_user_with_many_programs_has_no_more_reports_and_nobody_else_has(void **state)
{
    enum { LIMIT = 6, MANY = 1 << 14, FEW = 2 * LIMIT, ONE = 1000, OTHER = 1001 };
    unsigned of_one;
    unsigned of_other;
    long began;
    (void)state;
    do {
        struct node_rates rates;
        began = this_minute();
        node_rates_open(NULL, LIMIT, &rates);
        of_one = admitted(&rates, ONE, MANY);
        of_other = admitted(&rates, OTHER, FEW);
        node_rates_close(&rates);
    } while (this_minute() != began); // each minute has its own counts
    assert_int_equal(of_one, LIMIT);
    assert_int_equal(of_other, LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_user_with_many_programs_has_no_more_reports_and_nobody_else_has),
    };
    return cmocka_run_group_tests_name("cli/node_ledger", tests, NULL, NULL);
}
