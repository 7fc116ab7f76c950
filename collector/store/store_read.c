// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "collector/store/moment.h"
#include "collector/store/store_bodies.h"
#include "collector/store/store_facet.h"
#include "collector/store/store_query.h"
#include "collector/store/store_values.h"

#define REPORT_COLUMNS                                                                 \
    "r.id, g.fingerprint, r.title, r.summary, r.signal_name, r.release,"               \
    " r.environment, r.executable, r.hostname, r.signal, r.revision, r.time,"          \
    " r.received, r.number, r.fingerprint, g.project"
#define FIND_BODY(condition)                                                           \
    "SELECT " REPORT_COLUMNS ", " STORE_BODY_COLUMNS " FROM reports r"                 \
    " JOIN groups g ON g.number = r.group_number"                                      \
    " JOIN bodies b ON b.report = r.number" condition STORE_BODY_SEGMENTS              \
    " WHERE r.id = ?1"
enum { REPORT_NUMBER = 13, REPORT_COLUMN_COUNT = 16 };

#define GROUP_COLUMNS                                                                  \
    "g.fingerprint, g.title, g.summary, g.status, g.signal, g.count, g.first_seen,"    \
    " g.last_seen, g.number, g.kept, g.status_release, g.status_time, g.note,"         \
    " g.assignee, g.machines, g.first_release, g.stack, g.resolved_in,"                \
    " g.until_count, g.until_machines, g.until_time, g.version, g.project"
enum {
    GROUP_NUMBER = 8,
    GROUP_MACHINES = 14,
    GROUP_FIRST_RELEASE,
    GROUP_STACK,
    GROUP_RESOLVED_IN,
    GROUP_UNTIL_COUNT,
    GROUP_UNTIL_MACHINES,
    GROUP_UNTIL_TIME,
    GROUP_VERSION,
    GROUP_PROJECT,
    GROUP_PLACE
};

// listing passes on at most limit rows; one row more says that there is another page.
struct listing {
    struct sql *sql;
    const struct store_filter *filter;
    store_report_fn *visit_report;
    store_group_fn *visit_group;
    void *context;
    size_t limit;
    size_t count;
    int64_t last_place; // in the order of the listing
    int64_t last_number;
    char *next;
};

// takes_row says whether a row is to be passed on; for the first row that is not, it
// writes the cursor.
static bool takes_row(struct listing *listing)
{
    if (listing->count++ < listing->limit)
        return true;
    snprintf(listing->next, STORE_CURSOR_SIZE, "%lld.%lld",
             (long long)listing->last_place, (long long)listing->last_number);
    return false;
}

static struct store_report read_stored_report(const struct sql_row *row)
{
    return (struct store_report){
        .id = sql_row_text(row, 0),
        .group = sql_row_text(row, 1),
        .title = sql_row_text(row, 2),
        .summary = sql_row_text(row, 3),
        .signal_name = sql_row_text(row, 4),
        .release = sql_row_text(row, 5),
        .environment = sql_row_text(row, 6),
        .executable = sql_row_text(row, 7),
        .hostname = sql_row_text(row, 8),
        .signal = sql_row_number(row, 9),
        .revision = sql_row_number(row, 10),
        .time_ms = sql_row_number(row, 11),
        .received_ms = sql_row_number(row, 12),
        .fingerprint = sql_row_text(row, 14),
        .project = sql_row_text(row, 15),
    };
}

static void list_report(void *context, const struct sql_row *row)
{
    struct listing *listing = context;
    if (!takes_row(listing))
        return;
    struct store_report report = read_stored_report(row);
    listing->last_place = report.time_ms;
    listing->last_number = sql_row_number(row, REPORT_NUMBER);
    listing->visit_report(listing->context, &report);
}

enum ch_status store_list_reports(struct store *store,
                                  const struct store_filter *filter,
                                  store_report_fn *visit, void *context,
                                  char next[STORE_CURSOR_SIZE])
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    store_query_add(&query, "SELECT " REPORT_COLUMNS " FROM reports r"
                            " JOIN groups g ON g.number = r.group_number WHERE 1 = 1");
    store_query_narrow_reports(&query, filter);
    struct store_cursor after;
    enum ch_status status =
        filter->cursor != NULL ? store_cursor_read(filter->cursor, &after) : CH_OK;
    if (status != CH_OK)
        return status;
    if (filter->cursor != NULL) {
        store_query_add_number(&query, " AND (r.time, r.number) < (?", after.place);
        store_query_add_number(&query, ", ?)", after.number);
    }
    store_query_add_number(&query, " ORDER BY r.time DESC, r.number DESC LIMIT ?",
                           (int64_t)filter->limit + 1);
    next[0] = 0;
    struct listing listing = {
        .visit_report = visit, .context = context, .limit = filter->limit, .next = next
    };
    struct sql *reader = store_borrow(store);
    status = store_query_run(&query, reader, list_report, &listing);
    store_return(store, reader);
    return status;
}

