// SPDX-License-Identifier: Apache-2.0
//
// Writing a statement for a filter. The text has clauses, which nest, and lists of
// terms, which do not: one counter and one list are the whole state.
#include "collector/query/store_query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// writing is where the text of a statement is.
struct writing {
    int depth;        // of clauses and lists
    int dropped;      // the depth of the clause that is left out, or 0
    int list;         // the depth of the list, or 0
    const char *body; // of the list
    const struct store_term *terms[STORE_TERMS];
    size_t count;
    size_t next;
};

void store_query_deinit(struct store_query *query)
{
    text_deinit(&query->sql);
    for (size_t i = 0; i < STORE_TERMS; i++) {
        text_deinit(&query->patterns[i]);
        text_deinit(&query->pieces[i]);
    }
}

static unsigned take_digits(const char **text)
{
    unsigned number = (unsigned)((*text)[0] - '0') * 10 + (unsigned)((*text)[1] - '0');
    *text += 2;
    return number;
}

static bool clause_holds(const struct store_query *query, unsigned clause)
{
    return clause < STORE_KEY_COUNT
               ? query->term != NULL && query->term->key == (enum store_key)clause
               : query->holds[clause];
}

// begin_clause takes the conditions of a clause.
static const char *begin_clause(struct store_query *query, struct writing *writing,
                                const char *text)
{
    bool holds = true;
    if (writing->dropped != 0) // by a clause around it
        text = strchr(text, QUERY_THEN);
    while (*text != QUERY_THEN) {
        bool negated = *text == '!';
        text += negated;
        holds &= clause_holds(query, take_digits(&text)) != negated;
    }
    writing->depth++;
    if (writing->dropped == 0 && !holds)
        writing->dropped = writing->depth;
    return text + 1;
}

static const char *begin_list(struct store_query *query, struct writing *writing,
                              const char *text)
{
    unsigned list = take_digits(&text);
    writing->depth++;
    if (writing->dropped != 0)
        return text;
    assert(writing->list == 0);
    writing->list = writing->depth;
    writing->body = text;
    writing->next = 0;
    writing->count = store_query_list(query, (enum query_list)list, writing->terms);
    if (writing->count == 0)
        writing->dropped = writing->depth;
    else
        store_query_enter(query, writing->terms[writing->next++]);
    return text;
}

// end_one ends a clause or a list, or goes on with the next term of that.
static const char *end_one(struct store_query *query, struct writing *writing,
                           const char *text)
{
    if (writing->depth == writing->list) {
        if (writing->next < writing->count) {
            store_query_enter(query, writing->terms[writing->next++]);
            return writing->body;
        }
        writing->list = 0;
        query->term = NULL;
    }
    if (writing->depth == writing->dropped)
        writing->dropped = 0;
    writing->depth--;
    return text;
}

// write_like writes the pattern of LIKE, with `!` as its escape, for a value with
// wildcards. A value that may be a part of what reports carry may begin anywhere in it.
// Asterisks alone stand for one character or more: facets count no empty values.
static void write_like(const struct store_term *term, struct text *out)
{
    bool part = store_query_finds_part(term);
    bool any = term->value[strspn(term->value, "*")] == 0;
    text_append_string(out, any ? "_" : "");
    text_append_string(out, part ? "%" : "");
    for (const char *value = term->value; *value != 0; value++) {
        if (strchr("!%_", *value) != NULL)
            text_append_string(out, "!");
        text_append(out, *value == '*' ? "%" : value, 1);
    }
    text_append_string(out, part && !term->at_end ? "%" : "");
}

// write_part writes a text in the form in which the index finds what it is a part of: a
// quoted string of FTS5, or a pattern of LIKE.
static void write_part(enum sql_dialect dialect, const char *value, size_t length,
                       struct text *out)
{
    bool postgres = dialect == SQL_POSTGRES;
    text_append_string(out, postgres ? "%" : "\"");
    for (const char *end = value + length; value < end; value++) {
        if (postgres && strchr("\\%_", *value) != NULL)
            text_append_string(out, "\\");
        else if (!postgres && *value == '"')
            text_append_string(out, "\"");
        text_append(out, value, 1);
    }
    text_append_string(out, postgres ? "%" : "\"");
}

static const char *pattern_of(struct store_query *query)
{
    const struct store_term *term = query->term;
    struct text *out = &query->patterns[term - query->filter->terms];
    if (out->size == 0 && term->wildcard)
        write_like(term, out);
    else if (out->size == 0)
        write_part(query->dialect, term->value, strlen(term->value), out);
    return text_ok(out) ? out->bytes : "";
}

