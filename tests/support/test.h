// SPDX-License-Identifier: Apache-2.0
//
// cmocka, with the three headers it wants before it in the order it wants them.
#pragma once
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
// clang-format on
