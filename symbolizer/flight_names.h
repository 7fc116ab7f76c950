// SPDX-License-Identifier: Apache-2.0
//
// Names for the flight record: its functions are looked up like the frames of a
// backtrace, and what was found is written to the events and open calls here, along
// with which frame of the unwound stack each open call is.
#pragma once
#include <jansson.h>

#include "base/status.h"

// flight_names_functions is the list of the record's functions, which has the form of
// a backtrace, or NULL.
json_t *flight_names_functions(const json_t *report);

// flight_names_write spreads the names in that list over the record. An open call of
// which the unwound stack of its thread has a frame gets that frame's index as `frame`;
// its `arguments` are then the frame's as they were when it was entered.
CH_CHECKED enum ch_status flight_names_write(json_t *report);
