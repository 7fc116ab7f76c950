// SPDX-License-Identifier: Apache-2.0
#include "cli/fdr/fdr_latency.h"

#include <stdlib.h>

#include "support/test.h"

enum { MANY = LATENCY_VALUES_MAX * 2 };

// noise gives the same numbers in each pass: of all lengths.
static uint64_t noise(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 20 >> (*state & 31);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static bool add_all(struct latencies *latencies, size_t count)
{
    uint64_t state = 1;
    bool ok = true;
    for (size_t i = 0; i < count; i++)
        ok &= latencies_add(latencies, 7 + i % 3, noise(&state)) == CH_OK;
    return ok;
}

// wrong_rows counts the rows that are not what the sorted durations say.
static int wrong_rows(const struct latencies *latencies, size_t count)
{
    uint64_t *values = calloc(count, sizeof(*values));
    int wrong = 0;
    for (uint64_t key = 0; key < 3; key++) {
        const struct latency_row *row = &latencies->rows[key];
        uint64_t state = 1;
        uint64_t sum = 0;
        size_t n = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t value = noise(&state);
            if (i % 3 == key)
                sum += values[n++] = value;
        }
        qsort(values, n, sizeof(*values), compare);
        wrong += row->key != 7 + key || row->count != n || row->sum != sum ||
                 row->min != values[0] || row->max != values[n - 1] ||
                 row->median != values[n / 2] || row->p90 != values[n * 9 / 10] ||
                 row->p99 != values[n * 99 / 100];
    }
    free(values);
    return wrong;
}

static void percentiles_are_those_of_the_sorted_durations(void **state)
{
    (void)state;
    static const size_t counts[] = { 3, 4, 30, 300, 3000 };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct latencies latencies = { 0 };
        bool ok = add_all(&latencies, counts[i]);
        latencies_finish(&latencies);
        int wrong = wrong_rows(&latencies, counts[i]);
        bool again = latencies_refine(&latencies);
        latencies_deinit(&latencies);
        assert_true(ok);
        assert_false(again);
        assert_int_equal(wrong, 0);
    }
}

static void a_second_pass_makes_percentiles_of_many_durations_exact(void **state)
{
    (void)state;
    struct latencies latencies = { 0 };
    bool ok = add_all(&latencies, MANY);
    latencies_finish(&latencies);
    unsigned rounded_to = latencies.exact_bits;
    int wrong_before = wrong_rows(&latencies, MANY);
    bool again = latencies_refine(&latencies);
    ok &= add_all(&latencies, MANY);
    latencies_finish(&latencies);
    unsigned exact = latencies.exact_bits;
    int wrong = wrong_rows(&latencies, MANY);
    latencies_deinit(&latencies);
    assert_true(ok && again);
    assert_true(rounded_to < 64);
    assert_int_equal(wrong_before, 3);
    assert_int_equal(exact, 64);
    assert_int_equal(wrong, 0);
}

static void totals_have_no_percentiles(void **state)
{
    (void)state;
    struct latencies latencies = { 0 };
    enum ch_status status = latencies_add_total(&latencies, 1, 5, 50);
    latencies_finish(&latencies);
    struct latency_row row = latencies.rows[0];
    latencies_deinit(&latencies);
    assert_int_equal(status, CH_OK);
    assert_true(row.count == 5 && row.sum == 50 && row.min == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_the_sorted_durations),
        cmocka_unit_test(a_second_pass_makes_percentiles_of_many_durations_exact),
        cmocka_unit_test(totals_have_no_percentiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
