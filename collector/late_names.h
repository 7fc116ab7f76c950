// SPDX-License-Identifier: Apache-2.0
//
// Names for the frames of a report that have none, from debug files that were sent
// here. What the sender named stays: it had files that are not here. So the report is
// symbolized as a copy, and frames that have no name are taken from it. The first view
// that opens a debug file leaves a symbol cache behind, in the background; later ones
// open that.
#pragma once
#include <jansson.h>
#include <stdbool.h>

// late_names_add names what it can with the debug files in folder, and says whether
// anything changed. Nothing is opened when no nameless frame is of a build in folder.
bool late_names_add(json_t *report, const char *folder);
