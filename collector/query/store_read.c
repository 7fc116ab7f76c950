// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "base/system/file.h"
#include "collector/database/timestamp.h"
#include "collector/entry/store_facet.h"
#include "collector/query/store_query.h"
#include "collector/query/store_values.h"
#include "collector/store/store_bodies.h"

// listing passes on at most limit rows; one row more says that there is another page.
struct listing {
    struct sql *sql;
    const struct store_filter *filter;
    store_report_fn *visit_report;
    store_group_fn *visit_group;
    void *context;
    size_t limit;
    size_t count;
    int64_t found;      // all groups that match, where each row says it
    int64_t last_place; // in the order of the listing
    int64_t last_number;
    char *next;
};

// takes_row returns true if a row is to be passed on; for the first row that is not, it
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
        .id = sql_column_text(row, "id"),
        .group = sql_column_text(row, "group_id"),
        .title = sql_column_text(row, "title"),
        .summary = sql_column_text(row, "summary"),
        .signal_name = sql_column_text(row, "signal_name"),
        .release = sql_column_text(row, "release"),
        .environment = sql_column_text(row, "environment"),
        .executable = sql_column_text(row, "executable"),
        .hostname = sql_column_text(row, "hostname"),
        .signal = sql_column_number(row, "signal"),
        .revision = sql_column_number(row, "revision"),
        .time_ms = sql_column_number(row, "time"),
        .received_ms = sql_column_number(row, "received"),
        .fingerprint = sql_column_text(row, "fingerprint"),
        .project = sql_column_text(row, "project"),
    };
}

static void list_report(void *context, const struct sql_row *row)
{
    struct listing *listing = context;
    if (!takes_row(listing))
        return;
    struct store_report report = read_stored_report(row);
    listing->last_place = report.time_ms;
    listing->last_number = sql_column_number(row, "number");
    listing->visit_report(listing->context, &report);
}

// marked_groups is the groups that have what a list of reports is narrowed to.
struct marked_groups {
    struct text list;
    size_t count;
    int64_t reports; // that they have together
};

enum {
    PATHS_MAX = 64, // of programs of a group that are looked at
    MARKED_GROUPS_MAX = 10000,
    FEW_REPORTS = 5000, // are sorted; of more, the newest are looked for by their time
    FEW_COMPARED = 200000, // are compared in a column, and those that have it sorted
};

static void marked_deinit(struct marked_groups *marked)
{
    text_deinit(&marked->list);
}

static void take_marked(void *context, const struct sql_row *row)
{
    struct marked_groups *marked = context;
    store_list_append(&marked->list, sql_column_number(row, "number"));
    marked->reports += sql_column_number(row, "kept");
    marked->count++;
}

// find_marked finds the groups first: a database cannot know how many reports have a
// function, and would choose between reading those of all its groups and reading all by
// their time as if they were very many.
static enum ch_status find_marked(struct sql *sql, const struct store_filter *filter,
                                  const struct store_look *look,
                                  struct marked_groups *out)
{
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, filter, look);
    query.named[VALUE_LIMIT] = sql_number(MARKED_GROUPS_MAX + 1);
    return store_query_run(&query, sql, STORE_MARKED_GROUPS, take_marked, out);
}

// narrow_to_marked finds the reports of the groups that were found, unless these are
// very many. It returns false if there are none.
static bool narrow_to_marked(struct store_query *query, struct sql *sql,
                             struct marked_groups *marked)
{
    int64_t few = query->holds[CLAUSE_COMPARES_COLUMN] ? FEW_COMPARED : FEW_REPORTS;
    query->holds[CLAUSE_MARKED] = marked->count <= MARKED_GROUPS_MAX;
    query->holds[CLAUSE_FEW] = query->holds[CLAUSE_MARKED] && marked->reports <= few;
    query->named[VALUE_MARKED] = store_list_end(sql, &marked->list);
    return marked->count != 0;
}

// list_narrowed visits the rows of the reports that a filter accepts, or their numbers.
static enum ch_status list_narrowed(struct sql *sql, const struct store_filter *filter,
                                    const struct store_look *look, bool numbers,
                                    sql_row_fn *visit, void *context)
{
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, filter, look);
    query.holds[CLAUSE_NUMBERS] = numbers;
    CH_CLEANUP(marked_deinit) struct marked_groups marked = { 0 };
    enum ch_status status = CH_OK;
    if (filter->group == NULL && store_query_finds_by_group(&query)) {
        status = find_marked(sql, filter, look, &marked);
        if (status != CH_OK || !narrow_to_marked(&query, sql, &marked))
            return status;
    }
    status = store_query_go_on(&query);
    return status == CH_OK
               ? store_query_run(&query, sql, STORE_LIST_REPORTS, visit, context)
               : status;
}

