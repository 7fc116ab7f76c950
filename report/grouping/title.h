// SPDX-License-Identifier: Apache-2.0
//
// A title is what people call a crash in a list: what happened, where and in which
// program. `null pointer in pricing_add_line · shop`.
//
// What it says of the place is what the group's key was made of, so two groups of one
// program have different titles unless nothing tells them apart. Users: symbolizer's
// callers, collector, cli.
#pragma once
#include <jansson.h>

#include "report/grouping/group_key.h"
#include "shared/crash_kinds.h"

// title_write appends the title of a report whose key is key.
void title_write(const json_t *report, const struct group_key *key, struct text *out);

// title_of_kind is how titles of a kind begin ("null pointer"). NULL: with the signal's
// name.
const char *title_of_kind(enum crash_kind kind);

// title_write_live appends the title of a report in which nothing crashed.
void title_write_live(const json_t *report, struct text *out);
