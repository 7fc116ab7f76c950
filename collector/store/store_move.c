// SPDX-License-Identifier: Apache-2.0
//
// Reports change groups in steps, so that uploads never wait for a million of them.
// What is left to do is a row of `moves`: after a collector was killed, it or another
// one resumes the move. Counts move with each report, so the figures of both groups are
// right after every step; at the end the counts of reports that retention removed
// follow.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/store/moment.h"
#include "collector/store/store_move.h"
#include "collector/store/store_rest.h"

// move says where reports go from and to, and how far the move is. In a merge
// fingerprint is empty: all reports go to target. In a split the reports of fingerprint
// go to the group of their own.
struct move {
    int64_t number; // 0: there is none
    int64_t source;
    int64_t target;
    char fingerprint[ENTRY_GROUP_SIZE];
    int64_t time_ms; // of the last report that was examined
    int64_t last;    // and its number
};

struct step {
    struct move move;
    size_t seen;
    size_t moved;
    int64_t first;    // number of one of them
    int64_t first_ms; // the earliest crash of them
    int64_t last_ms;
    struct text numbers;
    struct text left; // the group that may be empty at the end
};

static void step_deinit(struct step *step)
{
    text_deinit(&step->numbers);
    text_deinit(&step->left);
}

static void read_move_row(void *context, const struct sql_row *row)
{
    struct move *move = context;
    move->number = sql_column_number(row, "number");
    move->source = sql_column_number(row, "source");
    move->target = sql_column_number(row, "target");
    entry_copy(move->fingerprint, sizeof(move->fingerprint),
               sql_column_text(row, "fingerprint"));
    move->time_ms = sql_column_number(row, "time");
    move->last = sql_column_number(row, "last");
}

static void take_moved_report(void *context, const struct sql_row *row)
{
    struct step *step = context;
    struct move *move = &step->move;
    step->seen++;
    move->last = sql_column_number(row, "number");
    move->time_ms = sql_column_number(row, "time");
    if (move->fingerprint[0] != 0 &&
        strcmp(move->fingerprint, sql_column_text(row, "fingerprint")) != 0)
        return;
    store_list_append(&step->numbers, move->last);
    if (step->moved++ == 0) {
        step->first = move->last;
        step->first_ms = move->time_ms; // they arrive in the order of their time
    }
    step->last_ms = move->time_ms;
}

// move_reports gives the reports of a step their new group, and moves their counts.
static enum ch_status move_reports(struct sql *sql, struct step *step)
{
    static const enum store_statement before[] = { STORE_LOSE_GROUPS, STORE_LOSE_DAYS,
                                                   STORE_LOSE_FACETS,
                                                   STORE_MOVE_DROP_FACETS };
    if (step->move.fingerprint[0] != 0) {
        struct sql_value first = sql_number(step->first);
        sql_queue(sql, STORE_MOVE_OWN, &first, 1, sql_take_number, &step->move.target);
        enum ch_status status = sql_flush(sql);
        if (status != CH_OK)
            return status;
    }
    struct sql_value moved[] = { store_list_end(sql, &step->numbers),
                                 sql_number(step->move.target) };
    struct sql_value figures[] = { sql_number(step->move.target),
                                   sql_number((int64_t)step->moved),
                                   sql_number(step->first_ms),
                                   sql_number(step->last_ms) };
    for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++)
        sql_queue(sql, before[i], moved, 1, NULL, NULL);
    sql_queue(sql, STORE_MOVE_REPORTS, moved, 2, NULL, NULL);
    sql_queue(sql, STORE_MOVE_FIGURES, figures, 4, NULL, NULL);
    sql_queue(sql, STORE_GAIN_DAYS, moved, 1, NULL, NULL);
    sql_queue(sql, STORE_GAIN_FACETS, moved, 1, NULL, NULL);
    return sql_flush(sql);
}

static void end_merge(struct sql *sql, const struct move *move)
{
    static const enum store_statement statements[] = {
        STORE_MERGE_FIGURES,  STORE_MERGE_DAYS,       STORE_MERGE_FACETS,
        STORE_MERGE_END_DAYS, STORE_MERGE_END_FACETS, STORE_MERGE_END,
    };
    enum {
        OF_BOTH = 3
    }; // statements whose parameters are both groups: the first of them
    struct sql_value numbers[] = { sql_number(move->source), sql_number(move->target) };
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        sql_queue(sql, statements[i], numbers, i < OF_BOTH ? 2 : 1, NULL, NULL);
}

