// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/entry/body_prefixes.h"
#include "collector/store/store_internal.h"

// stale is a group with the time of its oldest report.
struct stale {
    int64_t group;
    int64_t oldest_ms;
};

struct trimming {
    const struct store_retention *retention;
    struct text projects; // the names of those in the store, each with its NUL
    size_t removed;
    bool by_age;
    struct text reports;
    struct text groups;
    struct stale stale[STORE_TRIM_STEP];
    size_t stale_count;
};

static void take_trimmed_report(void *context, const struct sql_row *row)
{
    struct trimming *trimming = context;
    trimming->removed++;
    store_list_append(&trimming->reports, sql_column_number(row, "number"));
    store_list_append(&trimming->groups, sql_column_number(row, "group_number"));
}

struct crowded {
    int64_t group;
    int64_t kept;
};

static void take_crowded(void *context, const struct sql_row *row)
{
    struct crowded *crowded = context;
    crowded->group = sql_column_number(row, "number");
    crowded->kept = sql_column_number(row, "kept");
}

// find_old_reports finds those of a project, or of all of them: NULL.
static enum ch_status find_old_reports(struct sql *sql, struct trimming *trimming,
                                       int64_t age_ms, const char *project)
{
    struct sql_value since = sql_number(timestamp_now() - age_ms);
    struct sql_value values[] = { since, sql_number(STORE_TRIM_STEP),
                                  sql_text(project) };
    struct sql_value held[] = { since, sql_text(project) };
    if (project == NULL) {
        sql_queue(sql, STORE_TRIM_HELD, held, 1, NULL, NULL);
        sql_queue(sql, STORE_TRIM_OLD, values, 2, take_trimmed_report, trimming);
    } else {
        sql_queue(sql, STORE_TRIM_HELD_OF, held, 2, NULL, NULL);
        sql_queue(sql, STORE_TRIM_OLD_OF, values, 3, take_trimmed_report, trimming);
    }
    return sql_flush(sql);
}

// find_crowded finds the excess reports of the group that has most, of a project or of
// all of them: NULL.
static enum ch_status find_crowded(struct sql *sql, struct trimming *trimming,
                                   int64_t most, const char *project)
{
    struct crowded crowded = { 0 };
    struct sql_value limits[] = { sql_number(most), sql_text(project) };
    if (project == NULL)
        sql_queue(sql, STORE_TRIM_CROWDED, limits, 1, take_crowded, &crowded);
    else
        sql_queue(sql, STORE_TRIM_CROWDED_OF, limits, 2, take_crowded, &crowded);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK || crowded.kept <= most)
        return status;
    int64_t surplus = crowded.kept - most;
    struct sql_value values[] = {
        sql_number(crowded.group),
        sql_number(surplus < STORE_TRIM_STEP ? surplus : STORE_TRIM_STEP),
    };
    sql_queue(sql, STORE_TRIM_OLDEST, values, 2, take_trimmed_report, trimming);
    return sql_flush(sql);
}

static void take_stale(void *context, const struct sql_row *row)
{
    struct trimming *trimming = context;
    if (trimming->stale_count < STORE_TRIM_STEP)
        trimming->stale[trimming->stale_count++] =
            (struct stale){ sql_column_number(row, "number"),
                            sql_column_number(row, "oldest") };
}

static void count_swept(void *context, const struct sql_row *row)
{
    (void)row;
    --*(int64_t *)context;
}

// sweep_facets deletes values that only removed reports had. A group with more of them
// than a step deletes has its turn again when more of its reports are removed.
static enum ch_status sweep_facets(struct sql *sql, struct trimming *trimming,
                                   const struct sql_value *groups)
{
    trimming->stale_count = 0;
    sql_queue(sql, STORE_TRIM_STALE, groups, 1, take_stale, trimming);
    enum ch_status status = sql_flush(sql);
    int64_t left = STORE_FACETS_STEP;
    for (size_t i = 0; i < trimming->stale_count && status == CH_OK && left > 0; i++) {
        struct sql_value values[] = { sql_number(trimming->stale[i].group),
                                      sql_number(trimming->stale[i].oldest_ms),
                                      sql_number(left) };
        sql_queue(sql, STORE_TRIM_FACETS, values, 3, count_swept, &left);
        status = sql_flush(sql);
        if (left > 0)
            sql_queue(sql, STORE_TRIM_SWEPT, values, 2, NULL, NULL);
    }
    return status;
}

