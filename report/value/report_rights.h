// SPDX-License-Identifier: Apache-2.0
//
// The rights of a report's process (process.read_as), where root's agent had more: the
// files that the report names are read with no others. Users: commands, frame_source.
#pragma once
#include <jansson.h>

#include "base/system/rights.h"

// report_rights gives them; rights->fewer is false if our own are not more.
void report_rights(const json_t *report, struct rights *out);

// report_rights_set notes that these files are read with nothing but a user's rights.
void report_rights_set(json_t *report, uid_t user);