// gathered holds a group's rows of other tables.
struct gathered {
    struct store_group group;
    char releases[STORE_RELEASES][sizeof(((struct entry *)NULL)->release)];
    char programs[STORE_PROGRAMS][sizeof(((struct entry *)NULL)->executable)];
};

// take_facet takes a release or a program.
static void take_facet(void *context, const struct sql_row *row)
{
    struct gathered *gathered = context;
    struct store_group *group = &gathered->group;
    size_t release = group->release_count;
    size_t program = group->program_count;
    if (sql_row_number(row, 0) == FACET_RELEASE && release < STORE_RELEASES) {
        entry_copy(gathered->releases[release], sizeof(gathered->releases[release]),
                   sql_row_text(row, 1));
        group->releases[release] = gathered->releases[release];
        group->release_counts[release] = sql_row_number(row, 2);
        group->release_count++;
    } else if (sql_row_number(row, 0) == FACET_EXECUTABLE && program < STORE_PROGRAMS) {
        entry_copy(gathered->programs[program], sizeof(gathered->programs[program]),
                   sql_row_text(row, 1));
        group->programs[program] = gathered->programs[program];
        group->program_count++;
    }
}

static void take_day(void *context, const struct sql_row *row)
{
    struct store_group *group = context;
    int64_t back = group->trend_day - sql_row_number(row, 0);
    if (back >= 0 && back < STORE_TREND_DAYS)
        group->trend[STORE_TREND_DAYS - 1 - back] = sql_row_number(row, 1);
}

// count_filtered counts the reports of a group that the filter accepts.
static enum ch_status count_filtered(const struct listing *listing, int64_t number,
                                     struct store_group *group)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = listing->sql->dialect };
    group->filtered_count = group->count;
    if (listing->filter == NULL || !store_query_counts(listing->filter))
        return CH_OK;
    store_query_add(&query, "SELECT ");
    store_query_add_count(&query, listing->filter);
    store_query_add_number(&query, " FROM groups g WHERE g.number = ?", number);
    return store_query_run(&query, listing->sql, sql_take_number,
                           &group->filtered_count);
}

static enum ch_status gather_rows(const struct listing *listing, int64_t number,
                                  struct gathered *out)
{
    struct sql *sql = listing->sql;
    out->group.trend_day = moment_now() / MOMENT_DAY_MS;
    struct sql_value values[] = { sql_number(number), sql_number(STORE_RELEASES),
                                  sql_number(STORE_PROGRAMS) };
    enum ch_status status = sql_query(
        sql,
        "SELECT kind, value, count FROM (SELECT kind, value, count FROM facets"
        " WHERE group_number = ?1 AND kind = 5 ORDER BY last_seen DESC, value DESC"
        " LIMIT ?2) releases UNION ALL SELECT kind, value, count FROM (SELECT kind,"
        " value, count FROM facets WHERE group_number = ?1 AND kind = 3"
        " ORDER BY count DESC, value LIMIT ?3) programs",
        values, 3, take_facet, out);
    if (status != CH_OK)
        return status;
    struct sql_value id = sql_text(out->group.id);
    status = sql_query(sql,
                       "SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM held_back"
                       " WHERE fingerprint = ?1 OR fingerprint IN (SELECT fingerprint"
                       " FROM merged WHERE target = ?1) OR fingerprint IN (SELECT"
                       " fingerprint FROM keys WHERE target = ?1 OR target IN (SELECT"
                       " fingerprint FROM merged WHERE target = ?1))",
                       &id, 1, sql_take_number, &out->group.held_back);
    if (status != CH_OK)
        return status;
    values[1] = sql_number(out->group.trend_day - STORE_TREND_DAYS);
    status = sql_query(sql,
                       "SELECT day, count FROM group_days WHERE group_number = ?1"
                       " AND day > ?2",
                       values, 2, take_day, &out->group);
    return status == CH_OK ? count_filtered(listing, number, &out->group) : status;
}

