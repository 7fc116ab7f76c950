// SPDX-License-Identifier: Apache-2.0
//
// The conditions of a filter on reports and groups.
#include "collector/store/store_query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/database/moment.h"
#include "collector/store/store_facet.h"

// carried says where reports carry the value of a key: kind is its facet; column is its
// column, or NULL where it is a mark; part: the value may be a part of what is carried.
static const struct {
    const char *column;
    enum store_facet kind;
    bool part;
} carried[] = {
    [STORE_KEY_RELEASE] = { "r.release", FACET_RELEASE, false },
    [STORE_KEY_ENVIRONMENT] = { "r.environment", FACET_ENVIRONMENT, false },
    [STORE_KEY_SIGNAL] = { NULL, FACET_SIGNAL, false },
    [STORE_KEY_SIGNAL_NAME] = { "r.signal_name", FACET_SIGNAL_NAME, false },
    [STORE_KEY_HOST] = { "r.hostname", FACET_HOSTNAME, false },
    [STORE_KEY_PROGRAM] = { "r.executable", FACET_EXECUTABLE, false },
    [STORE_KEY_TAG] = { NULL, FACET_TAG, false },
    [STORE_KEY_KIND] = { NULL, FACET_KIND, false },
    [STORE_KEY_FRAME] = { NULL, FACET_FRAME, true },
    [STORE_KEY_FILE] = { NULL, FACET_FILE, true },
    [STORE_KEY_BUILD] = { NULL, FACET_BUILD, true },
    [STORE_KEY_MESSAGE] = { NULL, FACET_MESSAGE, true },
    [STORE_KEY_KERNEL] = { NULL, FACET_KERNEL, false },
    [STORE_KEY_PROCESSOR] = { NULL, FACET_PROCESSOR, false },
    [STORE_KEY_UPTIME] = { NULL, FACET_UPTIME, false },
    [STORE_KEY_THREAD] = { NULL, FACET_THREAD, false },
    [STORE_KEY_ADDRESS] = { NULL, FACET_ADDRESS, false },
    [STORE_KEY_REGISTER] = { NULL, FACET_REGISTER, false },
    [STORE_KEY_ARGUMENT] = { NULL, FACET_ARGUMENT, false },
    [STORE_KEY_DEPTH] = { NULL, FACET_DEPTH, false },
};

// add_path requires that a path, given in SQL, is value or ends with it after a slash.
static void add_path(struct store_query *query, const char *path, const char *value)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    store_query_add(query, "(");
    store_query_add(query, path);
    store_query_add_text(query, " = ? OR ", value);
    store_query_add(query, postgres ? "strpos(" : "instr(");
    store_query_add(query, path);
    store_query_add_text(query, " || '\n', '/' || CAST(? AS text) || '\n') > 0)",
                         value);
}

void store_query_add_facet_of_kind(struct store_query *query,
                                   const struct store_term *term)
{
    text_appendf(&query->sql, "f.kind >= %d AND f.kind = %d AND ", FACET_EXECUTABLE,
                 (int)carried[term->key].kind);
    if (term->key == STORE_KEY_PROGRAM) {
        add_path(query, "f.value", term->value);
    } else if (term->key == STORE_KEY_TAG) {
        store_query_add_text(query, "f.value = CAST(? AS text) || '\n'", term->tag);
        store_query_add_text(query, " || CAST(? AS text)", term->value);
    } else if (term->key == STORE_KEY_SIGNAL) {
        store_query_add_number(query, "f.value = CAST(? AS text)", term->number);
    } else if (carried[term->key].part) {
        store_query_add_contains(query, "f.value", term->value);
    } else {
        store_query_add_equal(query, "f.value", term->value);
    }
}