static enum ch_status look_and_list_reports(struct store *store,
                                            const struct store_filter *filter,
                                            bool numbers, sql_row_fn *visit,
                                            void *context)
{
    CH_CLEANUP(store_look_deinit) struct store_look look = { 0 };
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status = store_query_look(store, reader, filter, &look);
    if (status == CH_OK)
        status = list_narrowed(reader, filter, &look, numbers, visit, context);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_reports(struct store *store,
                                  const struct store_filter *filter,
                                  store_report_fn *visit, void *context,
                                  char next[STORE_CURSOR_SIZE])
{
    next[0] = 0;
    struct listing listing = { .filter = filter,
                               .visit_report = visit,
                               .context = context,
                               .limit = filter->limit,
                               .next = next };
    return look_and_list_reports(store, filter, false, list_report, &listing);
}

// counting is what store_count_values works with.
struct counting {
    struct text numbers; // of the reports
    size_t count;
    size_t limit;
    store_counted_fn *visit;
    void *context;
};

static void take_counted_report(void *context, const struct sql_row *row)
{
    struct counting *counting = context;
    if (counting->count++ < counting->limit)
        store_list_append(&counting->numbers, sql_column_number(row, "number"));
}

static void take_counted_value(void *context, const struct sql_row *row)
{
    const struct counting *counting = context;
    const struct store_counted counted = {
        .kind = (enum store_facet)sql_column_number(row, "kind"),
        .value = sql_column_text(row, "value"),
        .then = sql_column_text(row, "then_value"),
        .count = sql_column_number(row, "count"),
        .most = sql_column_number(row, "most"),
    };
    counting->visit(counting->context, &counted);
}

static enum ch_status count_listed_values(struct store *store,
                                          const struct store_counting *asked,
                                          struct counting *counting)
{
    struct sql *reader = store_borrow_to_list(store);
    const struct sql_value values[] = { store_list_end(reader, &counting->numbers),
                                        sql_number(asked->kind),
                                        sql_number((int64_t)asked->limit),
                                        sql_number(asked->then) };
    enum ch_status status = !text_ok(&counting->numbers) ? CH_ERR_NO_MEMORY
                            : asked->then != 0
                                ? sql_ask(reader, STORE_CROSS_VALUES, values, 4,
                                          take_counted_value, counting)
                                : sql_ask(reader, STORE_COUNT_VALUES, values, 3,
                                          take_counted_value, counting);
    store_return(store, reader);
    return status;
}

enum ch_status store_count_values(struct store *store,
                                  const struct store_counting *asked,
                                  store_counted_fn *visit, void *context,
                                  struct store_found *found)
{
    struct counting counting = { .limit = asked->filter->limit,
                                 .visit = visit,
                                 .context = context };
    enum ch_status status = look_and_list_reports(store, asked->filter, true,
                                                  take_counted_report, &counting);
    found->more = counting.count > counting.limit;
    found->count = (int64_t)(found->more ? counting.limit : counting.count);
    if (status == CH_OK)
        status = count_listed_values(store, asked, &counting);
    text_deinit(&counting.numbers);
    return status;
}

// gathered holds a group's rows of other tables.
struct gathered {
    struct store_group group;
    char releases[STORE_RELEASES][sizeof(((struct entry *)NULL)->release)];
    char programs[STORE_PROGRAMS][sizeof(((struct entry *)NULL)->executable)];
};

// has_program returns true if the group has a path of that name: a program may be
// installed in a folder for each release.
static bool has_program(const struct store_group *group, const char *path)
{
    for (size_t i = 0; i < group->program_count; i++) {
        if (strcmp(file_name(group->programs[i]), file_name(path)) == 0)
            return true;
    }
    return false;
}

// take_facet takes a release or a program.
static void take_facet(void *context, const struct sql_row *row)
{
    struct gathered *gathered = context;
    struct store_group *group = &gathered->group;
    size_t release = group->release_count;
    size_t program = group->program_count;
    if (sql_column_number(row, "kind") == FACET_RELEASE && release < STORE_RELEASES) {
        entry_copy(gathered->releases[release], sizeof(gathered->releases[release]),
                   sql_column_text(row, "value"));
        group->releases[release] = gathered->releases[release];
        group->release_counts[release] = sql_column_number(row, "count");
        group->release_count++;
    } else if (sql_column_number(row, "kind") == FACET_EXECUTABLE &&
               program < STORE_PROGRAMS &&
               !has_program(group, sql_column_text(row, "value"))) {
        entry_copy(gathered->programs[program], sizeof(gathered->programs[program]),
                   sql_column_text(row, "value"));
        group->programs[program] = gathered->programs[program];
        group->program_count++;
    }
}

static void take_day(void *context, const struct sql_row *row)
{
    struct store_group *group = context;
    int64_t back = group->trend_day - sql_column_number(row, "day");
    if (back >= 0 && back < STORE_TREND_DAYS)
        group->trend[STORE_TREND_DAYS - 1 - back] = sql_column_number(row, "count");
}

static enum ch_status gather_rows(const struct listing *listing, int64_t number,
                                  struct gathered *out)
{
    struct sql *sql = listing->sql;
    out->group.trend_day = timestamp_now() / TIMESTAMP_DAY_MS;
    const struct sql_value facets[] = { sql_number(number), sql_number(STORE_RELEASES),
                                        sql_number(PATHS_MAX) };
    const struct sql_value id = sql_text(out->group.id);
    const struct sql_value days[] = {
        sql_number(number), sql_number(out->group.trend_day - STORE_TREND_DAYS)
    };
    sql_queue(sql, STORE_READ_FACETS, facets, 3, take_facet, out);
    sql_queue(sql, STORE_READ_HELD, &id, 1, sql_take_number, &out->group.held_back);
    sql_queue(sql, STORE_READ_DAYS, days, 2, take_day, &out->group);
    enum ch_status status = sql_flush(sql);
    if (status != CH_OK)
        sql_rollback(sql);
    return status;
}

// read_group_columns reads the columns of a group.
static void read_group_columns(const struct sql_row *row, struct store_group *out)
{
#define READ_TEXT(member, column) out->member = sql_column_text(row, #column);
#define READ_NUMBER(member, column) out->member = sql_column_number(row, #column);
    STORE_GROUP_TEXTS(READ_TEXT)
    STORE_GROUP_NUMBERS(READ_NUMBER)
    out->resolved_in_it = out->status_release[0] == STORE_RESOLVED_IN;
    out->status_release += out->resolved_in_it;
    out->resolved_in += out->resolved_in[0] == STORE_RESOLVED_IN;
}

static void list_group(void *context, const struct sql_row *row)
{
    struct listing *listing = context;
    listing->found = sql_column_number(row, "found");
    if (!takes_row(listing))
        return;
    struct gathered gathered = { 0 };
    read_group_columns(row, &gathered.group);
    listing->last_place = sql_column_number(row, "place");
    listing->last_number = sql_column_number(row, "number");
    // A group without its trend is better than no group.
    (void)gather_rows(listing, listing->last_number, &gathered);
    gathered.group.filtered_more = sql_column_number(row, "cut") != 0;
    // The group is listed for an older one.
    if (gathered.group.filtered_more && gathered.group.filtered_count == 0)
        gathered.group.filtered_count = 1;
    listing->visit_group(listing->context, &gathered.group);
}

// list_groups lists groups, and counts those of all pages if out_found is not NULL: in
// the rows of the list, or apart where these are not all.
static enum ch_status list_groups(struct sql *sql, struct listing *listing,
                                  const struct store_look *look,
                                  struct store_found *out_found)
{
    const struct store_filter *filter = listing->filter;
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, sql->dialect, filter, look);
    enum ch_status status = store_query_go_on(&query);
    if (status != CH_OK)
        return status;
    size_t bound = store_query_bound(&query);
    size_t most = bound != 0 ? bound + 1 : 0;
    bool by_counts = query.holds[CLAUSE_COUNTS_SORT];
    // The hits of a later page are those from there on, unless counts sort them.
    bool in_rows = out_found != NULL && (filter->cursor == NULL || by_counts);
    query.holds[CLAUSE_COUNTED] = in_rows;
    store_query_find_most(&query, by_counts || in_rows ? most : filter->limit + 1);
    listing->sql = sql;
    listing->next[0] = 0;
    status = store_query_run(&query, sql, STORE_LIST_GROUPS, list_group, listing);
    if (status != CH_OK || out_found == NULL)
        return status;
    if (!in_rows) {
        query.holds[CLAUSE_AFTER] = false;
        store_query_find_most(&query, most);
        status = store_query_run(&query, sql, STORE_COUNT_GROUPS, sql_take_number,
                                 &listing->found);
    }
    bool more = bound != 0 && listing->found > (int64_t)bound;
    *out_found = (struct store_found){ .count = more ? (int64_t)bound : listing->found,
                                       .more = more };
    return status;
}

