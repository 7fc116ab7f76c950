// SPDX-License-Identifier: Apache-2.0
//
// Whose code the frames of a report are, by the rule of in_app.h, which knows no
// reports.
//
// Every frame that stands for code has a verdict; omitted frames have none. Users: all
// who group, show or send reports.
#pragma once
#include <jansson.h>

#include "report/grouping/in_app.h"

// report_in_app_judge judges a frame. What the sender found by a rule holds (it knew
// its CRASHHOOK_OWN), unless a rule of this process's user says otherwise. scoped is
// the scoped name of its function, or NULL.
void report_in_app_judge(const json_t *report, const json_t *frame, const char *scoped,
                         struct in_app_verdict *out);

// report_in_app_mark sets `system` of every frame that stands for code, and `rule`
// where a rule decided, so that all who show or send the report agree.
void report_in_app_mark(json_t *report);

// report_frame_is_system is true for a frame that is not the program's own
// (report_in_app_judge). A `system` that no rule came with was said by an older
// version, which knew images alone, and decides nothing.
bool report_frame_is_system(const json_t *report, const json_t *frame);