// read_release reads the release of a decision.
static const char *read_release(const struct sql_row *row, int column)
{
    const char *release = sql_row_text(row, column);
    return release + (release[0] == STORE_RESOLVED_IN);
}

static void list_group(void *context, const struct sql_row *row)
{
    struct listing *listing = context;
    if (!takes_row(listing))
        return;
    struct gathered
        gathered = { .group = {
                         .id = sql_row_text(row, 0),
                         .title = sql_row_text(row, 1),
                         .summary = sql_row_text(row, 2),
                         .status = sql_row_text(row, 3),
                         .signal = sql_row_number(row, 4),
                         .count = sql_row_number(row, 5),
                         .first_seen_ms = sql_row_number(row, 6),
                         .last_seen_ms = sql_row_number(row, 7),
                         .kept = sql_row_number(row, 9),
                         .status_release = read_release(row, 10),
                         .resolved_in_it =
                             sql_row_text(row, 10)[0] == STORE_RESOLVED_IN,
                         .resolved_in = read_release(row, GROUP_RESOLVED_IN),
                         .status_time_ms = sql_row_number(row, 11),
                         .note = sql_row_text(row, 12),
                         .assignee = sql_row_text(row, 13),
                         .machines = sql_row_number(row, GROUP_MACHINES),
                         .first_release = sql_row_text(row, GROUP_FIRST_RELEASE),
                         .stack = sql_row_text(row, GROUP_STACK),
                         .until_count = sql_row_number(row, GROUP_UNTIL_COUNT),
                         .until_machines = sql_row_number(row, GROUP_UNTIL_MACHINES),
                         .until_ms = sql_row_number(row, GROUP_UNTIL_TIME),
                         .version = sql_row_number(row, GROUP_VERSION),
                         .project = sql_row_text(row, GROUP_PROJECT),
                     } };
    listing->last_place = sql_row_number(row, GROUP_PLACE);
    listing->last_number = sql_row_number(row, GROUP_NUMBER);
    // A group without its trend is better than no group.
    enum ch_status status = gather_rows(listing, listing->last_number, &gathered);
    (void)status;
    listing->visit_group(listing->context, &gathered.group);
}

static enum ch_status run_group_query(struct store *store,
                                      const struct store_query *query,
                                      struct listing *listing)
{
    struct sql *reader = store_borrow(store);
    listing->sql = reader;
    listing->next[0] = 0;
    enum ch_status status = store_query_run(query, reader, list_group, listing);
    store_return(store, reader);
    return status;
}

// GROUPS_LISTED leaves out groups whose reports are being moved into another one.
#define GROUPS_LISTED                                                                  \
    " FROM groups g WHERE g.number NOT IN (SELECT source FROM moves WHERE"             \
    " fingerprint = '')"

enum ch_status store_list_groups(struct store *store, const struct store_filter *filter,
                                 store_group_fn *visit, void *context,
                                 char next[STORE_CURSOR_SIZE])
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    struct store_cursor after;
    enum ch_status status =
        filter->cursor != NULL ? store_cursor_read(filter->cursor, &after) : CH_OK;
    if (status != CH_OK)
        return status;
    store_query_add(&query, "SELECT " GROUP_COLUMNS ", ");
    store_query_add_order(&query, filter);
    store_query_add(&query, " AS place" GROUPS_LISTED);
    store_query_narrow_groups(&query, filter);
    if (filter->cursor != NULL) {
        store_query_add(&query, " AND (");
        store_query_add_order(&query, filter);
        store_query_add_number(&query, ", g.number) < (?", after.place);
        store_query_add_number(&query, ", ?)", after.number);
    }
    store_query_add_number(&query, " ORDER BY place DESC, g.number DESC LIMIT ?",
                           (int64_t)filter->limit + 1);
    struct listing listing = { .filter = filter,
                               .visit_group = visit,
                               .context = context,
                               .limit = filter->limit,
                               .next = next };
    return run_group_query(store, &query, &listing);
}

enum ch_status store_count_groups(struct store *store,
                                  const struct store_filter *filter, int64_t *out)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    store_query_add(&query, "SELECT count(*)" GROUPS_LISTED);
    store_query_narrow_groups(&query, filter);
    struct sql *reader = store_borrow(store);
    enum ch_status status = store_query_run(&query, reader, sql_take_number, out);
    store_return(store, reader);
    return status;
}