static const char *piece_of(struct store_query *query)
{
    size_t length;
    const char *piece = store_query_piece(query->term->value, &length);
    struct text *out = &query->pieces[query->term - query->filter->terms];
    if (out->size == 0)
        write_part(query->dialect, piece, length, out);
    return text_ok(out) ? out->bytes : "";
}

// is_bound_as returns true if the value of that name is bound already: a term stands in
// many places of a statement. The number of a signal is used as two types.
static bool is_bound_as(const struct store_query *query, size_t i, unsigned which,
                        const struct sql_value *value)
{
    if (value->text != NULL)
        return query->values[i].text == value->text;
    bool one_type = which != VALUE_NUMBER || query->term->key != STORE_KEY_SIGNAL;
    return one_type && query->bound_as[i] == which &&
           query->values[i].number == value->number;
}

static size_t bind_value(struct store_query *query, unsigned which,
                         struct sql_value value)
{
    for (size_t i = 0; i < query->count; i++) {
        if (is_bound_as(query, i, which, &value))
            return i + 1;
    }
    assert(query->count < SQL_VALUES);
    query->bound_as[query->count] = (unsigned char)which;
    query->values[query->count++] = value;
    return query->count;
}

static void add_value(struct store_query *query, unsigned which)
{
    struct sql_value value = query->named[which];
    if (which == VALUE_KIND || which == VALUE_TERM) {
        text_appendf(&query->sql, "%d", (int)value.number);
        return;
    }
    if (which == VALUE_PATTERN)
        value = sql_text(pattern_of(query));
    else if (which == VALUE_PIECE)
        value = sql_text(piece_of(query));
    text_appendf(&query->sql, "?%zu", bind_value(query, which, value));
}

// add_sql appends SQL, with one blank where clauses were left out.
static void add_sql(struct store_query *query, const char *sql, size_t length)
{
    const struct text *out = &query->sql;
    bool blank = out->size == 0 || out->bytes[out->size - 1] == ' ';
    size_t skipped = blank && length != 0 && *sql == ' ';
    text_append(&query->sql, sql + skipped, length - skipped);
}

static void write_query(struct store_query *query, enum store_statement statement)
{
    static const char special[] = { QUERY_IF, QUERY_END, QUERY_EACH, QUERY_VALUE, 0 };
    const struct sql_statement *texts = &store_statements[statement];
    bool postgres = query->dialect == SQL_POSTGRES && texts->postgres != NULL;
    const char *text = postgres ? texts->postgres : texts->sqlite;
    struct writing writing = { 0 };
    text_clear(&query->sql);
    query->count = 0;
    while (*text != 0) {
        size_t length = strcspn(text, special);
        if (writing.dropped == 0)
            add_sql(query, text, length);
        text += length;
        if (*text == QUERY_IF) {
            text = begin_clause(query, &writing, text + 1);
        } else if (*text == QUERY_EACH) {
            text = begin_list(query, &writing, text + 1);
        } else if (*text == QUERY_END) {
            text = end_one(query, &writing, text + 1);
        } else if (*text == QUERY_VALUE) {
            text++;
            unsigned which = take_digits(&text);
            if (writing.dropped == 0)
                add_value(query, which);
        }
    }
}

enum ch_status store_query_run(struct store_query *query, struct sql *sql,
                               enum store_statement statement, sql_row_fn *visit,
                               void *context)
{
    write_query(query, statement);
    bool ok = text_ok(&query->sql);
    for (size_t i = 0; i < STORE_TERMS; i++)
        ok &= text_ok(&query->patterns[i]) && text_ok(&query->pieces[i]);
    if (!ok)
        return CH_ERR_NO_MEMORY;
    return sql_query(sql, query->sql.bytes, query->values, query->count, visit,
                     context);
}

enum ch_status store_query_go_on(struct store_query *query)
{
    static const char digits[] = "0123456789";
    const char *text = query->filter->cursor;
    if (text == NULL)
        return CH_OK;
    size_t first = strspn(text, digits);
    size_t second = text[first] == '.' ? strspn(text + first + 1, digits) : 0;
    if (first == 0 || first > 18 || second == 0 || second > 18 ||
        text[first + 1 + second] != 0)
        return CH_ERR_MALFORMED;
    query->holds[CLAUSE_AFTER] = true;
    query->named[VALUE_PLACE] = sql_number(strtoll(text, NULL, 10));
    query->named[VALUE_NUMBER_AFTER] = sql_number(strtoll(text + first + 1, NULL, 10));
    return CH_OK;
}
