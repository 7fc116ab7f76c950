// SPDX-License-Identifier: Apache-2.0
//
// The query that lists groups. One pass finds the numbers of those that match; what is
// shown of a group is read for the page alone.
#include "collector/store/store_query.h"

// add_base adds the column that groups are gone through by.
static void add_base(struct store_query *query, const struct store_filter *filter)
{
    store_query_add(query, filter->sort == STORE_SORT_COUNT        ? "g.count"
                           : filter->sort == STORE_SORT_MACHINES   ? "g.machines"
                           : filter->sort == STORE_SORT_FIRST_SEEN ? "g.first_seen"
                                                                   : "g.last_seen");
}

static void add_base_order(struct store_query *query, const struct store_filter *filter)
{
    store_query_add(query, " ORDER BY ");
    add_base(query, filter);
    store_query_add(query, " DESC, g.number DESC");
}

// add_settled leaves out groups whose reports are being moved into another one.
static void add_settled(struct store_query *query, const struct store_filter *filter)
{
    store_query_add(query, " WHERE g.number NOT IN (SELECT source FROM moves WHERE"
                           " fingerprint = '')");
    store_query_narrow_by_groups(query, filter);
}

// has_index says whether an index has the groups in their order.
static bool has_index(const struct store_query *query,
                      const struct store_filter *filter)
{
    return query->dialect == SQL_POSTGRES
               ? filter->sort != STORE_SORT_FIRST_SEEN
               : filter->sort == STORE_SORT_LAST_SEEN &&
                     !store_query_lists_groups(query, filter);
}

// add_sorted_groups selects from the groups in their order, so that their reports are
// looked at up to the limit alone: those that a term finds, else all. In SQLite the
// join keeps the order of its first table.
static void add_sorted_groups(struct store_query *query,
                              const struct store_filter *filter)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    bool sorts = !has_index(query, filter);
    if (sorts)
        store_query_add(query, postgres
                                   ? " FROM (SELECT g.number, g.first_seen, g.last_seen"
                                   : " FROM (SELECT g.number AS sorted");
    store_query_add(query, " FROM groups g");
    add_settled(query, filter);
    store_query_search_listed(query, filter, true);
    if (!sorts)
        return;
    add_base_order(query, filter);
    store_query_add(query, postgres ? " OFFSET 0) g WHERE 1 = 1"
                                    : " LIMIT -1) o CROSS JOIN groups g WHERE"
                                      " g.number = o.sorted");
}

// add_hits selects the number and the place of the groups that match, after a row of
// them and up to a limit where these are given.
static void add_hits(struct store_query *query, const struct store_filter *filter,
                     const struct store_cursor *after, size_t limit)
{
    bool sorted = limit != 0 && store_query_counts(filter);
    store_query_add(query, "SELECT g.number AS number, ");
    add_base(query, filter);
    store_query_add(query, " AS place");
    if (sorted) {
        add_sorted_groups(query, filter);
        store_query_search_wide(query, filter);
    } else {
        store_query_add(query, " FROM groups g");
        add_settled(query, filter);
        store_query_search_listed(query, filter, false);
    }
    store_query_narrow_by_reports(query, filter);
    if (after != NULL) {
        store_query_add(query, " AND (");
        add_base(query, filter);
        store_query_add_number(query, ", g.number) < (?", after->place);
        store_query_add_number(query, ", ?)", after->number);
    }
    if (limit == 0)
        return;
    if (!sorted || query->dialect == SQL_POSTGRES || has_index(query, filter))
        add_base_order(query, filter);
    store_query_add_number(query, " LIMIT ?", (int64_t)limit);
}

// most_hits is how many groups are looked for to count them; 0: all.
static size_t most_hits(const struct store_query *query,
                        const struct store_filter *filter)
{
    size_t bound = store_query_bound(filter, query->look);
    return bound != 0 ? bound + 1 : 0;
}

// add_page selects the hits of the page.
static void add_page(struct store_query *query, const struct store_filter *filter,
                     const struct store_cursor *after)
{
    if (!store_query_sorts_counts(filter)) {
        store_query_add(query, "SELECT number, place FROM hit");
    } else {
        store_query_add(query,
                        "SELECT number, place FROM (SELECT g.number AS number, ");
        store_query_add_count(query, filter);
        store_query_add(query, " AS place FROM hit g) c");
        if (after != NULL) {
            store_query_add_number(query, " WHERE (place, number) < (?", after->place);
            store_query_add_number(query, ", ?)", after->number);
        }
    }
    store_query_add_number(query, " ORDER BY place DESC, number DESC LIMIT ?",
                           (int64_t)filter->limit + 1);
}

void store_query_list_groups(struct store_query *query,
                             const struct store_filter *filter, const char *columns,
                             const struct store_cursor *after, bool counted)
{
    bool by_counts = store_query_sorts_counts(filter);
    store_query_add(query, "WITH hit AS (");
    add_hits(query, filter, by_counts ? NULL : after,
             by_counts || counted ? most_hits(query, filter) : filter->limit + 1);
    store_query_add(query, ") SELECT ");
    store_query_add(query, columns);
    store_query_add(query, ", h.place AS place, ");
    if (by_counts || !store_query_counts(filter))
        store_query_add(query, by_counts ? "h.place" : "g.count");
    else
        store_query_add_count(query, filter);
    store_query_add(query, " AS filtered, ");
    store_query_add_cut(query, filter);
    store_query_add(query, " AS cut, ");
    store_query_add(query, counted ? "(SELECT count(*) FROM hit)" : "0");
    store_query_add(query, " AS found FROM (");
    add_page(query, filter, after);
    store_query_add(query, ") h CROSS JOIN groups g WHERE g.number = h.number"
                           " ORDER BY h.place DESC, g.number DESC");
}

void store_query_count_groups(struct store_query *query,
                              const struct store_filter *filter)
{
    store_query_add(query, "SELECT count(*) FROM (");
    add_hits(query, filter, NULL, most_hits(query, filter));
    store_query_add(query, ") hit");
}