static enum ch_status look_and_list(struct store *store, struct listing *listing,
                                    struct store_found *out_found)
{
    CH_CLEANUP(store_look_deinit) struct store_look look = { 0 };
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status = store_query_look(store, reader, listing->filter, &look);
    if (status == CH_OK)
        status = list_groups(reader, listing, &look, out_found);
    store_return(store, reader);
    return status;
}

enum ch_status store_list_groups(struct store *store, const struct store_filter *filter,
                                 store_group_fn *visit, void *context,
                                 char next[STORE_CURSOR_SIZE])
{
    struct listing listing = { .filter = filter,
                               .visit_group = visit,
                               .context = context,
                               .limit = filter->limit,
                               .next = next };
    return look_and_list(store, &listing, NULL);
}

enum ch_status store_list_counted_groups(struct store *store,
                                         const struct store_filter *filter,
                                         store_group_fn *visit, void *context,
                                         char next[STORE_CURSOR_SIZE],
                                         struct store_found *out)
{
    struct listing listing = { .filter = filter,
                               .visit_group = visit,
                               .context = context,
                               .limit = filter->limit,
                               .next = next };
    return look_and_list(store, &listing, out);
}

enum ch_status store_find_group(struct store *store, const char *id,
                                store_group_fn *visit, void *context)
{
    const struct store_filter filter = { .group = id };
    char next[STORE_CURSOR_SIZE];
    CH_CLEANUP(store_query_deinit) struct store_query query;
    store_query_begin(&query, store->writer->dialect, &filter, NULL);
    struct listing listing = {
        .visit_group = visit, .context = context, .limit = 1, .next = next
    };
    struct sql *reader = store_borrow_to_list(store);
    listing.sql = reader;
    next[0] = 0;
    enum ch_status status =
        store_query_run(&query, reader, STORE_FIND_GROUP, list_group, &listing);
    store_return(store, reader);
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
    store_body_read(row, &finding->body);
    if (!finding->body.away)
        finding->visit(finding->context, &report, &finding->body.body);
}

