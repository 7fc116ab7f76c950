// SPDX-License-Identifier: Apache-2.0
//
// A digest is the report again, as short as an entry needs it: ingest reads every
// report but keeps only its title, group and the like, so it need not make a tree of
// all of it.
//
// One pass over the text checks all that report_parse checks and copies the members
// that entry_from_report looks at: of 20 KB about two are left for jansson. It says yes
// only to what report_parse accepts, with the same entry; a no means nothing, and then
// report_parse is asked, which also knows the reason.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

// digest_report writes the report's digest to out, an empty text, or returns false:
// read the report whole.
bool digest_report(const char *bytes, size_t size, struct text *out);
