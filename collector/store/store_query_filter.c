// SPDX-License-Identifier: Apache-2.0
//
// The conditions of a filter on reports and groups, and what is counted by them.
#include "collector/store/store_query.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/moment.h"
#include "collector/store/store_facet.h"

enum {
    INDEXED_CHARACTERS = 3, // the shortest string that the indexes of words can find
};

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

// add_contains requires that a text, given in SQL, contains the searched string.
static void add_contains(struct store_query *query, const char *text,
                         const char *searched)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    store_query_add(query, postgres ? "strpos(lower(" : "instr(lower(");
    store_query_add(query, text);
    store_query_add_text(query, "), lower(CAST(? AS text))) > 0", searched);
}

// is_indexed says whether the indexes of words can find the string: they hold runs of
// three characters.
static bool is_indexed(const char *searched)
{
    size_t count = 0;
    for (; *searched != 0; searched++)
        count += ((unsigned char)*searched & 0xc0) != 0x80; // bytes that begin one
    return count >= INDEXED_CHARACTERS;
}

// query_pattern is the searched string in the form that the index takes: a quoted
// string of FTS5, or a pattern of LIKE.
static const char *query_pattern(struct store_query *query, const char *searched)
{
    assert(query->pattern_count < STORE_QUERY_PATTERNS);
    bool postgres = query->dialect == SQL_POSTGRES;
    struct text *out = &query->patterns[query->pattern_count++];
    text_append_string(out, postgres ? "%" : "\"");
    for (; *searched != 0; searched++) {
        if (postgres && strchr("\\%_", *searched) != NULL)
            text_append_string(out, "\\");
        else if (!postgres && *searched == '"')
            text_append_string(out, "\"");
        text_append(out, searched, 1);
    }
    text_append_string(out, postgres ? "%" : "\"");
    return text_ok(out) ? out->bytes : "";
}

// add_words requires that `value` of a row f of facets is, for one of the kinds of
// words from `kinds` on, one that contains the searched string.
static void add_words(struct store_query *query, const char *kinds,
                      const char *searched)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    text_appendf(&query->sql, "f.kind >= %d AND f.kind ", FACET_EXECUTABLE);
    store_query_add(query, kinds);
    // In SQLite there is one kind, and the plus keeps it from reading all words of it.
    store_query_add(query,
                    postgres ? " AND (f.kind, f.value) IN (SELECT w.kind, w.value FROM"
                               " words w WHERE w.kind "
                             : " AND f.value IN (SELECT w.value FROM words w"
                               " WHERE +w.kind ");
    store_query_add(query, kinds);
    store_query_add_text(query,
                         postgres ? " AND w.value ILIKE ?)"
                                  : " AND w.number IN (SELECT rowid FROM word_search"
                                    " WHERE word_search MATCH ?))",
                         query_pattern(query, searched));
}

// add_groups_of_words selects the groups that have a mark with the searched string in
// it. In SQLite the words of columns are found the same way where columns is true.
static void add_groups_of_words(struct store_query *query, bool columns,
                                const char *searched)
{
    char marks[48];
    (void)snprintf(marks, sizeof(marks), "BETWEEN %d AND %d", FACET_FRAME,
                   FACET_MESSAGE);
    if (query->dialect == SQL_POSTGRES) {
        store_query_add(query, "SELECT f.group_number FROM facets f WHERE ");
        add_words(query, marks, searched);
        return;
    }
    // From the words that are found to facets: there are many more words of a kind.
    store_query_add_text(query,
                         "SELECT f.group_number FROM word_search s CROSS JOIN words w"
                         " CROSS JOIN facets f WHERE s.word_search MATCH ?"
                         " AND w.number = s.rowid",
                         query_pattern(query, searched));
    text_appendf(&query->sql,
                 " AND f.kind >= %d AND f.kind = w.kind AND f.value = w.value"
                 " AND (w.kind %s",
                 FACET_EXECUTABLE, marks);
    if (columns)
        text_appendf(&query->sql, " OR w.kind BETWEEN %d AND %d", FACET_EXECUTABLE,
                     FACET_RELEASE);
    store_query_add(query, ")");
}

// add_word_search keeps the groups with a report that contains the searched string;
// column is the number of a group. In PostgreSQL one index has all values of columns;
// in SQLite it has only those that differ from group to group, and the others are
// words.
static void add_word_search(struct store_query *query, const char *column,
                            const char *searched)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    store_query_add(query, " AND (");
    store_query_add(query, column);
    text_appendf(&query->sql,
                 " IN (SELECT f.group_number FROM facets f WHERE f.kind <= %d AND ",
                 postgres ? FACET_RELEASE : FACET_SUMMARY);
    store_query_add_text(query,
                         postgres ? "f.value ILIKE ?) OR "
                                  : "f.number IN (SELECT rowid FROM facet_search WHERE"
                                    " facet_search MATCH ?)) OR ",
                         query_pattern(query, searched));
    store_query_add(query, column);
    store_query_add(query, " IN (");
    add_groups_of_words(query, true, searched);
    store_query_add(query, "))");
}

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

