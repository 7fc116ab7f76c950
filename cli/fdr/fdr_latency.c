// SPDX-License-Identifier: Apache-2.0
#include "cli/fdr/fdr_latency.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"

enum { PLACES_MIN = 1024, EXACT_BITS = 64, ROUNDED_BITS = 6, PERCENTILES = 3 };

void latencies_deinit(struct latencies *latencies)
{
    free(latencies->rows);
    free(latencies->numbers.slots);
    free(latencies->values);
    *latencies = (struct latencies){ 0 };
}

// latency_row finds or adds the row of key. CH_ERR_LIMIT: there are too many.
static enum ch_status latency_row(struct latencies *latencies, uint64_t key,
                                  uint32_t *out)
{
    size_t count = latencies->row_count;
    uint32_t *number = key_index_place(&latencies->numbers, count, key);
    if (number == NULL)
        return CH_ERR_NO_MEMORY;
    if (*number == 0) {
        if (count == LATENCY_KEYS_MAX)
            return CH_ERR_LIMIT;
        if (!array_reserve(&latencies->rows, &latencies->row_capacity, count,
                           sizeof(*latencies->rows)))
            return CH_ERR_NO_MEMORY;
        latencies->rows[count] = (struct latency_row){ .key = key, .min = UINT64_MAX };
        *number = (uint32_t)++latencies->row_count;
    }
    *out = *number - 1;
    return CH_OK;
}

static void latency_count(struct latencies *latencies, uint32_t row, uint64_t value,
                          uint32_t count)
{
    size_t mask = latencies->value_places - 1;
    uint64_t hash =
        key_index_hash(&latencies->numbers, value) + row * latencies->numbers.factor;
    size_t place = (size_t)(hash >> 32) & mask;
    struct latency_value *values = latencies->values;
    while (values[place].count != 0 &&
           (values[place].value != value || values[place].row != row))
        place = (place + 1) & mask;
    if (values[place].count == 0) {
        latencies->value_count++;
        values[place] = (struct latency_value){ .value = value, .row = row };
    }
    if (__builtin_add_overflow(values[place].count, count, &values[place].count))
        values[place].count = UINT32_MAX;
}

static uint64_t latency_round(uint64_t value, unsigned kept_bits)
{
    unsigned bits = value != 0 ? 64 - (unsigned)__builtin_clzll(value) : 0;
    unsigned low = bits > kept_bits ? bits - kept_bits : 0;
    return value >> low << low;
}

// latency_resize moves the values to a table of that size, rounded as latencies says.
static bool latency_resize(struct latencies *latencies, size_t places)
{
    struct latency_value *old = latencies->values;
    size_t old_places = latencies->value_places;
    struct latency_value *values = calloc(places, sizeof(*values));
    if (values == NULL)
        return false;
    latencies->values = values;
    latencies->value_places = places;
    latencies->value_count = 0;
    for (size_t i = 0; i < old_places; i++) {
        if (old[i].count != 0)
            latency_count(latencies, old[i].row,
                          latency_round(old[i].value, latencies->kept_bits),
                          old[i].count);
    }
    free(old);
    return true;
}

// latency_make_room grows the table of values. At its greatest size it rounds them
// until one more fits.
static bool latency_make_room(struct latencies *latencies)
{
    size_t places = latencies->value_places;
    bool ok = true;
    if (latencies->value_count * 2 < places)
        return true;
    if (places == 0)
        latencies->kept_bits = EXACT_BITS;
    if (places / 2 < LATENCY_VALUES_MAX)
        return latency_resize(latencies, places != 0 ? places * 2 : PLACES_MIN);
    while (ok && latencies->value_count * 2 >= places && latencies->kept_bits > 1) {
        latencies->kept_bits = latencies->kept_bits == EXACT_BITS
                                   ? ROUNDED_BITS
                                   : latencies->kept_bits / 2;
        ok = latency_resize(latencies, places);
    }
    while (ok && places > PLACES_MIN && latencies->value_count * 8 < places)
        ok = latency_resize(latencies, places /= 2); // a small table is a fast one
    return ok;
}