enum ch_status store_find_group(struct store *store, const char *id,
                                store_group_fn *visit, void *context)
{
    CH_CLEANUP(store_query_deinit)
    struct store_query query = { .dialect = store->writer->dialect };
    struct store_filter filter = { .group = id };
    char next[STORE_CURSOR_SIZE];
    store_query_add(&query, "SELECT " GROUP_COLUMNS ", g.last_seen FROM groups g"
                            " WHERE 1 = 1");
    store_query_narrow_groups(&query, &filter);
    struct listing listing = {
        .visit_group = visit, .context = context, .limit = 1, .next = next
    };
    enum ch_status status = run_group_query(store, &query, &listing);
    return status == CH_OK && listing.count == 0 ? CH_ERR_NOT_FOUND : status;
}

struct finding {
    store_body_fn *visit;
    void *context;
    bool found;
    struct store_body_found body;
};

static void find_body(void *context, const struct sql_row *row)
{
    struct finding *finding = context;
    struct store_report report = read_stored_report(row);
    finding->found = true;
    store_body_read(row, REPORT_COLUMN_COUNT, &finding->body);
    if (!finding->body.away)
        finding->visit(finding->context, &report, &finding->body.body);
}

static enum ch_status query_body(struct store *store, const char *id,
                                 struct finding *finding)
{
    struct sql_value value = sql_text(id);
    struct sql *reader = store_borrow(store);
    // With the time of receipt PostgreSQL reads one partition and not all of them.
    const char *text = reader->dialect == SQL_POSTGRES
                           ? FIND_BODY(" AND b.received = r.received")
                           : FIND_BODY("");
    finding->found = false;
    enum ch_status status = sql_query(reader, text, &value, 1, find_body, finding);
    store_return(store, reader);
    return status;
}

enum ch_status store_find_report(struct store *store, const char *id,
                                 store_body_fn *visit, void *context)
{
    struct finding finding = { .visit = visit, .context = context };
    enum ch_status status = query_body(store, id, &finding);
    // No connection is kept while a body is fetched from elsewhere.
    for (int i = 0; status == CH_OK && finding.body.away && i < STORE_BODY_LOOKS; i++) {
        status = store_body_fetch(store, &finding.body);
        // Its segment may be gone because the report is.
        if (status == CH_OK || status == CH_ERR_NOT_FOUND)
            status = query_body(store, id, &finding);
    }
    if (status == CH_OK && finding.found && finding.body.away)
        status = CH_ERR_IO;
    store_body_found_deinit(&finding.body);
    return status == CH_OK && !finding.found ? CH_ERR_NOT_FOUND : status;
}

struct merged_listing {
    store_merged_fn *visit;
    void *context;
};

static void list_merged(void *context, const struct sql_row *row)
{
    struct merged_listing *listing = context;
    struct store_merged merged = { .fingerprint = sql_row_text(row, 0),
                                   .kept = sql_row_number(row, 1) };
    listing->visit(listing->context, &merged);
}

enum ch_status store_list_merged(struct store *store, const char *id,
                                 store_merged_fn *visit, void *context)
{
    struct merged_listing listing = { .visit = visit, .context = context };
    struct sql_value value = sql_text(id);
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader,
        "SELECT m.fingerprint, (SELECT count(*) FROM reports r WHERE r.group_number ="
        " (SELECT number FROM groups WHERE fingerprint = ?1)"
        " AND r.fingerprint = m.fingerprint)"
        " FROM merged m WHERE m.target = ?1 ORDER BY m.fingerprint LIMIT 100",
        &value, 1, list_merged, &listing);
    store_return(store, reader);
    return status;
}

static void take_totals(void *context, const struct sql_row *row)
{
    *(struct store_totals *)context =
        (struct store_totals){ .reports = sql_row_number(row, 0),
                               .groups = sql_row_number(row, 1) };
}

enum ch_status store_count(struct store *store, const char *project,
                           struct store_totals *out)
{
    struct sql_value value = sql_text(project);
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(
        reader,
        "SELECT CAST(coalesce(sum(kept), 0) AS bigint), count(*) FROM groups WHERE ?1 ="
        " '' OR project = ?1",
        &value, 1, take_totals, out);
    store_return(store, reader);
    return status;
}
