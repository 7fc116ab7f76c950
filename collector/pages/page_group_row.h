// SPDX-License-Identifier: Apache-2.0
//
// A group as a row of a list, or as a line of the overview.
//
// Whatever a row names (programs, releases, people) is a link to the list that it
// narrows. Limit: names are cut, so that 50 rows stay under 60 KB.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "collector/store/store.h"

// page_group_rows is what the rows of a list are written with.
struct page_group_rows {
    struct text *out;
    int64_t now_ms;
    bool choosing; // each row has a box to choose it with
    bool filtered; // a filter accepts some of the reports alone
    size_t count;  // rows so far
    bool more;     // a row counts the newest reports of its group alone
    size_t begin;  // where they begin in out
};

// page_group_row_write is a store_group_fn that writes a row; context is a struct
// page_group_rows. page_group_line_write writes a line: title, program and figures.
void page_group_row_write(void *context, const struct store_group *group);
void page_group_line_write(void *context, const struct store_group *group);
