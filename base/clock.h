// SPDX-License-Identifier: Apache-2.0
//
// What a clock of the system shows, in one unit. CLOCK_REALTIME counts from 1970,
// CLOCK_MONOTONIC from some moment of the machine's.
#pragma once
#include <stdint.h>
#include <time.h>

// clock_now_ns reads a clock; one that there is none of shows 0.
uint64_t clock_now_ns(clockid_t clock);

// clock_now_us is clock_now_ns in microseconds.
uint64_t clock_now_us(clockid_t clock);

// clock_now_ms is clock_now_ns in milliseconds.
uint64_t clock_now_ms(clockid_t clock);
