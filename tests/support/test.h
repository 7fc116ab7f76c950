// SPDX-License-Identifier: Apache-2.0
//
// cmocka, with the three headers it wants before it in the order it wants them, and a
// way to skip a test that says why.
#pragma once
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
// clang-format on

// test_skip leaves a test that this place or build cannot run. tests/skipped.py lists
// what it prints.
static inline void test_skip(const char *why)
{
    print_message("skipped '%s'\n", why);
    skip();
}
