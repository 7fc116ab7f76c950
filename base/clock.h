// SPDX-License-Identifier: Apache-2.0
//
// The readings of a system clock in one unit. CLOCK_REALTIME counts from 1970,
// CLOCK_MONOTONIC from an arbitrary start.
#pragma once
#include <stdint.h>
#include <time.h>

// clock_now_ns reads a clock; 0 for a clock that does not exist.
uint64_t clock_now_ns(clockid_t clock);

// clock_now_us is clock_now_ns in microseconds.
uint64_t clock_now_us(clockid_t clock);

// clock_now_ms is clock_now_ns in milliseconds.
uint64_t clock_now_ms(clockid_t clock);