// add_facet_of_kind requires that a row f of facets is of the term's kind and value,
// by looking at the value.
static void add_facet_of_kind(struct store_query *query, const struct store_term *term)
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
        add_contains(query, "f.value", term->value);
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
    if (carried[term->key].part && is_indexed(term->value))
        add_words(query, kind, term->value);
    else
        add_facet_of_kind(query, term);
}

// add_exists_begin and add_exists_end enclose a SELECT that has to find a row. With
// PostgreSQL it is one that no planner turns into a join: what it is asked for is few
// rows, in their order, and a join would find all.
static void add_exists_begin(struct store_query *query)
{
    store_query_add(query, query->dialect == SQL_POSTGRES ? "(" : "EXISTS(");
}
static void add_exists_end(struct store_query *query)
{
    store_query_add(query,
                    query->dialect == SQL_POSTGRES ? " LIMIT 1) IS NOT NULL" : ")");
}

// add_mark_condition requires that the report r has a mark of the term.
static void add_mark_condition(struct store_query *query, const struct store_term *term)
{
    char kind[64];
    bool word = term->key == STORE_KEY_WORD;
    add_exists_begin(query);
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
        add_contains(query, "substr(j.value, 4)", term->value);
    else
        store_query_add_equal(query, "substr(j.value, 4)", term->value);
    add_exists_end(query);
}

// add_report_condition requires that the term holds for the report r.
static void add_report_condition(struct store_query *query,
                                 const struct store_term *term)
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
        add_contains(query,
                     "r.title || '\n' || r.summary || '\n' || r.executable || '\n' ||"
                     " r.release || '\n' || r.hostname",
                     term->value);
        // As for groups, marks are searched for what their index can find, and only
        // those of groups that have it: taking marks apart is slow.
        if (is_indexed(term->value)) {
            store_query_add(query, " OR (r.group_number IN (");
            add_groups_of_words(query, false, term->value);
            store_query_add(query, ") AND ");
            add_mark_condition(query, term);
            store_query_add(query, ")");
        }
    } else if (column != NULL) {
        store_query_add_equal(query, column, term->value);
    } else {
        add_mark_condition(query, term);
    }
}

static bool is_of_reports(const struct store_term *term)
{
    return term->key < STORE_KEY_FIRST_RELEASE;
}

// narrow_to_filter adds a filter's conditions on a report r.
static void narrow_to_filter(struct store_query *query,
                             const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (!is_of_reports(term))
            continue;
        store_query_add(query, term->negated ? " AND NOT (" : " AND (");
        add_report_condition(query, term);
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
        if (is_of_reports(term))
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

// is_found_by_group says whether the reports of a term are found by the groups that
// have it: marks are not indexed by report.
static bool is_found_by_group(const struct store_term *term)
{
    if (term->negated || !is_of_reports(term))
        return false;
    if (term->key == STORE_KEY_WORD)
        return is_indexed(term->value);
    return carried[term->key < STORE_KEY_SINCE ? term->key : 0].kind >= FACET_KIND;
}

static void narrow_by_marks(struct store_query *query,
                            const struct store_filter *filter, const char *column)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (!is_found_by_group(term))
            continue;
        if (term->key == STORE_KEY_WORD)
            add_word_search(query, column, term->value);
        else
            add_facet_search(query, column, term);
    }
}

bool store_query_finds_by_group(const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        if (is_found_by_group(&filter->terms[i]))
            return true;
    }
    return false;
}

void store_query_narrow_to_marked(struct store_query *query,
                                  const struct store_filter *filter)
{
    narrow_by_groups(query, filter);
    narrow_by_marks(query, filter, "g.number");
}

void store_query_narrow_reports(struct store_query *query,
                                const struct store_filter *filter, bool marked)
{
    if (filter->group != NULL)
        add_group_id(query, "r.group_number", filter->group);
    narrow_by_groups(query, filter);
    if (!marked)
        narrow_by_marks(query, filter, "r.group_number");
    narrow_to_filter(query, filter);
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
    else if (is_indexed(term->value))
        add_word_search(query, number, term->value);
    else {
        store_query_add(query, " AND ");
        add_contains(query, "g.title || '\n' || g.summary", term->value);
    }
}

// count_conditions counts the terms on reports, and says whether one is negated.
static size_t count_conditions(const struct store_filter *filter, bool *out_negated)
{
    size_t count = 0;
    *out_negated = false;
    for (size_t i = 0; i < filter->term_count; i++) {
        count += is_of_reports(&filter->terms[i]);
        *out_negated |= is_of_reports(&filter->terms[i]) && filter->terms[i].negated;
    }
    return count;
}

