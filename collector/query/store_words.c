// SPDX-License-Identifier: Apache-2.0
//
// Words are kept once for all groups, so that the last group to lose one does not know
// it: a sweep deletes those that no group has.
#include "collector/query/store_people.h"
#include "collector/store/store_internal.h"

enum { WORDS_A_STEP = 4096 };

struct sweeping {
    int64_t from; // the number of the last word that was looked at
    int64_t until;
};

static enum ch_status sweep_words(struct sql *sql, void *context)
{
    struct sweeping *sweeping = context;
    struct sql_value values[] = { sql_number(sweeping->from),
                                  sql_number(WORDS_A_STEP) };
    sweeping->until = 0;
    sql_queue(sql, STORE_WORDS_END, values, 2, sql_take_number, &sweeping->until);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || sweeping->until == 0)
        return status;
    values[1] = sql_number(sweeping->until);
    sql_queue(sql, STORE_WORDS_SWEEP, values, 2, NULL, NULL);
    return sql_flush(sql);
}

enum ch_status store_sweep_words(struct store *store, int64_t *from, bool *out_more,
                                 char error[STORE_ERROR_SIZE])
{
    struct sweeping sweeping = { .from = *from };
    // A report that brings a word back must not find it just before it goes.
    struct store_job job = { .what = "remove words that no report has",
                             .alone = true,
                             .work = sweep_words,
                             .context = &sweeping };
    enum ch_status status = store_transact(store, &job, error);
    if (status == CH_OK) {
        *out_more = sweeping.until != 0;
        *from = sweeping.until;
    }
    return status;
}
