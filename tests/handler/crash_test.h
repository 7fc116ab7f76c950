// SPDX-License-Identifier: Apache-2.0
//
// What every test of a real crash begins and ends with: one struct real_crash,
// forgotten before and its folder removed after.
#pragma once
#include <stdio.h>

#include "handler/real_crash.h"
#include "support/test.h"

// A wait that should not be lasts at least the default CRASHHOOK_TIMEOUT of 30 s, or
// the 20 s that a lingering agent takes; a busy machine takes its time for everything
// else.
enum { SOON_MS = 10000 };

static struct real_crash run;

static int crash_test_forget(void **state)
{
    (void)state;
    memset(&run, 0, sizeof(run));
    return 0;
}

static int crash_test_clean(void **state)
{
    (void)state;
    real_crash_end(&run);
    return 0;
}

#define CRASH_TEST(test)                                                               \
    cmocka_unit_test_setup_teardown(test, crash_test_forget, crash_test_clean)
