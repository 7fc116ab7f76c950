// SPDX-License-Identifier: Apache-2.0
//
// The member `flight` of the raw report: the last calls of each thread before the
// crash. Functions are written as addresses; the free phase adds the names, using the
// list of all addresses that is written with them (symbolizer/flight_names.h).
#pragma once
#include "agent/live/capture.h"
#include "report/json/json_writer.h"

// flight_report_write writes the member, or nothing where the program records nothing.
// A record that cannot be read becomes a problem of the capture.
void flight_report_write(struct json_writer *w, struct capture *capture);
