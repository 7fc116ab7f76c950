// SPDX-License-Identifier: Apache-2.0
//
// The flight recorder: the function calls of every thread before the crash, in the
// report.
//
// A program that is compiled with -finstrument-functions (gcc, clang) or
// -fxray-instrument (clang) and linked with libcrashhook-flight records each entry and
// exit of its functions, if CRASHHOOK_FLIGHT gives a size such as 64K; the last ones of
// each thread are kept. Nothing is flushed and nothing is locked: the agent reads the
// rings from the crashed process's memory. docs/flight.md says what it costs.
//
// C11, usable from C++.
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// crashhook_flight_start starts recording with bytes_per_thread for each thread, unless
// the variable CRASHHOOK_FLIGHT is set: whoever runs the program has the last word. If
// the variable gives a size, a constructor has started recording already, so only
// programs that want it without the variable call this. 0: functions are recorded from
// now on. Otherwise it returns an errno value: ECANCELED when CRASHHOOK_FLIGHT or
// CRASHHOOK_ENABLE says no or no size is given, EPERM in a setuid program, ENOMEM.
__attribute__((visibility("default"))) int
crashhook_flight_start(size_t bytes_per_thread);

#ifdef __cplusplus
}
#endif
