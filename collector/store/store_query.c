// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// INDEXED_CHARACTERS is the shortest string that the index over facets can find.
enum { INDEXED_CHARACTERS = 3 };

void store_query_deinit(struct store_query *query)
{
    text_deinit(&query->sql);
    text_deinit(&query->pattern);
}

void store_query_add(struct store_query *query, const char *sql)
{
    text_append_string(&query->sql, sql);
}

static void query_add_value(struct store_query *query, const char *sql,
                            struct sql_value value)
{
    assert(query->count < SQL_VALUES);
    query->values[query->count++] = value;
    for (; *sql != 0; sql++) {
        text_append(&query->sql, sql, 1);
        if (*sql == '?')
            text_appendf(&query->sql, "%zu", query->count);
    }
}

void store_query_add_text(struct store_query *query, const char *sql, const char *value)
{
    query_add_value(query, sql, sql_text(value));
}

void store_query_add_number(struct store_query *query, const char *sql, int64_t value)
{
    query_add_value(query, sql, sql_number(value));
}

// add_contains requires that a text, given in SQL, contains the search string.
static void add_contains(struct store_query *query, const char *text,
                         const char *searched)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    store_query_add(query, postgres ? " AND strpos(lower(" : " AND instr(lower(");
    store_query_add(query, text);
    store_query_add_text(query, "), lower(CAST(? AS text))) > 0", searched);
}

