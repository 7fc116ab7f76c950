// SPDX-License-Identifier: Apache-2.0
//
// Where libcrashhook-flight keeps its rings, for the agent: the recorder says so when
// it starts, before or after the handler is installed.
#pragma once
#include <stdint.h>

// A flight_register_fn is what crashhook_flight_register is.
typedef void flight_register_fn(const void *state);

// crashhook_flight_register notes the address of the recorder's state. It is exported
// for libcrashhook-flight alone, which looks it up by name where it has to.
__attribute__((visibility("default"))) void
crashhook_flight_register(const void *state);

// flight_place_tell writes what was registered to the request page of the plan in
// force.
void flight_place_tell(void);
