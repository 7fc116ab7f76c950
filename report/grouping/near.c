// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/near.h"

#include <stddef.h>
#include <string.h>

enum { LINES_MAX = 16, WEIGHT_FIRST = 1000 };

// near_stack is the lines of a stack, which the caller's text holds.
struct near_stack {
    const char *lines[LINES_MAX];
    size_t lengths[LINES_MAX];
    size_t count;
};

static void near_split(const char *text, struct near_stack *out)
{
    out->count = 0;
    while (*text != 0 && out->count < LINES_MAX) {
        size_t length = strcspn(text, "\n");
        if (length != 0) {
            out->lines[out->count] = text;
            out->lengths[out->count++] = length;
        }
        text += length + (text[length] != 0);
    }
}

// near_weight is what the frame at a depth counts.
static int near_weight(size_t depth)
{
    return WEIGHT_FIRST / (int)(depth + 1);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

// near_change is what it costs to make one line of the other: nothing where they are
// equal.
static int near_change(const struct near_stack *a, size_t i, const struct near_stack *b,
                       size_t k)
{
    int weight = (near_weight(i) + near_weight(k)) / 2;
    size_t length = a->lengths[i];
    if (length == b->lengths[k] && memcmp(a->lines[i], b->lines[k], length) == 0)
        return 0;
    return weight;
}

int near_percent(const char *first, const char *second)
{
    struct near_stack a;
    struct near_stack b;
    int row[LINES_MAX + 1] = { 0 };
    int whole = 0;
    near_split(first, &a);
    near_split(second, &b);
    if (a.count == 0 || b.count == 0)
        return 0;
    for (size_t k = 0; k < b.count; k++)
        row[k + 1] = row[k] + near_weight(k);
    whole = row[b.count];
    for (size_t i = 0; i < a.count; i++) {
        int diagonal = row[0];
        row[0] += near_weight(i);
        for (size_t k = 0; k < b.count; k++) {
            int changed = diagonal + near_change(&a, i, &b, k);
            diagonal = row[k + 1];
            row[k + 1] = least(
                changed, least(row[k + 1] + near_weight(i), row[k] + near_weight(k)));
        }
    }
    whole = whole > row[0] ? whole : row[0];
    return row[b.count] >= whole ? 0 : 100 - 100 * row[b.count] / whole;
}
