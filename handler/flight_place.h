// SPDX-License-Identifier: Apache-2.0
//
// The address of libcrashhook-flight's rings, for the agent: the recorder registers it
// when it starts, before or after the handler is installed.
#pragma once
#include <stdint.h>

// A flight_register_fn is the type of crashhook_flight_register.
typedef void flight_register_fn(const void *state);

// crashhook_flight_register records the address of the recorder's state. It is exported
// for libcrashhook-flight alone, which looks it up by name where it has to.
__attribute__((visibility("default"))) void
crashhook_flight_register(const void *state);

// flight_place_tell copies the registered address to the request page of the plan in
// force.
void flight_place_tell(void);
