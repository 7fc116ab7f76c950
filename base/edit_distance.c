// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <stdint.h>
#include <string.h>

static size_t least_distance(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t edit_distance(const char *a, const char *b)
{
    size_t row[EDIT_DISTANCE_BYTES + 1];
    size_t width = strlen(b);
    if (width > EDIT_DISTANCE_BYTES)
        return SIZE_MAX;
    for (size_t i = 0; i <= width; i++)
        row[i] = i;
    for (size_t line = 1; a[line - 1] != 0; line++) {
        size_t before = row[0]; // of the row above, one to the left
        row[0] = line;
        for (size_t i = 1; i <= width; i++) {
            size_t replaced = before + (a[line - 1] != b[i - 1]);
            before = row[i];
            row[i] = least_distance(least_distance(row[i], row[i - 1]) + 1, replaced);
        }
    }
    return row[width];
}
