// SPDX-License-Identifier: Apache-2.0
//
// Searches for parts of what reports carry, with the indexes of words.
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "collector/store/store_facet.h"
#include "collector/store/store_query.h"

enum {
    INDEXED_CHARACTERS = 3, // the shortest string that the indexes of words can find
    PAGES_LOOKED_AT = 64,   // of facets, to estimate how many have a word
};

static bool is_ascii(const char *text)
{
    while ((unsigned char)*text - 1U < 0x7f)
        text++;
    return *text == 0;
}

// add_postgres_contains asks for a part of a text in the lower case of a collation.
static void add_postgres_contains(struct store_query *query, const char *text,
                                  const char *collation, const char *searched)
{
    text_appendf(&query->sql, "strpos(lower((%s)%s), ", text, collation);
    store_query_add_text(query, "lower(CAST(? AS text)", searched);
    text_appendf(&query->sql, "%s)) > 0", collation);
}

void store_query_add_contains(struct store_query *query, const char *text,
                              const char *searched)
{
    if (query->dialect == SQL_SQLITE) {
        store_query_add_text(query, "contains(?, ", searched);
        text_appendf(&query->sql, "%s)", text);
    } else if (!is_ascii(searched)) {
        add_postgres_contains(query, text, "", searched);
    } else {
        // PostgreSQL takes four times as long for the lower case of all languages,
        // which only a text that is not ASCII needs.
        store_query_add(query, "(");
        add_postgres_contains(query, text, " COLLATE \"C\"", searched);
        text_appendf(&query->sql, " OR (octet_length(%s) <> length(%s) AND ", text,
                     text);
        add_postgres_contains(query, text, "", searched);
        store_query_add(query, "))");
    }
}

bool store_query_is_indexed(const char *searched)
{
    size_t count = 0;
    for (; *searched != 0; searched++)
        count += ((unsigned char)*searched & 0xc0) != 0x80; // bytes that begin one
    return count >= INDEXED_CHARACTERS;
}

enum store_key store_word_key(const char *word)
{
    return store_query_is_indexed(word) ? STORE_KEY_WORD : STORE_KEY_SHORT_WORD;
}

bool store_query_has_trigram(enum sql_dialect dialect, const char *searched)
{
    size_t letters = 0;
    for (; *searched != 0 && letters < INDEXED_CHARACTERS; searched++)
        letters = isalnum((unsigned char)*searched) || (unsigned char)*searched >= 0x80
                      ? letters + 1
                      : 0;
    return dialect == SQL_SQLITE || letters == INDEXED_CHARACTERS;
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

void store_query_add_groups_of_words(struct store_query *query, const char *searched)
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
                 " AND (w.kind %s OR w.kind BETWEEN %d AND %d)",
                 FACET_EXECUTABLE, marks, FACET_EXECUTABLE, FACET_RELEASE);
}

void store_query_add_texts(struct store_query *query, const char *searched)
{
    store_query_add_text(query,
                         " UNION ALL SELECT rowid FROM facet_search"
                         " WHERE facet_search MATCH ?",
                         query_pattern(query, searched));
}

void store_query_estimate_texts(struct store_query *query, const char *searched)
{
    char pages[64];
    (void)snprintf(pages, sizeof(pages), "(pg_relation_size('facets') / 8192 / %d + 1)",
                   PAGES_LOOKED_AT);
    store_query_add(query, "SELECT count(*) * ");
    store_query_add(query, pages);
    store_query_add(query, " FROM facets f TABLESAMPLE SYSTEM (100.0 / ");
    store_query_add(query, pages);
    text_appendf(&query->sql, ") REPEATABLE (1) WHERE f.kind <= %d AND ",
                 FACET_RELEASE);
    store_query_add_contains(query, "f.value", searched);
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
    store_query_add_groups_of_words(query, searched);
    store_query_add(query, "))");
}
