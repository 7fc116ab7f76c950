// SPDX-License-Identifier: Apache-2.0
//
// Rows of reports or groups in a terminal: columns that fit its width, from 60 on, the
// last one taking what is left.
//
// On anything but a terminal no column is cut, and there is no header: scripts read
// those. Cells come from strangers and are escaped.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/render/pen.h"

enum { TABLE_COLUMNS = 8, TABLE_AGE_SIZE = 24 };

struct table_column {
    const char *heading; // NULL: there are no more columns
    unsigned width;
};

struct table {
    struct pen pen;
    const struct table_column *columns;
};

// table_begin prints the header, on a terminal.
struct table table_begin(const struct table_column *columns, FILE *to);

// table_row prints one cell for each column, cut to fit; NULL is empty.
void table_row(const struct table *table, const char *const *cells);

// table_note prints a line below a row, cut to fit.
void table_note(const struct table *table, const char *note);

// table_age writes how long ago an RFC 3339 time was: `3 min`, `5 d`. It returns the
// time itself where it is none.
const char *table_age(const char *time, char out[TABLE_AGE_SIZE]);