// add_facet_condition requires the same of any row of facets: an index has the words
// that contain a part.
static void add_facet_condition(struct store_query *query,
                                const struct store_term *term)
{
    char kind[32];
    snprintf(kind, sizeof(kind), "= %d", (int)carried[term->key].kind);
    if (carried[term->key].part && store_query_is_indexed(term->value))
        store_query_add_words(query, kind, term->value);
    else
        store_query_add_facet_of_kind(query, term);
}

void store_query_begin_exists(struct store_query *query)
{
    store_query_add(query, query->dialect == SQL_POSTGRES ? "(" : "EXISTS(");
}
void store_query_end_exists(struct store_query *query)
{
    store_query_add(query,
                    query->dialect == SQL_POSTGRES ? " LIMIT 1) IS NOT NULL" : ")");
}

// is_json_as_is says whether JSON has the text as it is.
static bool is_json_as_is(const char *text)
{
    while (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
        text++;
    return *text == 0;
}

// add_mark_list requires what the list of a report that has a mark of the term has too:
// most lists need not be taken apart then.
static void add_mark_list(struct store_query *query, const struct store_term *term,
                          bool part)
{
    if (!is_json_as_is(term->value))
        return;
    if (part) {
        store_query_add_contains(query, "m.list", term->value);
    } else {
        store_query_add(query, query->dialect == SQL_POSTGRES ? "strpos(" : "instr(");
        store_query_add_text(query, "m.list, CAST(? AS text) || '\"') > 0",
                             term->value);
    }
    store_query_add(query, " AND ");
}

// add_mark_condition requires that the report r has a mark of the term.
static void add_mark_condition(struct store_query *query, const struct store_term *term)
{
    char kind[64];
    bool word = term->key == STORE_KEY_WORD;
    bool part = word || carried[term->key].part;
    store_query_begin_exists(query);
    store_query_add(query,
                    query->dialect == SQL_POSTGRES
                        ? "SELECT 1 FROM marks m CROSS JOIN"
                          " json_array_elements_text(CAST(m.list AS json)) AS j(value)"
                          " WHERE m.report = r.number AND "
                        : "SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j"
                          " WHERE m.report = r.number AND ");
    add_mark_list(query, term, part);
    if (word)
        snprintf(kind, sizeof(kind), "substr(j.value, 1, 2) BETWEEN '%d' AND '%d' AND ",
                 FACET_FRAME, FACET_MESSAGE);
    else
        snprintf(kind, sizeof(kind), "substr(j.value, 1, 2) = '%d' AND ",
                 (int)carried[term->key].kind);
    store_query_add(query, kind);
    if (part)
        store_query_add_contains(query, "substr(j.value, 4)", term->value);
    else
        store_query_add_equal(query, "substr(j.value, 4)", term->value);
    store_query_end_exists(query);
}

// add_report_condition requires that the term holds for the report r.
static void add_report_condition(struct store_query *query,
                                 const struct store_term *term, bool wide)
{
    const char *column = carried[term->key < STORE_KEY_SINCE ? term->key : 0].column;
    if (term->key == STORE_KEY_SINCE) {
        store_query_add_number(query, "r.time >= ?", term->number);
    } else if (term->key == STORE_KEY_UNTIL) {
        store_query_add_number(query, "r.time < ?", term->number);
    } else if (term->key == STORE_KEY_SIGNAL) {
        store_query_add_number(query, "r.signal = ?", term->number);
    } else if (term->key == STORE_KEY_PROGRAM) {
        add_path(query, column, term->value);
    } else if (term->key == STORE_KEY_TAG) {
        store_query_add_text(query,
                             "EXISTS(SELECT 1 FROM tags t WHERE t.report = r.number"
                             " AND t.key = ?",
                             term->tag);
        store_query_add_text(query, " AND t.value = ?)", term->value);
    } else if (term->key == STORE_KEY_WORD) {
        store_query_add_contains(query,
                                 query->dialect == SQL_POSTGRES
                                     ? "r.title || '\n' || r.summary || '\n' ||"
                                       " r.executable || '\n' || r.release || '\n' ||"
                                       " r.hostname"
                                     : "r.title, r.summary, r.executable, r.release,"
                                       " r.hostname",
                                 term->value);
        // Where they must not have it, only marks of groups that the index finds.
        store_query_add(query, " OR (");
        if (term->negated && !wide) {
            store_query_add(query, "r.group_number IN (");
            store_query_add_groups_of_words(query, term->value);
            store_query_add(query, ") AND ");
        }
        add_mark_condition(query, term);
        store_query_add(query, ")");
    } else if (column != NULL) {
        store_query_add_equal(query, column, term->value);
    } else {
        add_mark_condition(query, term);
    }
}

bool store_query_is_of_reports(const struct store_term *term)
{
    return term->key < STORE_KEY_FIRST_RELEASE;
}

bool store_query_finds_part(const struct store_term *term)
{
    return term->key == STORE_KEY_WORD || carried[term->key].part;
}

static bool is_wide(const struct store_query *query, size_t term)
{
    return query->look != NULL && query->look->wide[term];
}

// report_cost is 0 for a term that a column decides, 1 for one of words or marks, and 2
// for such a one that many have.
static int report_cost(const struct store_query *query,
                       const struct store_filter *filter, size_t term)
{
    enum store_key key = filter->terms[term].key;
    bool column =
        key != STORE_KEY_WORD && (key >= STORE_KEY_SINCE || key == STORE_KEY_SIGNAL ||
                                  carried[key].column != NULL);
    return column ? 0 : 1 + is_wide(query, term);
}

// is_in_index says whether the index of a group's reports decides a term in PostgreSQL.
static bool is_in_index(const struct store_term *term)
{
    return term->key == STORE_KEY_RELEASE || term->key == STORE_KEY_ENVIRONMENT ||
           term->key == STORE_KEY_HOST || term->key == STORE_KEY_SIGNAL_NAME ||
           term->key == STORE_KEY_SINCE || term->key == STORE_KEY_UNTIL;
}

// reads_few_rows says whether rows of a group's reports are read only where the index
// has what else is asked for.
static bool reads_few_rows(const struct store_query *query,
                           const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        if (is_in_index(&filter->terms[i]))
            return query->dialect == SQL_POSTGRES;
    }
    return false;
}

