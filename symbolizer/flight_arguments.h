// SPDX-License-Identifier: Apache-2.0
//
// First arguments out of the flight record: XRay notes them when a function is entered,
// so they are what the caller gave, whatever became of the register since.
#pragma once
#include <jansson.h>

// flight_arguments_add gives the frames that open calls of the record are their first
// argument as it was when they were called, where nothing better has said it.
void flight_arguments_add(json_t *report);