// find_past_limits finds reports that two limits do not keep.
static enum ch_status find_past_limits(struct sql *sql, struct trimming *trimming,
                                       int64_t age_ms, int64_t per_group,
                                       const char *project)
{
    enum ch_status status = CH_OK;
    if (age_ms != 0)
        status = find_old_reports(sql, trimming, age_ms, project);
    // A project's week is not over when the project no longer keeps it.
    trimming->by_age = trimming->removed != 0 && project == NULL;
    if (status == CH_OK && trimming->removed == 0 && per_group != 0)
        status = find_crowded(sql, trimming, per_group, project);
    return status;
}

static void take_trimmed_project(void *context, const struct sql_row *row)
{
    struct trimming *trimming = context;
    const char *name = sql_column_text(row, "project");
    text_append(&trimming->projects, name, strlen(name) + 1);
}

// find_past_limits_of does so for one project, with what is set of it or of all.
static enum ch_status find_past_limits_of(struct sql *sql, struct trimming *trimming,
                                          const char *project)
{
    const struct store_retention *retention = trimming->retention;
    int64_t age_ms = retention->age_ms;
    int64_t per_group = retention->per_group;
    for (size_t i = 0; i < retention->project_count; i++) {
        const struct store_project_retention *own = &retention->projects[i];
        if (strcmp(own->project, project) != 0)
            continue;
        age_ms = own->age_ms != STORE_KEEP_AS_OTHERS ? own->age_ms : age_ms;
        per_group = own->per_group != STORE_KEEP_AS_OTHERS ? own->per_group : per_group;
    }
    return find_past_limits(sql, trimming, age_ms, per_group, project);
}

// find_oversize finds the oldest reports, if the store takes more room than it may. In
// PostgreSQL room is freed by dropping partitions, so there it finds those of the
// oldest week, unless its partition stays anyway (store_weeks.c).
static enum ch_status find_oversize(struct sql *sql, struct trimming *trimming)
{
    int64_t first_ms = 0;
    int64_t size = 0;
    int64_t this_week = timestamp_now() / STORE_WEEK_MS;
    sql_queue(sql, STORE_TRIM_FIRST, NULL, 0, sql_take_number, &first_ms);
    enum ch_status status = sql_flush(sql);
    int64_t week = first_ms / STORE_WEEK_MS;
    struct sql_value first = sql_number(week);
    if (status == CH_OK)
        sql_queue(sql, STORE_TRIM_SIZE, &first, 1, sql_take_number, &size);
    if (status == CH_OK)
        status = sql_flush(sql);
    bool weekly = sql->dialect == SQL_POSTGRES;
    if (status != CH_OK || size <= trimming->retention->size_bytes ||
        (weekly && week >= this_week - STORE_KEPT_WEEKS))
        return status;
    struct sql_value values[] = { sql_number(weekly ? (week + 1) * STORE_WEEK_MS
                                                    : INT64_MAX),
                                  sql_number(STORE_TRIM_STEP) };
    sql_queue(sql, STORE_TRIM_OLD, values, 2, take_trimmed_report, trimming);
    status = sql_flush(sql);
    trimming->by_age = trimming->removed != 0;
    return status;
}

// find_removable finds the reports of a step. Others may store reports meanwhile; those
// of the groups of the step wait for it.
static enum ch_status find_removable(struct sql *sql, struct trimming *trimming)
{
    const struct store_retention *retention = trimming->retention;
    trimming->removed = 0;
    text_clear(&trimming->reports);
    text_clear(&trimming->groups);
    text_clear(&trimming->projects);
    if (retention->size_bytes != 0) {
        enum ch_status status = find_oversize(sql, trimming);
        if (status != CH_OK || trimming->removed != 0)
            return status;
    }
    if (retention->project_count == 0)
        return find_past_limits(sql, trimming, retention->age_ms, retention->per_group,
                                NULL);
    sql_queue(sql, STORE_TRIM_PROJECTS, NULL, 0, take_trimmed_project, trimming);
    enum ch_status status = sql_flush(sql);
    if (status == CH_OK && !text_ok(&trimming->projects))
        status = CH_ERR_NO_MEMORY;
    for (size_t at = 0;
         at < trimming->projects.size && status == CH_OK && trimming->removed == 0;) {
        const char *project = trimming->projects.bytes + at;
        at += strlen(project) + 1;
        status = find_past_limits_of(sql, trimming, project);
    }
    return status;
}

