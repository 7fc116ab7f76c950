// SPDX-License-Identifier: Apache-2.0
//
// Completing the report of a process that had fewer rights than we have. The report
// names files: images and through them debug files and sources, and attachments. All of
// them are read by a child that has the rights of the process (process.read_as in the
// report) and is confined as a reader (confine.h).
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"

// report_owner_differs returns true if report is of such a process.
bool report_owner_differs(const json_t *report);

// A report_owner_fn completes the report in the child.
typedef void report_owner_fn(void *context, json_t *report);

// report_owner_complete has work complete a report in the child, with our own rights if
// report_owner_differs is false. A failure becomes a problem of the report.
void report_owner_complete(json_t *report, report_owner_fn *work, void *context,
                           uint64_t timeout_ms);
