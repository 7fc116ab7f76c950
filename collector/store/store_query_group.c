// SPDX-License-Identifier: Apache-2.0
//
// The terms of a filter that hold for a group as a whole.
#include "collector/database/moment.h"
#include "collector/store/store_query.h"

enum {
    RISING_DAYS = 7,
    RISING_LEAST = 10, // reports in these days
};

void store_query_add_days(struct store_query *query, int64_t from, int64_t until)
{
    store_query_add_number(query,
                           "(SELECT CAST(coalesce(sum(d.count), 0) AS bigint) FROM"
                           " group_days d WHERE"
                           " d.group_number = g.number AND d.day > ?",
                           from);
    store_query_add_number(query, " AND d.day <= ?)", until);
}

// add_rising_sums keeps the groups that rise by one sum over the days of all groups.
static void add_rising_sums(struct store_query *query, int64_t before)
{
    static const char recent[] = "sum(CASE WHEN d.day > ? THEN d.count ELSE 0 END)";
    store_query_add_number(query,
                           "(g.number IN (SELECT d.group_number FROM group_days d WHERE"
                           " d.day > ?",
                           before - RISING_DAYS);
    store_query_add_number(query, " AND d.day <= ? GROUP BY d.group_number HAVING ",
                           before + RISING_DAYS);
    store_query_add_number(query, recent, before);
    store_query_add_number(query, " >= ? AND 3 * ", RISING_LEAST);
    store_query_add_number(query, recent, before);
    // PostgreSQL expects few groups and would join them to all others one by one; an
    // expression is computed once.
    store_query_add(query, " >= 2 * sum(d.count))) IS TRUE");
}

// store_query_add_rising compares the last days with as many before; a group that is
// younger than that is new and not rising.
void store_query_add_rising(struct store_query *query)
{
    int64_t today = moment_now() / MOMENT_DAY_MS;
    int64_t before = today - RISING_DAYS;
    store_query_add_number(query, "g.last_seen >= ?", (before + 1) * MOMENT_DAY_MS);
    store_query_add_number(query, " AND g.first_seen < ? AND ",
                           (before + 1) * MOMENT_DAY_MS);
    // SQLite asks the index for each group, which is cheaper there than sorting.
    if (query->dialect == SQL_POSTGRES) {
        add_rising_sums(query, before);
        return;
    }
    store_query_add_days(query, before, today);
    store_query_add_number(query, " >= ? AND ", RISING_LEAST);
    store_query_add_days(query, before, today);
    store_query_add(query, " >= 2 * ");
    store_query_add_days(query, before - RISING_DAYS, before);
}

static void add_group_rises(struct store_query *query)
{
    if (query->look == NULL || query->look->rising.size == 0)
        store_query_add_rising(query);
    else
        store_query_add_text(query,
                             query->dialect == SQL_POSTGRES
                                 ? "g.number = ANY(CAST(? AS bigint[]))"
                                 : "g.number IN (SELECT value FROM json_each(?))",
                             query->look->rising.bytes);
}

void store_query_add_group_condition(struct store_query *query,
                                     const struct store_term *term)
{
    switch (term->key) {
    case STORE_KEY_FIRST_RELEASE:
        store_query_add_equal(query, "g.first_release", term->value);
        return;
    case STORE_KEY_FIRST_SEEN:
        store_query_add_number(query, "g.first_seen >= ?", term->number);
        return;
    case STORE_KEY_STATUS:
        store_query_add_equal(query, "g.status", term->value);
        return;
    case STORE_KEY_ANY:
        store_query_add(query, "1 = 1");
        return;
    case STORE_KEY_OPEN:
        store_query_add(query, "g.status IN ('open', 'regressed')");
        return;
    case STORE_KEY_BACK_IN:
        store_query_add(query, "g.status = 'regressed' AND ");
        store_query_add_equal(query, "g.status_release", term->value);
        return;
    case STORE_KEY_ASSIGNED:
        store_query_add(query, "g.assignee <> ''");
        return;
    case STORE_KEY_ASSIGNEE:
        store_query_add_equal(query, "g.assignee", term->value);
        return;
    case STORE_KEY_PROJECT:
        store_query_add_equal(query, "g.project", term->value);
        return;
    case STORE_KEY_SHORT_WORD:
        store_query_add_contains(query,
                                 query->dialect == SQL_POSTGRES
                                     ? "g.title || '\n' || g.summary"
                                     : "g.title, g.summary",
                                 term->value);
        return;
    default:
        add_group_rises(query);
        return;
    }
}