static enum ch_status trim_oldest(struct sql *sql, void *context)
{
    static const enum store_statement by_report[] = {
        STORE_TRIM_COUNT,  STORE_REMOVE_TAGS, STORE_REMOVE_MARKS,
        STORE_REMOVE_JOBS, STORE_PLACES_TRIM, STORE_REMOVE_NAMELESS,
    };
    struct trimming *trimming = context;
    enum ch_status status = find_removable(sql, trimming);
    if (status != CH_OK || trimming->removed == 0)
        return status;

    struct sql_value reports = store_list_end(sql, &trimming->reports);
    struct sql_value groups = store_list_end(sql, &trimming->groups);
    sql_queue(sql, STORE_TRIM_LOCK, &groups, 1, NULL, NULL);
    for (size_t i = 0; i < sizeof(by_report) / sizeof(by_report[0]); i++)
        sql_queue(sql, by_report[i], &reports, 1, NULL, NULL);
    // Where weeks are partitions, bodies go with their week.
    if (!trimming->by_age || sql->dialect != SQL_POSTGRES)
        sql_queue(sql, STORE_REMOVE_BODIES, &reports, 1, NULL, NULL);
    sql_queue(sql, STORE_REMOVE_REPORTS, &reports, 1, NULL, NULL);
    status = sweep_facets(sql, trimming, &groups);
    store_remove_empty(sql, &groups);
    return status == CH_OK ? sql_flush(sql) : status;
}

enum ch_status store_trim(struct store *store, const struct store_retention *retention,
                          size_t *out_removed, char error[STORE_ERROR_SIZE])
{
    struct trimming trimming = { .retention = retention };
    struct store_job job = { .what = "remove old reports",
                             .work = trim_oldest,
                             .context = &trimming };
    enum ch_status status = store_transact(store, &job, error);
    text_deinit(&trimming.reports);
    text_deinit(&trimming.groups);
    text_deinit(&trimming.projects);
    if (status == CH_OK)
        *out_removed = trimming.removed;
    return status;
}

// crowded_groups is groups whose members are kept by a larger step from now on.
struct crowded_groups {
    int64_t numbers[16];
    size_t count;
};

static void take_crowded_group(void *context, const struct sql_row *row)
{
    struct crowded_groups *groups = context;
    if (groups->count < sizeof(groups->numbers) / sizeof(groups->numbers[0]))
        groups->numbers[groups->count++] = sql_column_number(row, "number");
}

static enum ch_status thin_members(struct sql *sql, void *context)
{
    const struct crowded_groups *groups = context;
    for (size_t i = 0; i < groups->count; i++) {
        struct sql_value number = sql_number(groups->numbers[i]);
        sql_queue(sql, STORE_MEMBERS_DOUBLE, &number, 1, NULL, NULL);
        sql_queue(sql, STORE_MEMBERS_DROP, &number, 1, NULL, NULL);
        sql_queue(sql, STORE_MEMBERS_COUNT, &number, 1, NULL, NULL);
    }
    return sql_flush(sql);
}

enum ch_status store_thin_members(struct store *store, char error[STORE_ERROR_SIZE])
{
    struct crowded_groups groups = { .count = 0 };
    struct store_job job = { .what = "count machines and users",
                             .alone = true,
                             .work = thin_members,
                             .context = &groups };
    (void)snprintf(error, STORE_ERROR_SIZE, "cannot count machines and users");
    enum ch_status status =
        store_ask(store, STORE_MEMBERS_CROWDED, NULL, 0, take_crowded_group, &groups);
    return status == CH_OK && groups.count != 0 ? store_transact(store, &job, error)
                                                : status;
}

static enum ch_status drop_prefixes(struct sql *sql, void *context)
{
    struct sql_value before =
        sql_number(body_prefix_week(timestamp_now()) - BODY_PREFIX_WEEKS);
    (void)context;
    return sql_ask(sql, STORE_DROP_PREFIXES, &before, 1, NULL, NULL);
}

enum ch_status store_drop_prefixes(struct store *store, char error[STORE_ERROR_SIZE])
{
    struct store_job job = { .what = "remove what old reports had in common",
                             .work = drop_prefixes };
    return store_transact(store, &job, error);
}