void store_query_narrow_groups(struct store_query *query,
                               const struct store_filter *filter)
{
    // With the plus SQLite goes through the groups in their order, up to the end of the
    // page, and not through all that one term finds.
    const char *number = query->dialect == SQL_POSTGRES ? "g.number" : "+g.number";
    bool negated = false;
    size_t conditions = count_conditions(filter, &negated);
    if (filter->group != NULL)
        add_group_id(query, "g.number", filter->group);
    narrow_by_groups(query, filter);
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (is_of_reports(term) && !term->negated)
            add_group_search(query, term, number);
    }
    // One condition is decided by the facets, several have to hold for one report.
    if (conditions < 2 && !negated)
        return;
    store_query_add(query, " AND ");
    add_exists_begin(query);
    store_query_add(query, "SELECT 1 FROM reports r WHERE r.group_number = g.number");
    narrow_to_filter(query, filter);
    add_exists_end(query);
}

bool store_query_counts(const struct store_filter *filter)
{
    bool negated = false;
    return count_conditions(filter, &negated) != 0;
}

// lone_term is the filter's only term on reports, if that is not negated; or NULL.
static const struct store_term *lone_term(const struct store_filter *filter)
{
    bool negated = false;
    if (count_conditions(filter, &negated) != 1 || negated)
        return NULL;
    size_t i = 0;
    while (!is_of_reports(&filter->terms[i]))
        i++;
    return &filter->terms[i];
}

// counted_term is the lone term if the count of one facet is the number of its reports,
// or of one of several facets that a part may match; or NULL.
static const struct store_term *counted_term(const struct store_filter *filter)
{
    const struct store_term *term = lone_term(filter);
    return term != NULL && term->key != STORE_KEY_WORD && term->key < STORE_KEY_SINCE
               ? term
               : NULL;
}

// add_facet_value selects from the few values of one kind that the group g has.
static void add_facet_value(struct store_query *query, const char *what,
                            const struct store_term *term)
{
    store_query_add(query, "(SELECT ");
    store_query_add(query, what);
    store_query_add(query, " FROM facets f WHERE f.group_number = g.number AND ");
    add_facet_of_kind(query, term);
    store_query_add(query, ")");
}

static void add_reports_count(struct store_query *query,
                              const struct store_filter *filter)
{
    store_query_add(query, "(SELECT count(*) FROM reports r WHERE r.group_number ="
                           " g.number");
    narrow_to_filter(query, filter);
    store_query_add(query, ")");
}

// lone_since is the lone term if that is a time since which; or NULL.
static const struct store_term *lone_since(const struct store_filter *filter)
{
    const struct store_term *term = lone_term(filter);
    return term != NULL && term->key == STORE_KEY_SINCE ? term : NULL;
}

// add_count_since counts reports since a time: by the sums of whole days, and one by
// one those of the day on which it begins.
static void add_count_since(struct store_query *query, int64_t since_ms)
{
    int64_t day = since_ms / MOMENT_DAY_MS;
    store_query_add(query, "(");
    store_query_add_days(query, day, INT64_MAX / MOMENT_DAY_MS);
    store_query_add_number(query,
                           " + (SELECT count(*) FROM reports r WHERE r.group_number ="
                           " g.number AND r.time >= ?",
                           since_ms);
    store_query_add_number(query, " AND r.time < ?))", (day + 1) * MOMENT_DAY_MS);
}

void store_query_add_count(struct store_query *query, const struct store_filter *filter)
{
    const struct store_term *term = counted_term(filter);
    const struct store_term *since = lone_since(filter);
    if (!store_query_counts(filter)) {
        store_query_add(query, "g.count");
    } else if (since != NULL) {
        add_count_since(query, since->number);
    } else if (term != NULL && carried[term->key].part) {
        // A report may have several values that contain the searched one.
        store_query_add(query, "CASE WHEN ");
        add_facet_value(query, "count(*)", term);
        store_query_add(query, " = 1 THEN ");
        add_facet_value(query, "max(f.count)", term);
        store_query_add(query, " ELSE ");
        add_reports_count(query, filter);
        store_query_add(query, " END");
    } else if (term != NULL) {
        add_facet_value(query, "CAST(coalesce(sum(f.count), 0) AS bigint)", term);
    } else {
        add_reports_count(query, filter);
    }
}

void store_query_add_order(struct store_query *query, const struct store_filter *filter)
{
    if (filter->sort == STORE_SORT_COUNT)
        store_query_add_count(query, filter);
    else
        store_query_add(query, filter->sort == STORE_SORT_MACHINES     ? "g.machines"
                               : filter->sort == STORE_SORT_FIRST_SEEN ? "g.first_seen"
                                                                       : "g.last_seen");
}