// add_term_of_row asks the row of the report r, which it reads for that.
static void add_term_of_row(struct store_query *query, const struct store_term *term,
                            bool wide)
{
    store_query_begin_exists(query);
    store_query_add(query, "SELECT 1 FROM (SELECT * FROM reports o WHERE o.number ="
                           " r.number OFFSET 0) r WHERE ");
    add_report_condition(query, term, wide);
    store_query_end_exists(query);
}

void store_query_narrow_to_terms(struct store_query *query,
                                 const struct store_filter *filter,
                                 enum store_query_terms terms)
{
    bool few = terms == TERMS_IN_GROUP && reads_few_rows(query, filter);
    for (int cost = 0; cost <= 2; cost++) {
        for (size_t i = 0; i < filter->term_count; i++) {
            const struct store_term *term = &filter->terms[i];
            if (!store_query_is_of_reports(term) ||
                (terms == TERMS_OF_TIME && term->key < STORE_KEY_SINCE) ||
                report_cost(query, filter, i) != cost)
                continue;
            store_query_add(query, term->negated ? " AND NOT (" : " AND (");
            if (few && !is_in_index(term))
                add_term_of_row(query, term, is_wide(query, i));
            else
                add_report_condition(query, term, is_wide(query, i));
            store_query_add(query, ")");
        }
    }
}

static void add_group_id(struct store_query *query, const char *column, const char *id)
{
    store_query_add(query, " AND ");
    store_query_add(query, column);
    store_query_add_text(query,
                         " = coalesce((SELECT number FROM groups WHERE fingerprint ="
                         " coalesce((SELECT target FROM merged WHERE fingerprint = ?),"
                         " ?)), (SELECT kg.number FROM keys k JOIN groups kg ON"
                         " kg.fingerprint = coalesce((SELECT target FROM merged WHERE"
                         " fingerprint = k.target), k.target) WHERE k.fingerprint ="
                         " ?))",
                         id);
}

