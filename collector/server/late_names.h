// SPDX-License-Identifier: Apache-2.0
//
// Names for the nameless frames of a report, from debug files that were uploaded to
// this collector. Names from the sender are kept: it had files that are not here. So a
// copy of the report is symbolized, and only the nameless frames are taken from the
// copy. The first view that opens a debug file writes a symbol cache in the background;
// later views open the cache.
#pragma once
#include <jansson.h>
#include <stdbool.h>

// late_names_add names what it can with the debug files in folder, and says whether it
// changed anything. It opens no file if folder has none for a nameless frame's build.
bool late_names_add(json_t *report, const char *folder);
