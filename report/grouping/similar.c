// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/similar.h"

#include <stddef.h>
#include <string.h>

enum { LINES_MAX = 16, WEIGHT_FIRST = 1000 };

// similar_stack is the lines of a stack, which the caller's text holds.
struct similar_stack {
    const char *lines[LINES_MAX];
    size_t lengths[LINES_MAX];
    size_t count;
};

static void similar_split(const char *text, struct similar_stack *out)
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

// similar_weight is what the frame at a depth counts.
static int similar_weight(size_t depth)
{
    return WEIGHT_FIRST / (int)(depth + 1);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

// similar_change is what it costs to make one line of the other: nothing where they are
// equal.
static int similar_change(const struct similar_stack *a, size_t i,
                          const struct similar_stack *b, size_t k)
{
    int weight = (similar_weight(i) + similar_weight(k)) / 2;
    size_t length = a->lengths[i];
    if (length == b->lengths[k] && memcmp(a->lines[i], b->lines[k], length) == 0)
        return 0;
    return weight;
}

int similar_percent(const char *first, const char *second)
{
    struct similar_stack a;
    struct similar_stack b;
    int row[LINES_MAX + 1] = { 0 };
    int whole = 0;
    similar_split(first, &a);
    similar_split(second, &b);
    if (a.count == 0 || b.count == 0)
        return 0;
    for (size_t k = 0; k < b.count; k++)
        row[k + 1] = row[k] + similar_weight(k);
    whole = row[b.count];
    for (size_t i = 0; i < a.count; i++) {
        int diagonal = row[0];
        row[0] += similar_weight(i);
        for (size_t k = 0; k < b.count; k++) {
            int changed = diagonal + similar_change(&a, i, &b, k);
            diagonal = row[k + 1];
            row[k + 1] = least(changed, least(row[k + 1] + similar_weight(i),
                                              row[k] + similar_weight(k)));
        }
    }
    whole = whole > row[0] ? whole : row[0];
    return row[b.count] >= whole ? 0 : 100 - 100 * row[b.count] / whole;
}