static void narrow_by_groups(struct store_query *query,
                             const struct store_filter *filter)
{
    if (filter->project != NULL && filter->project[0] != 0)
        store_query_add_text(query, " AND g.project = ?", filter->project);
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (store_query_is_of_reports(term))
            continue;
        store_query_add(query, term->negated ? " AND NOT (" : " AND (");
        store_query_add_group_condition(query, term);
        store_query_add(query, ")");
    }
}

// add_facet_search keeps the groups with a report of that value; column is the number
// of a group.
static void add_facet_search(struct store_query *query, const char *column,
                             const struct store_term *term)
{
    store_query_add(query, " AND (");
    store_query_add(query, column);
    store_query_add(query, " IN (SELECT f.group_number FROM facets f WHERE ");
    add_facet_condition(query, term);
    // PostgreSQL takes what it finds for much less than it is, and would look up each
    // group of it; an expression is computed once, and looked into for each group.
    store_query_add(query, query->dialect == SQL_POSTGRES ? ")) IS TRUE" : "))");
}

// begin_values selects from the values that a group has; column is its number.
static void begin_values(struct store_query *query, const char *column)
{
    store_query_begin_exists(query);
    store_query_add(query, "SELECT 1 FROM facets f WHERE f.group_number = ");
    store_query_add(query, column);
    store_query_add(query, " AND ");
}

// add_wide_search keeps the groups with a report of the value of a wide term, by
// looking at the values that each has: for a word at marks first, which are fewer.
static void add_wide_search(struct store_query *query, const char *column,
                            const struct store_term *term)
{
    store_query_add(query, " AND (");
    begin_values(query, column);
    if (term->key == STORE_KEY_WORD) {
        text_appendf(&query->sql, "f.kind BETWEEN %d AND %d AND ", FACET_FRAME,
                     FACET_MESSAGE);
        store_query_add_contains(query, "f.value", term->value);
        store_query_end_exists(query);
        store_query_add(query, " OR ");
        begin_values(query, column);
        text_appendf(&query->sql, "f.kind <= %d AND ", FACET_RELEASE);
        store_query_add_contains(query, "f.value", term->value);
    } else {
        store_query_add_facet_of_kind(query, term);
    }
    store_query_end_exists(query);
    store_query_add(query, ")");
}

// is_found_by_group says whether the reports of a term are found by the groups that
// have it: marks are not indexed by report, and columns are not where few have the
// value.
static bool is_found_by_group(const struct store_term *term, bool rare)
{
    return !term->negated && store_query_has_probe(term) &&
           (rare || term->key == STORE_KEY_WORD ||
            carried[term->key].kind >= FACET_KIND);
}

// narrow_by_marks requires that column is the number of a group that has the terms
// which are found by groups. With rare_alone it leaves wide terms out. With a plus
// SQLite goes through the reports by their time.
static void narrow_by_marks(struct store_query *query,
                            const struct store_filter *filter, const char *column,
                            bool rare_alone)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        bool wide = is_wide(query, i);
        if (!is_found_by_group(term, query->look != NULL && !wide))
            continue;
        bool plus =
            query->dialect == SQL_SQLITE && query->look != NULL && query->look->many[i];
        char number[32];
        (void)snprintf(number, sizeof(number), "%s%s", plus ? "+" : "", column);
        if (wide && !rare_alone)
            add_wide_search(query, column, term);
        else if (!wide && term->key == STORE_KEY_WORD)
            store_query_add_word_search(query, number, term->value);
        else if (!wide)
            add_facet_search(query, number, term);
    }
}

