// SPDX-License-Identifier: Apache-2.0
//
// Searches for parts of what reports carry, with the indexes of words.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "collector/store/store_facet.h"
#include "collector/store/store_query.h"

enum {
    INDEXED_CHARACTERS = 3, // the shortest string that the indexes of words can find
};

void store_query_add_contains(struct store_query *query, const char *text,
                              const char *searched)
{
    bool postgres = query->dialect == SQL_POSTGRES;
    store_query_add(query, postgres ? "strpos(lower(" : "instr(lower(");
    store_query_add(query, text);
    store_query_add_text(query, "), lower(CAST(? AS text))) > 0", searched);
}

bool store_query_is_indexed(const char *searched)
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

void store_query_add_words(struct store_query *query, const char *kinds,
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

void store_query_add_groups_of_words(struct store_query *query, bool columns,
                                     const char *searched)
{
    char marks[48];
    (void)snprintf(marks, sizeof(marks), "BETWEEN %d AND %d", FACET_FRAME,
                   FACET_MESSAGE);
    if (query->dialect == SQL_POSTGRES) {
        store_query_add(query, "SELECT f.group_number FROM facets f WHERE ");
        store_query_add_words(query, marks, searched);
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

void store_query_add_texts(struct store_query *query, const char *searched)
{
    if (query->dialect == SQL_SQLITE)
        store_query_add_text(query,
                             " UNION ALL SELECT rowid FROM facet_search"
                             " WHERE facet_search MATCH ?",
                             query_pattern(query, searched));
}

void store_query_add_word_search(struct store_query *query, const char *column,
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
    store_query_add_groups_of_words(query, true, searched);
    store_query_add(query, "))");
}