static void end_store_move(struct sql *sql, struct step *step)
{
    struct sql_value number = sql_number(step->move.number);
    sql_queue(sql, STORE_MOVE_END, &number, 1, NULL, NULL);
    bool merge = step->move.fingerprint[0] == 0;
    if (merge)
        end_merge(sql, &step->move);
    store_list_append(&step->left, merge ? step->move.target : step->move.source);
    struct sql_value left = store_list_end(sql, &step->left);
    if (!merge)
        sql_queue(sql, STORE_SEE_AGAIN, &left, 1, NULL, NULL);
    store_remove_empty(sql, &left);
}

// store_move_step takes one step in the current transaction, which must be exclusive.
// out_more is false when nothing was left to do.
static enum ch_status store_move_step(struct sql *sql, bool *out_more)
{
    CH_CLEANUP(step_deinit) struct step step = { 0 };
    struct move *move = &step.move;
    sql_queue(sql, STORE_MOVE_FIND, NULL, 0, read_move_row, move);
    enum ch_status status = sql_flush(sql);
    *out_more = move->number != 0;
    if (status != CH_OK || move->number == 0)
        return status;
    struct sql_value next[] = { sql_number(move->source), sql_number(move->time_ms),
                                sql_number(move->last), sql_number(STORE_MOVE_STEP) };
    sql_queue(sql, STORE_MOVE_NEXT, next, 4, take_moved_report, &step);
    status = sql_flush(sql);
    if (status == CH_OK && step.moved != 0)
        status = move_reports(sql, &step);
    if (status != CH_OK)
        return status;
    struct sql_value on[] = { sql_number(move->number), sql_number(move->time_ms),
                              sql_number(move->last) };
    if (step.seen == STORE_MOVE_STEP)
        sql_queue(sql, STORE_MOVE_ON, on, 3, NULL, NULL);
    else
        end_store_move(sql, &step);
    return sql_flush(sql);
}

enum ch_status store_move_begin(struct sql *sql, int64_t source, int64_t target,
                                const char *fingerprint)
{
    bool more = false;
    struct move other = { 0 };
    sql_queue(sql, STORE_MOVE_FIND, NULL, 0, read_move_row, &other);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || other.number != 0)
        return status != CH_OK ? status : CH_ERR_LIMIT;
    struct sql_value values[] = { sql_number(source), sql_number(target),
                                  sql_text(fingerprint) };
    sql_queue(sql, STORE_MOVE_BEGIN, values, 3, NULL, NULL);
    return store_move_step(sql, &more);
}

static enum ch_status move_next_step(struct sql *sql, void *context)
{
    return store_move_step(sql, context);
}

static bool is_moving(struct store *store)
{
    int64_t count = 0;
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(reader, "SELECT count(*) FROM moves", NULL, 0,
                                      sql_take_number, &count);
    store_return(store, reader);
    return status != CH_OK || count != 0;
}

enum ch_status store_move(struct store *store, bool *out_more,
                          char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "move reports",
                             .alone = true,
                             .work = move_next_step,
                             .context = out_more };
    *out_more = false;
    return is_moving(store) ? store_transact(store, &job, error) : CH_OK;
}

enum ch_status store_move_for(struct store *store, int64_t patience_ms,
                              char error[STORE_ERROR_SIZE])
{
    int64_t until_ms = moment_now() + patience_ms;
    enum ch_status status = CH_OK;
    bool more = true;
    while (status == CH_OK && more && moment_now() < until_ms) {
        int64_t began_ms = moment_now();
        status = store_move(store, &more, error);
        int rest_ms = store_rest_ms(store, moment_now() - began_ms);
        const struct timespec pause = { .tv_sec = rest_ms / 1000,
                                        .tv_nsec = rest_ms % 1000 * 1000000L };
        if (more)
            nanosleep(&pause, NULL);
    }
    if (status != CH_OK || !more)
        return status;
    snprintf(error, STORE_ERROR_SIZE, "cannot move reports: it takes a while");
    return CH_ERR_LIMIT;
}
