// SPDX-License-Identifier: Apache-2.0
//
// A report as Sentry's event: one exception with the stack of the crashed thread, the
// other threads, the images with the debug ids by which Sentry finds symbols, and
// whatever else the report knows, in the places where Sentry shows it.
//
// A function of the report, and of the sources that it names where those are on this
// machine. It relies only on what report_parse checks of the report's members.
#pragma once
#include <jansson.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "report/file/report_id.h"

enum { SENTRY_EVENT_ID_SIZE = 33, SENTRY_DEBUG_ID_SIZE = 37, SENTRY_TIME_SIZE = 40 };

// sentry_event_time writes a time as Sentry reads it: 2026-11-22T09:17:00.000Z.
void sentry_event_time(int64_t unix_ms, char out[static SENTRY_TIME_SIZE]);

// sentry_event_id is the report's id as Sentry writes it, without dashes.
void sentry_event_id(const char *report_id, char out[static SENTRY_EVENT_ID_SIZE]);

// sentry_event_debug_id converts a build ID in hex to the form of a GUID.
// CH_ERR_MALFORMED: it is not a build ID.
CH_CHECKED enum ch_status sentry_event_debug_id(const char *build_id,
                                                char out[static SENTRY_DEBUG_ID_SIZE]);

// sentry_event_write appends the event as JSON on one line. Sentry takes a megabyte:
// for a larger event the stacks of other threads are shortened, then left out.
CH_CHECKED enum ch_status sentry_event_write(const json_t *report, struct text *out);
