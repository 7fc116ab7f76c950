// SPDX-License-Identifier: Apache-2.0
//
// Names for the flight record: its functions are looked up like the frames of a
// backtrace. The results are written to the events and open calls here, along with the
// frame of the unwound stack that each open call corresponds to.
#pragma once
#include <stdbool.h>

#include <jansson.h>

#include "base/status.h"

// flight_names_functions gives the record's functions, which have the form of a
// backtrace, or NULL.
json_t *flight_names_functions(const json_t *report);

// FLIGHT_NAMES_KEY is room for the key of a function.
enum { FLIGHT_NAMES_KEY = 64 };

// flight_names_key makes the key by which the function of a call is found in that list,
// where it has the same: the address, and the image if that was unloaded, because other
// code may have its addresses now. False: function has no address.
bool flight_names_key(const json_t *report, const json_t *function,
                      char key[FLIGHT_NAMES_KEY]);

// flight_names_write copies the names in that list to the record's events and open
// calls. An open call that is also a frame of its thread's unwound stack gets that
// frame's index as `frame`; its `arguments` are then those of the frame, as of the
// call.
CH_CHECKED enum ch_status flight_names_write(json_t *report);

// First arguments from the flight record: XRay records them when a function is entered,
// so they are what the caller passed, whatever the register was used for since.

// flight_arguments_add gives the frames of the record's open calls their first argument
// as of the call, unless a better source has given it.
void flight_arguments_add(json_t *report);