// count_characters counts the bytes that begin a UTF-8 character.
static size_t count_characters(const char *text)
{
    size_t count = 0;
    for (; *text != 0; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

// write_pattern writes the search string in the form that the index takes: a quoted
// string of FTS5, or a pattern of LIKE.
static void write_pattern(struct store_query *query, const char *searched)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    struct text *out = &query->pattern;
    text_append_string(out, postgres ? "%" : "\"");
    for (; *searched != 0; searched++) {
        if (postgres && strchr("\\%_", *searched) != NULL)
            text_append_string(out, "\\");
        else if (!postgres && *searched == '"')
            text_append_string(out, "\"");
        text_append(out, searched, 1);
    }
    text_append_string(out, postgres ? "%" : "\"");
}

// is_indexed says whether the index over facets can find the string: it indexes runs of
// three characters.
static bool is_indexed(const char *searched)
{
    return count_characters(searched) >= INDEXED_CHARACTERS;
}

// add_search keeps the groups with a report that contains the search string; column is
// the number of a group.
static void add_search(struct store_query *query, const char *column,
                       const char *searched)
{
    write_pattern(query, searched);
    store_query_add(query, " AND ");
    store_query_add(query, column);
    store_query_add_text(query,
                         query->dialect == SQL_POSTGRES
                             ? " IN (SELECT f.group_number FROM facets f WHERE"
                               " f.kind <= 5 AND f.value ILIKE ?)"
                             : " IN (SELECT f.group_number FROM facets f WHERE"
                               " f.kind <= 5 AND f.number IN (SELECT rowid FROM"
                               " facet_search WHERE facet_search MATCH ?))",
                         query->pattern.bytes != NULL ? query->pattern.bytes : "");
}

// narrow adds a filter's conditions on a report r.
static void narrow(struct store_query *query, const struct store_filter *filter)
{
    if (filter->release != NULL)
        store_query_add_text(query, " AND r.release = ?", filter->release);
    if (filter->environment != NULL)
        store_query_add_text(query, " AND r.environment = ?", filter->environment);
    if (filter->signal_name != NULL)
        store_query_add_text(query, " AND r.signal_name = ?", filter->signal_name);
    if (filter->signal != 0)
        store_query_add_number(query, " AND r.signal = ?", filter->signal);
    if (filter->since_ms != 0)
        store_query_add_number(query, " AND r.time >= ?", filter->since_ms);
    if (filter->until_ms != 0)
        store_query_add_number(query, " AND r.time < ?", filter->until_ms);
    for (size_t i = 0; i < filter->tag_count; i++) {
        store_query_add_text(query,
                             " AND EXISTS(SELECT 1 FROM tags t WHERE"
                             " t.report = r.number AND t.key = ?",
                             filter->tags[i].key);
        store_query_add_text(query, " AND t.value = ?)", filter->tags[i].value);
    }
    if (filter->query != NULL)
        add_contains(query,
                     "r.title || '\n' || r.summary || '\n' || r.executable || '\n' ||"
                     " r.release || '\n' || r.hostname",
                     filter->query);
}

static void add_group_id(struct store_query *query, const char *column, const char *id)
{
    store_query_add(query, " AND ");
    store_query_add(query, column);
    store_query_add_text(query,
                         " = (SELECT number FROM groups WHERE fingerprint ="
                         " coalesce((SELECT target FROM merged WHERE fingerprint = ?),"
                         " ?))",
                         id);
}

void store_query_narrow_reports(struct store_query *query,
                                const struct store_filter *filter)
{
    if (filter->group != NULL)
        add_group_id(query, "r.group_number", filter->group);
    if (filter->status != NULL)
        store_query_add_text(query, " AND g.status = ?", filter->status);
    if (filter->query != NULL && is_indexed(filter->query))
        add_search(query, "r.group_number", filter->query);
    narrow(query, filter);
}

// query_add_facet keeps the groups with a report that has this value; condition ends
// with it.
static void query_add_facet(struct store_query *query, const char *condition,
                            const char *value)
{
    store_query_add(query, " AND g.number IN (SELECT f.group_number FROM facets f"
                           " WHERE f.kind >= 5 AND ");
    store_query_add_text(query, condition, value);
    store_query_add(query, ")");
}

static void add_facets(struct store_query *query, const struct store_filter *filter)
{
    if (filter->release != NULL)
        query_add_facet(query, "f.kind = 5 AND f.value = ?", filter->release);
    if (filter->environment != NULL)
        query_add_facet(query, "f.kind = 6 AND f.value = ?", filter->environment);
    if (filter->signal != 0)
        store_query_add_number(query,
                               " AND g.number IN (SELECT f.group_number FROM facets f"
                               " WHERE f.kind >= 5 AND f.kind = 7 AND f.value ="
                               " CAST(? AS text))",
                               filter->signal);
    if (filter->signal_name != NULL)
        query_add_facet(query, "f.kind = 8 AND f.value = ?", filter->signal_name);
    for (size_t i = 0; i < filter->tag_count; i++) {
        store_query_add_text(query,
                             " AND g.number IN (SELECT f.group_number FROM facets f"
                             " WHERE f.kind >= 5 AND f.kind = 9 AND f.value ="
                             " CAST(? AS text) || '\n'",
                             filter->tags[i].key);
        store_query_add_text(query, " || CAST(? AS text))", filter->tags[i].value);
    }
}

// count_conditions counts a filter's conditions on a report.
static size_t count_conditions(const struct store_filter *filter)
{
    return (size_t)(filter->release != NULL) + (filter->environment != NULL) +
           (filter->signal_name != NULL) + (filter->signal != 0) +
           (filter->since_ms != 0) + (filter->until_ms != 0) + filter->tag_count +
           (filter->query != NULL);
}

void store_query_narrow_groups(struct store_query *query,
                               const struct store_filter *filter)
{
    if (filter->group != NULL)
        add_group_id(query, "g.number", filter->group);
    if (filter->status != NULL)
        store_query_add_text(query, " AND g.status = ?", filter->status);
    if (filter->since_ms != 0)
        store_query_add_number(query, " AND g.last_seen >= ?", filter->since_ms);
    if (filter->until_ms != 0)
        store_query_add_number(query, " AND g.first_seen < ?", filter->until_ms);
    add_facets(query, filter);
    if (filter->query != NULL && is_indexed(filter->query))
        add_search(query, "g.number", filter->query);
    else if (filter->query != NULL)
        add_contains(query, "g.title || '\n' || g.summary", filter->query);
    if (count_conditions(filter) < 2)
        return;
    store_query_add(query, " AND EXISTS(SELECT 1 FROM reports r WHERE"
                           " r.group_number = g.number");
    narrow(query, filter);
    store_query_add(query, ")");
}

enum ch_status store_query_add_cursor(struct store_query *query, const char *columns,
                                      const char *cursor)
{
    static const char digits[] = "0123456789";
    if (cursor == NULL)
        return CH_OK;
    size_t first = strspn(cursor, digits);
    size_t second = cursor[first] == '.' ? strspn(cursor + first + 1, digits) : 0;
    if (first == 0 || first > 18 || second == 0 || second > 18 ||
        cursor[first + 1 + second] != 0)
        return CH_ERR_MALFORMED;
    store_query_add(query, " AND (");
    store_query_add(query, columns);
    store_query_add_number(query, ") < (?", strtoll(cursor, NULL, 10));
    store_query_add_number(query, ", ?)", strtoll(cursor + first + 1, NULL, 10));
    return CH_OK;
}

enum ch_status store_query_run(const struct store_query *query, struct sql *sql,
                               sql_row_fn *visit, void *context)
{
    if (!text_ok(&query->sql) || !text_ok(&query->pattern))
        return CH_ERR_NO_MEMORY;
    return sql_query(sql, query->sql.bytes, query->values, query->count, visit,
                     context);
}
