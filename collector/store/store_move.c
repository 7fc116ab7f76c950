// SPDX-License-Identifier: Apache-2.0
//
// Reports change groups in steps. What is left to do is a row of `moves`: after a
// collector was killed, it or another one resumes the move. Counts move with each
// report, so the figures of both groups are right after every step; at the end the
// counts of reports that retention removed follow.
//
// Only the beginning of a move excludes other writers, for two short statements: from
// then on no report enters a group that is merged. A step locks the reports and the
// groups that it changes, like an upload, and others store reports beside it.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collector/database/timestamp.h"
#include "collector/store/store_move.h"
#include "collector/store/store_rest.h"

// move is where reports go from and to, and how far the move is. In a merge
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
    struct text examined; // numbers of reports
    struct text numbers;  // and of those that move
    struct text lost;     // facets that only these had
    struct text left;     // the group that may be empty at the end
};

static void step_deinit(struct step *step)
{
    text_deinit(&step->examined);
    text_deinit(&step->numbers);
    text_deinit(&step->lost);
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

static void take_examined_report(void *context, const struct sql_row *row)
{
    struct step *step = context;
    step->seen++;
    step->move.last = sql_column_number(row, "number");
    step->move.time_ms = sql_column_number(row, "time");
    store_list_append(&step->examined, step->move.last);
}

static void take_moved_report(void *context, const struct sql_row *row)
{
    struct step *step = context;
    int64_t number = sql_column_number(row, "number");
    if (step->move.fingerprint[0] != 0 &&
        strcmp(step->move.fingerprint, sql_column_text(row, "fingerprint")) != 0)
        return;
    store_list_append(&step->numbers, number);
    step->last_ms = sql_column_number(row, "time");
    if (step->moved++ == 0) {
        step->first = number;
        step->first_ms = step->last_ms; // they arrive in the order of their time
    }
}

// lock_moved locks the reports of a step and then both groups, as uploads do, and
// returns which reports move.
static enum ch_status lock_moved(struct sql *sql, struct step *step)
{
    const struct move *move = &step->move;
    struct sql_value reports[] = { store_list_end(sql, &step->examined),
                                   sql_number(move->source) };
    struct sql_value groups[] = { sql_number(move->source), sql_number(move->target),
                                  sql_text(move->fingerprint) };
    sql_queue(sql, STORE_MOVE_LOCK, reports, 2, take_moved_report, step);
    sql_queue(sql, STORE_MOVE_LOCK_GROUPS, groups, 3, NULL, NULL);
    return sql_flush(sql);
}

// move_reports gives the reports of a step their new group, and moves their counts.
static enum ch_status move_reports(struct sql *sql, struct step *step)
{
    if (step->move.fingerprint[0] != 0) {
        struct sql_value first = sql_number(step->first);
        struct sql_value split = sql_text(step->move.fingerprint);
        sql_queue(sql, STORE_MOVE_OWN, &first, 1, sql_take_number, &step->move.target);
        sql_queue(sql, STORE_GIVE_BACK, &split, 1, NULL, NULL);
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
    sql_queue(sql, STORE_LOSE_GROUPS, moved, 1, NULL, NULL);
    sql_queue(sql, STORE_LOSE_DAYS, moved, 1, NULL, NULL);
    store_lose_facets(sql, moved, &step->lost);
    sql_queue(sql, STORE_MOVE_REPORTS, moved, 2, NULL, NULL);
    sql_queue(sql, STORE_MOVE_FIGURES, figures, 4, NULL, NULL);
    sql_queue(sql, STORE_GAIN_DAYS, moved, 1, NULL, NULL);
    sql_queue(sql, STORE_GAIN_FACETS, moved, 1, NULL, NULL);
    enum ch_status status = sql_flush(sql);
    struct sql_value lost = store_list_end(sql, &step->lost);
    sql_queue(sql, STORE_DROP_FACETS, &lost, 1, NULL, NULL);
    return status;
}

// merge_facets moves the counts of at most that many facets, and returns of how many.
static int64_t merge_facets(struct sql *sql, int64_t source, int64_t target,
                            int64_t most)
{
    int64_t count = 0;
    struct sql_value merged[] = { sql_number(source), sql_number(target),
                                  sql_number(most) };
    struct sql_value ended[] = { sql_number(source), sql_number(most) };
    sql_queue(sql, STORE_MERGE_FACETS, merged, 3, NULL, NULL);
    sql_queue(sql, STORE_MERGE_END_FACETS, ended, 2, sql_count_row, &count);
    return sql_flush(sql) == CH_OK ? count : 0;
}

void store_move_end(struct sql *sql, int64_t source, int64_t target)
{
    struct sql_value numbers[] = { sql_number(source), sql_number(target) };
    sql_queue(sql, STORE_MERGE_STEP, numbers, 2, NULL, NULL);
    sql_queue(sql, STORE_MEMBERS_DROP, &numbers[1], 1, NULL, NULL);
    sql_queue(sql, STORE_MEMBERS_COUNT, &numbers[1], 1, NULL, NULL);
    sql_queue(sql, STORE_MERGE_MEMBERS, numbers, 2, NULL, NULL);
    (void)merge_facets(sql, source, target, INT64_MAX);
    sql_queue(sql, STORE_MERGE_FIGURES, numbers, 2, NULL, NULL);
    sql_queue(sql, STORE_MERGE_DAYS, numbers, 2, NULL, NULL);
    sql_queue(sql, STORE_MERGE_END_DAYS, numbers, 1, NULL, NULL);
    sql_queue(sql, STORE_MERGE_END, numbers, 1, NULL, NULL);
}

// is_moved returns true if the last reports of a move have changed groups in this step,
// and, of a merge, whether the last counts have. That of all reports moves first: no
// value may be counted more often.
static bool is_moved(struct sql *sql, const struct step *step)
{
    const struct move *move = &step->move;
    struct sql_value numbers[] = { sql_number(move->source), sql_number(move->target) };
    if (step->seen == STORE_MOVE_STEP || move->fingerprint[0] != 0)
        return step->seen != STORE_MOVE_STEP;
    sql_queue(sql, STORE_MERGE_FIGURES, numbers, 2, NULL, NULL);
    sql_queue(sql, STORE_MERGE_FIGURES_END, numbers, 1, NULL, NULL);
    return merge_facets(sql, move->source, move->target, STORE_FACETS_STEP) !=
           STORE_FACETS_STEP;
}

static void end_store_move(struct sql *sql, struct step *step)
{
    struct sql_value number = sql_number(step->move.number);
    sql_queue(sql, STORE_MOVE_END, &number, 1, NULL, NULL);
    bool merge = step->move.fingerprint[0] == 0;
    struct sql_value split = sql_text(step->move.fingerprint);
    if (merge)
        store_move_end(sql, step->move.source, step->move.target);
    else
        sql_queue(sql, STORE_SET_ASIDE_END, &split, 1, NULL, NULL);
    store_list_append(&step->left, merge ? step->move.target : step->move.source);
    struct sql_value left = store_list_end(sql, &step->left);
    if (!merge)
        sql_queue(sql, STORE_SEE_AGAIN, &left, 1, NULL, NULL);
    store_remove_empty(sql, &left);
}

// store_move_step takes one step in the current transaction. out_more is false when
// nothing was left to do.
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
    sql_queue(sql, STORE_MOVE_NEXT, next, 4, take_examined_report, &step);
    status = sql_flush(sql);
    if (status == CH_OK)
        status = lock_moved(sql, &step);
    if (status == CH_OK && step.moved != 0)
        status = move_reports(sql, &step);
    if (status != CH_OK)
        return status;
    struct sql_value on[] = { sql_number(move->number), sql_number(move->time_ms),
                              sql_number(move->last) };
    if (is_moved(sql, &step))
        end_store_move(sql, &step);
    else
        sql_queue(sql, STORE_MOVE_ON, on, 3, NULL, NULL);
    return sql_flush(sql);
}

enum ch_status store_move_begin(struct sql *sql, int64_t source, int64_t target,
                                const char *fingerprint)
{
    struct move other = { 0 };
    sql_queue(sql, STORE_MOVE_FIND, NULL, 0, read_move_row, &other);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || other.number != 0)
        return status != CH_OK ? status : CH_ERR_LIMIT;
    struct sql_value values[] = { sql_number(source), sql_number(target),
                                  sql_text(fingerprint) };
    sql_queue(sql, STORE_MOVE_BEGIN, values, 3, NULL, NULL);
    return sql_flush(sql);
}

static enum ch_status move_next_step(struct sql *sql, void *context)
{
    return store_move_step(sql, context);
}

static bool is_moving(struct store *store)
{
    int64_t count = 0;
    enum ch_status status =
        store_ask(store, STORE_MOVES_COUNT, NULL, 0, sql_take_number, &count);
    return status != CH_OK || count != 0;
}

enum ch_status store_move(struct store *store, bool *out_more,
                          char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "move reports",
                             .work = move_next_step,
                             .context = out_more };
    *out_more = false;
    return is_moving(store) ? store_transact(store, &job, error) : CH_OK;
}

enum ch_status store_move_for(struct store *store, int64_t patience_ms,
                              char error[STORE_ERROR_SIZE])
{
    int64_t until_ms = timestamp_now() + patience_ms;
    enum ch_status status = CH_OK;
    bool more = true;
    while (status == CH_OK && more && timestamp_now() < until_ms) {
        int64_t began_ms = timestamp_now();
        status = store_move(store, &more, error);
        int rest_ms = store_rest_ms(store, timestamp_now() - began_ms);
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
