// SPDX-License-Identifier: Apache-2.0
//
// The address of libcrashhook-flight's rings, for the agent: the recorder registers it
// when it starts, before or after the handler is installed.
#pragma once
#include "shared/flight_register.h"

// flight_place_tell copies the registered address to the request page of the plan in
// force.
void flight_place_tell(void);
