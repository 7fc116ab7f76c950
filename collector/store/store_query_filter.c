// SPDX-License-Identifier: Apache-2.0
//
// The conditions of a filter on reports and groups.
#include "collector/store/store_query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/moment.h"
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

// add_mark_condition requires that the report r has a mark of the term.
static void add_mark_condition(struct store_query *query, const struct store_term *term)
{
    char kind[64];
    bool word = term->key == STORE_KEY_WORD;
    store_query_begin_exists(query);
    store_query_add(query,
                    query->dialect == SQL_POSTGRES
                        ? "SELECT 1 FROM marks m CROSS JOIN"
                          " json_array_elements_text(CAST(m.list AS json)) AS j(value)"
                          " WHERE m.report = r.number AND "
                        : "SELECT 1 FROM marks m CROSS JOIN json_each(m.list) j"
                          " WHERE m.report = r.number AND ");
    if (word)
        snprintf(kind, sizeof(kind), "substr(j.value, 1, 2) BETWEEN '%d' AND '%d' AND ",
                 FACET_FRAME, FACET_MESSAGE);
    else
        snprintf(kind, sizeof(kind), "substr(j.value, 1, 2) = '%d' AND ",
                 (int)carried[term->key].kind);
    store_query_add(query, kind);
    if (word || carried[term->key].part)
        store_query_add_contains(query, "substr(j.value, 4)", term->value);
    else
        store_query_add_equal(query, "substr(j.value, 4)", term->value);
    store_query_end_exists(query);
}

// add_report_condition requires that the term holds for the report r.
static void add_report_condition(struct store_query *query,
                                 const struct store_term *term, bool wide_marks)
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
        store_query_add_contains(
            query,
            "r.title || '\n' || r.summary || '\n' || r.executable || '\n' ||"
            " r.release || '\n' || r.hostname",
            term->value);
        // As for groups, marks are searched for what their index can find, and only
        // those of groups that have it: taking marks apart is slow.
        if (store_query_is_indexed(term->value)) {
            store_query_add(query, " OR (");
            if (!wide_marks) {
                store_query_add(query, "r.group_number IN (");
                store_query_add_groups_of_words(query, false, term->value);
                store_query_add(query, ") AND ");
            }
            add_mark_condition(query, term);
            store_query_add(query, ")");
        }
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
    return carried[term->key].part;
}

void store_query_narrow_to_terms(struct store_query *query,
                                 const struct store_filter *filter, bool times)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (!store_query_is_of_reports(term) || (times && term->key < STORE_KEY_SINCE))
            continue;
        store_query_add(query, term->negated ? " AND NOT (" : " AND (");
        add_report_condition(query, term,
                             query->look != NULL && query->look->wide_marks[i]);
        store_query_add(query, ")");
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

static bool is_wide(const struct store_query *query, size_t term)
{
    return query->look != NULL && query->look->wide[term];
}

// add_wide_search keeps the groups with a report of the value of a wide term, by
// looking at the values that each has.
static void add_wide_search(struct store_query *query, const char *column,
                            const struct store_term *term)
{
    store_query_add(query, " AND ");
    store_query_begin_exists(query);
    store_query_add(query, "SELECT 1 FROM facets f WHERE f.group_number = ");
    store_query_add(query, column);
    store_query_add(query, " AND ");
    if (term->key == STORE_KEY_WORD) {
        text_appendf(&query->sql, "(f.kind <= %d OR f.kind BETWEEN %d AND %d) AND ",
                     FACET_RELEASE, FACET_FRAME, FACET_MESSAGE);
        store_query_add_contains(query, "f.value", term->value);
    } else {
        store_query_add_facet_of_kind(query, term);
    }
    store_query_end_exists(query);
}

// is_found_by_group says whether the reports of a term are found by the groups that
// have it: marks are not indexed by report, and columns are not where few have the
// value.
static bool is_found_by_group(const struct store_term *term, bool rare)
{
    if (term->negated || term->key >= STORE_KEY_SINCE)
        return false;
    if (term->key == STORE_KEY_WORD)
        return store_query_is_indexed(term->value);
    return rare || carried[term->key].kind >= FACET_KIND;
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
        if (!look->wide[i] && is_found_by_group(&filter->terms[i], true))
            return true;
    }
    return false;
}

bool store_query_has_probe(const struct store_term *term)
{
    return is_found_by_group(term, true);
}

void store_query_add_wide_probe(struct store_query *query,
                                const struct store_term *term, bool marks,
                                int64_t limit)
{
    store_query_add(query, "SELECT 1 FROM (");
    if (term->key != STORE_KEY_WORD) {
        store_query_add(query, "SELECT f.group_number FROM facets f WHERE ");
        add_facet_condition(query, term);
    } else {
        store_query_add_groups_of_words(query, !marks, term->value);
        if (!marks)
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
    store_query_narrow_to_terms(query, filter, false);
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
    else if (store_query_is_indexed(term->value))
        store_query_add_word_search(query, number, term->value);
    else {
        store_query_add(query, " AND ");
        store_query_add_contains(query, "g.title || '\n' || g.summary", term->value);
    }
}

void store_query_narrow_by_groups(struct store_query *query,
                                  const struct store_filter *filter)
{
    if (filter->group != NULL)
        add_group_id(query, "g.number", filter->group);
    narrow_by_groups(query, filter);
}

void store_query_search_groups(struct store_query *query,
                               const struct store_filter *filter, bool lazily,
                               bool examined)
{
    // With the plus SQLite goes through the groups in their order, up to the end of the
    // page, and not through all that one term finds.
    const char *number = query->dialect == SQL_POSTGRES ? "g.number" : "+g.number";
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (!store_query_is_of_reports(term) || term->negated)
            continue;
        if (!lazily || !is_wide(query, i))
            add_group_search(query, term, number);
        else if (!examined)
            add_wide_search(query, "g.number", term);
    }
}