static enum ch_status query_body(struct store *store, const char *id,
                                 struct finding *finding)
{
    struct sql_value value = sql_text(id);
    finding->found = false;
    return store_ask(store, STORE_FIND_BODY, &value, 1, find_body, finding);
}

enum ch_status store_find_report(struct store *store, const char *id,
                                 store_body_fn *visit, void *context)
{
    struct finding finding = { .visit = visit, .context = context };
    enum ch_status status = query_body(store, id, &finding);
    // No connection is kept while a body is fetched from elsewhere.
    for (int i = 0; status == CH_OK && finding.body.away && i < STORE_BODY_LOOKS; i++) {
        if (!fetch_gate_enter(&store->fetches)) {
            status = CH_ERR_IO;
            break;
        }
        status = store_body_fetch(store, &finding.body);
        fetch_gate_leave(&store->fetches);
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
    struct store_merged merged = { .fingerprint = sql_column_text(row, "fingerprint"),
                                   .recent = sql_column_number(row, "recent") };
    listing->visit(listing->context, &merged);
}

enum ch_status store_list_merged(struct store *store, const char *id,
                                 store_merged_fn *visit, void *context)
{
    struct merged_listing listing = { .visit = visit, .context = context };
    struct sql_value value = sql_text(id);
    int64_t number = 0;
    struct sql *reader = store_borrow(store);
    enum ch_status status =
        sql_ask(reader, STORE_FIND_NUMBER, &value, 1, sql_take_number, &number);
    const struct sql_value values[] = { value, sql_number(number),
                                        sql_number(STORE_RECENT) };
    if (status == CH_OK)
        status = sql_ask(reader, STORE_LIST_MERGED, values, 3, list_merged, &listing);
    store_return(store, reader);
    return status;
}

static void take_totals(void *context, const struct sql_row *row)
{
    *(struct store_totals *)context =
        (struct store_totals){ .reports = sql_column_number(row, "reports"),
                               .groups = sql_column_number(row, "groups") };
}

enum ch_status store_count(struct store *store, const char *project,
                           struct store_totals *out)
{
    struct sql_value value = sql_text(project);
    struct sql *reader = store_borrow_to_list(store);
    enum ch_status status = sql_ask(reader, STORE_TOTALS, &value, 1, take_totals, out);
    store_return(store, reader);
    return status;
}