bool store_query_finds_by_group(const struct store_filter *filter,
                                const struct store_look *look)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        bool shown = term->key == STORE_KEY_SHORT_WORD && !term->negated;
        if (shown || (!look->wide[i] && is_found_by_group(term, true)))
            return true;
    }
    return false;
}

// is_searched says whether groups are kept by the values they have for a term.
static bool is_searched(const struct store_term *term)
{
    return store_query_is_of_reports(term) && !term->negated;
}

bool store_query_compares_column(const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (is_searched(term) && term->key < STORE_KEY_SINCE && is_in_index(term))
            return true;
    }
    return false;
}

bool store_query_narrows_groups(const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (!store_query_is_of_reports(term) && term->key != STORE_KEY_ANY)
            return true;
    }
    return false;
}

bool store_query_has_probe(const struct store_term *term)
{
    return term->key < STORE_KEY_SINCE;
}

void store_query_add_wide_probe(struct store_query *query,
                                const struct store_term *term, int64_t limit)
{
    store_query_add(query, "SELECT 1 FROM (");
    if (term->key != STORE_KEY_WORD) {
        store_query_add(query, "SELECT f.group_number FROM facets f WHERE ");
        add_facet_condition(query, term);
    } else {
        store_query_add_groups_of_words(query, term->value);
        if (query->dialect == SQL_SQLITE)
            store_query_add_texts(query, term->value);
    }
    store_query_add_number(query, " LIMIT ?) p", limit);
}

void store_query_narrow_to_marked(struct store_query *query,
                                  const struct store_filter *filter)
{
    narrow_by_groups(query, filter);
    narrow_by_marks(query, filter, "g.number", true);
}

void store_query_narrow_reports(struct store_query *query,
                                const struct store_filter *filter, bool marked)
{
    if (filter->group != NULL)
        add_group_id(query, "r.group_number", filter->group);
    narrow_by_groups(query, filter);
    if (!marked)
        narrow_by_marks(query, filter, "r.group_number", false);
    store_query_narrow_to_terms(query, filter, TERMS_OF_ALL);
}

// add_group_search keeps the groups that may have a report for which the term holds;
// number is that of a group in SQL.
static void add_group_search(struct store_query *query, const struct store_term *term,
                             const char *number)
{
    if (term->key == STORE_KEY_SINCE)
        store_query_add_number(query, " AND g.last_seen >= ?", term->number);
    else if (term->key == STORE_KEY_UNTIL)
        store_query_add_number(query, " AND g.first_seen < ?", term->number);
    else if (term->key != STORE_KEY_WORD)
        add_facet_search(query, number, term);
    else
        store_query_add_word_search(query, number, term->value);
}

void store_query_narrow_by_groups(struct store_query *query,
                                  const struct store_filter *filter)
{
    if (filter->group != NULL)
        add_group_id(query, "g.number", filter->group);
    narrow_by_groups(query, filter);
}

bool store_query_lists_groups(const struct store_query *query,
                              const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (is_searched(term) && store_query_has_probe(term) && !is_wide(query, i))
            return true;
    }
    return false;
}

void store_query_search_listed(struct store_query *query,
                               const struct store_filter *filter, bool lazily)
{
    // With the plus SQLite goes through all groups, and not through those of one term.
    bool plus = query->dialect == SQL_SQLITE && !lazily;
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (is_searched(term) && !(lazily && is_wide(query, i)))
            add_group_search(query, term, plus ? "+g.number" : "g.number");
    }
}

void store_query_search_wide(struct store_query *query,
                             const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (is_searched(term) && is_wide(query, i) && term->key != STORE_KEY_WORD)
            add_wide_search(query, "g.number", term);
    }
    // The few reports that have a column are looked at sooner than all values.
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (is_searched(term) && is_wide(query, i) && term->key == STORE_KEY_WORD &&
            !store_query_compares_column(filter))
            add_wide_search(query, "g.number", term);
    }
}
