// SPDX-License-Identifier: Apache-2.0
#include "collector/store/store_query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void store_query_deinit(struct store_query *query)
{
    text_deinit(&query->sql);
    for (size_t i = 0; i < query->pattern_count; i++)
        text_deinit(&query->patterns[i]);
}

void store_query_add(struct store_query *query, const char *sql)
{
    text_append_string(&query->sql, sql);
}

// query_bind binds a value, or finds a text that is bound already: a term stands in
// many places of a query.
static size_t query_bind(struct store_query *query, struct sql_value value)
{
    for (size_t i = 0; i < query->count && value.text != NULL; i++) {
        if (query->values[i].text == value.text)
            return i + 1;
    }
    assert(query->count < SQL_VALUES);
    query->values[query->count++] = value;
    return query->count;
}

static void query_add_value(struct store_query *query, const char *sql,
                            struct sql_value value)
{
    size_t number = query_bind(query, value);
    for (; *sql != 0; sql++) {
        text_append(&query->sql, sql, 1);
        if (*sql == '?')
            text_appendf(&query->sql, "%zu", number);
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

void store_query_add_equal(struct store_query *query, const char *column,
                           const char *value)
{
    store_query_add(query, column);
    store_query_add_text(query, " = ?", value);
}

enum ch_status store_cursor_read(const char *text, struct store_cursor *out)
{
    static const char digits[] = "0123456789";
    size_t first = strspn(text, digits);
    size_t second = text[first] == '.' ? strspn(text + first + 1, digits) : 0;
    if (first == 0 || first > 18 || second == 0 || second > 18 ||
        text[first + 1 + second] != 0)
        return CH_ERR_MALFORMED;
    *out = (struct store_cursor){ .place = strtoll(text, NULL, 10),
                                  .number = strtoll(text + first + 1, NULL, 10) };
    return CH_OK;
}

enum ch_status store_query_run(const struct store_query *query, struct sql *sql,
                               sql_row_fn *visit, void *context)
{
    bool ok = text_ok(&query->sql);
    for (size_t i = 0; i < query->pattern_count; i++)
        ok &= text_ok(&query->patterns[i]);
    if (!ok)
        return CH_ERR_NO_MEMORY;
    return sql_query(sql, query->sql.bytes, query->values, query->count, visit,
                     context);
}
