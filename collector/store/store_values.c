// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_values.h"

#include "collector/store/store_internal.h"

struct value_listing {
    store_value_fn *visit;
    void *context;
};

// list_value takes a row of value, count, count elsewhere, last seen.
static void list_value(void *context, const struct sql_row *row)
{
    const struct value_listing *listing = context;
    struct store_value value = { .value = sql_column_text(row, "value"),
                                 .count = sql_column_number(row, "count"),
                                 .elsewhere = sql_column_number(row, "elsewhere"),
                                 .last_seen_ms = sql_column_number(row, "last_seen") };
    listing->visit(listing->context, &value);
}

static enum ch_status run_value_query(struct store *store, const char *sql,
                                      const struct sql_value *values, size_t count,
                                      struct value_listing *listing)
{
    struct sql *reader = store_borrow(store);
    enum ch_status status = sql_query(reader, sql, values, count, list_value, listing);
    store_return(store, reader);
    return status;
}

#define GROUP_OF_1                                                                     \
    "(SELECT number FROM groups WHERE fingerprint = coalesce((SELECT target FROM"      \
    " merged WHERE fingerprint = ?1), ?1))"

enum ch_status store_list_values(struct store *store, const char *id,
                                 const struct store_values *asked,
                                 store_value_fn *visit, void *context)
{
    struct value_listing listing = { visit, context };
    bool bound = asked->project != NULL && asked->project[0] != 0;
    struct sql_value values[] = { sql_text(id), sql_number(asked->kind),
                                  sql_number((int64_t)asked->limit),
                                  sql_number(asked->least),
                                  sql_text(bound ? asked->project : "") };
    // The sum over all groups includes this one, whose count is taken off.
    return run_value_query(
        store,
        asked->elsewhere && bound
            ? "SELECT f.value, f.count, (SELECT CAST(sum(o.count) AS bigint) FROM"
              " facets o JOIN groups og ON og.number = o.group_number AND og.project ="
              " ?5 WHERE o.kind >= 3 AND o.kind = f.kind AND o.value = f.value)"
              " - f.count AS elsewhere, f.last_seen FROM (SELECT kind, value, count, "
              "last_seen FROM"
              " facets WHERE group_number = " GROUP_OF_1 " AND kind = ?2"
              " AND count >= ?4 ORDER BY count DESC, value LIMIT ?3) f ORDER BY "
              "f.count DESC, f.value"
        : asked->elsewhere
            ? "SELECT f.value, f.count, (SELECT CAST(sum(o.count) AS bigint) FROM"
              " facets o WHERE o.kind >= 3 AND o.kind = f.kind AND o.value = f.value)"
              " - f.count AS elsewhere, f.last_seen FROM (SELECT kind, value, count, "
              "last_seen FROM"
              " facets WHERE group_number = " GROUP_OF_1 " AND kind = ?2"
              " AND count >= ?4 ORDER BY count DESC, value LIMIT ?3) f ORDER BY "
              "f.count DESC, f.value"
            : "SELECT value, count, 0 AS elsewhere, last_seen FROM facets WHERE"
              " group_number = " GROUP_OF_1 " AND kind = ?2"
              " ORDER BY count DESC, value LIMIT ?3",
        values,
        !asked->elsewhere ? 3
        : bound           ? 5
                          : 4,
        &listing);
}

enum ch_status store_list_releases(struct store *store, const char *project,
                                   store_value_fn *visit, void *context)
{
    struct value_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(STORE_PAGE_MAX), sql_text(project) };
    if (project[0] != 0)
        return run_value_query(
            store,
            "SELECT f.value, CAST(sum(f.count) AS bigint) AS count, 0 AS elsewhere, "
            "max(f.last_seen) AS last_seen FROM"
            " groups g JOIN facets f ON f.group_number = g.number AND f.kind = 5 WHERE"
            " g.project = ?2 GROUP BY f.value ORDER BY 4 DESC, 1 DESC LIMIT ?1",
            values, 2, &listing);
    return run_value_query(store,
                           "SELECT value, CAST(sum(count) AS bigint) AS count, 0 AS "
                           "elsewhere, max(last_seen) AS last_seen"
                           " FROM facets WHERE kind = 5 GROUP BY value"
                           " ORDER BY 4 DESC, 1 DESC LIMIT ?1",
                           values, 1, &listing);
}

enum ch_status store_list_lone_hosts(struct store *store, const char *project,
                                     store_value_fn *visit, void *context)
{
    enum { LONE_HOSTS = 5, LEAST_GROUPS = 3 };
    struct value_listing listing = { visit, context };
    struct sql_value values[] = { sql_number(LEAST_GROUPS), sql_number(LONE_HOSTS),
                                  sql_text(project) };
    return run_value_query(
        store,
        "SELECT f.value, count(*) AS count, CAST(sum(f.count) AS bigint) AS elsewhere, "
        "max(f.last_seen) AS last_seen"
        // From groups to facets: few groups are of one machine.
        " FROM groups g CROSS JOIN facets f WHERE f.group_number = g.number AND f.kind"
        " = 4 AND g.machines = 1 AND g.status IN ('open', 'regressed') AND (?3 = '' OR"
        " g.project = ?3) AND EXISTS(SELECT 1 FROM groups WHERE machines > 1 AND (?3 ="
        " '' OR project = ?3)) GROUP BY f.value"
        " HAVING count(*) >= ?1 ORDER BY 2 DESC, 1 LIMIT ?2",
        values, 3, &listing);
}