// latency_is_near returns true if value is one of those that may be a percentile: it is
// equal to one as that was rounded in the first pass.
static bool latency_is_near(const struct latencies *latencies,
                            const struct latency_row *row, uint64_t value)
{
    uint64_t rounded = latency_round(value, latencies->exact_bits);
    return rounded == row->median || rounded == row->p90 || rounded == row->p99;
}

enum ch_status latencies_add(struct latencies *latencies, uint64_t key, uint64_t value)
{
    uint32_t index;
    enum ch_status status = latency_row(latencies, key, &index);
    if (status == CH_ERR_LIMIT) {
        latencies->left_out += !latencies->refining;
        return CH_OK;
    }
    if (status == CH_OK && !latency_make_room(latencies))
        status = CH_ERR_NO_MEMORY;
    if (status != CH_OK)
        return status;
    struct latency_row *row = &latencies->rows[index];
    if (!latencies->refining) {
        row->count++;
        if (__builtin_add_overflow(row->sum, value, &row->sum))
            row->sum = UINT64_MAX;
        row->min = value < row->min ? value : row->min;
        row->max = value > row->max ? value : row->max;
    } else if (!latency_is_near(latencies, row, value)) {
        return CH_OK;
    }
    if (latencies->value_count * 2 < latencies->value_places)
        latency_count(latencies, index, latency_round(value, latencies->kept_bits), 1);
    return CH_OK;
}

enum ch_status latencies_add_total(struct latencies *latencies, uint64_t key,
                                   uint64_t count, uint64_t sum)
{
    uint32_t index;
    enum ch_status status = latency_row(latencies, key, &index);
    if (status != CH_OK)
        return status;
    latencies->rows[index].count += count;
    latencies->rows[index].sum += sum;
    return CH_OK;
}

static int latency_order(const void *left, const void *right)
{
    const struct latency_value *a = left;
    const struct latency_value *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->value > b->value) - (a->value < b->value);
}

// latency_pick sets the percentiles that value is, given how many durations of row are
// lower. In the second pass, that number is known for the rounded values only.
static void latency_pick(const struct latencies *latencies, struct latency_row *row,
                         const struct latency_value *value, uint64_t lower,
                         uint64_t out[PERCENTILES])
{
    const uint64_t ranks[PERCENTILES] = { row->count / 2,
                                          (uint64_t)((double)row->count * 0.9),
                                          (uint64_t)((double)row->count * 0.99) };
    const uint64_t rounded[PERCENTILES] = { row->median, row->p90, row->p99 };
    for (size_t i = 0; i < PERCENTILES; i++) {
        if (latencies->refining &&
            latency_round(value->value, latencies->exact_bits) != rounded[i])
            continue;
        uint64_t before = latencies->refining ? row->before[i] : lower;
        if (before == UINT64_MAX) // found already
            continue;
        if (ranks[i] < before || ranks[i] - before >= value->count) {
            row->before[i] += latencies->refining ? value->count : 0;
            continue;
        }
        out[i] = value->value;
        if (latencies->refining)
            row->before[i] = UINT64_MAX;
        else
            row->before[i] = before;
    }
}

void latencies_finish(struct latencies *latencies)
{
    struct latency_value *values = latencies->values;
    size_t count = 0;
    for (size_t i = 0; i < latencies->value_places; i++) {
        if (values[i].count != 0)
            values[count++] = values[i];
    }
    if (count != 0)
        qsort(values, count, sizeof(*values), latency_order);
    for (size_t i = 0; i < count;) {
        struct latency_row *row = &latencies->rows[values[i].row];
        uint64_t found[PERCENTILES] = { row->median, row->p90, row->p99 };
        uint64_t lower = 0;
        size_t first = i;
        for (; i < count && values[i].row == values[first].row; i++) {
            latency_pick(latencies, row, &values[i], lower, found);
            lower += values[i].count;
        }
        row->median = found[0];
        row->p90 = found[1];
        row->p99 = found[2];
    }
    latencies->exact_bits = latencies->kept_bits;
}

bool latencies_refine(struct latencies *latencies)
{
    if (latencies->kept_bits == 0 || latencies->kept_bits == EXACT_BITS)
        return false;
    free(latencies->values);
    latencies->values = NULL;
    latencies->value_places = latencies->value_count = 0;
    latencies->refining = true;
    return true;
}
