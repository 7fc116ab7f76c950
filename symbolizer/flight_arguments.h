// SPDX-License-Identifier: Apache-2.0
//
// First arguments from the flight record: XRay records them when a function is entered,
// so they are what the caller passed, whatever the register was used for since.
#pragma once
#include <jansson.h>

// flight_arguments_add gives the frames of the record's open calls their first argument
// as of the call, unless a better source has given it.
void flight_arguments_add(json_t *report);
