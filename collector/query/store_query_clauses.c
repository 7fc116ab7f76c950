// SPDX-License-Identifier: Apache-2.0
//
// Which clauses of a statement a filter leaves out, and the values of the others.
#include <ctype.h>
#include <string.h>

#include "collector/database/timestamp.h"
#include "collector/entry/store_facet.h"
#include "collector/query/store_query.h"

enum {
    NEW_DAYS = 7,
    RANK_LAST = 3,
    INDEXED_CHARACTERS = 3, // the shortest string that the indexes of words can find
};

// carried is where reports carry the value of a key: kind is its facet; part: the
// value may be a part of what is carried; repeats: a report may carry several values.
static const struct {
    enum store_facet kind;
    bool part;
    bool repeats;
} carried[STORE_KEY_COUNT] = {
    [STORE_KEY_WORD] = { .part = true },
    [STORE_KEY_RELEASE] = { .kind = FACET_RELEASE },
    [STORE_KEY_ENVIRONMENT] = { .kind = FACET_ENVIRONMENT },
    [STORE_KEY_SIGNAL] = { .kind = FACET_SIGNAL },
    [STORE_KEY_SIGNAL_NAME] = { .kind = FACET_SIGNAL_NAME },
    [STORE_KEY_HOST] = { .kind = FACET_HOSTNAME },
    [STORE_KEY_PROGRAM] = { .kind = FACET_EXECUTABLE },
    [STORE_KEY_TAG] = { .kind = FACET_TAG },
    [STORE_KEY_KIND] = { .kind = FACET_KIND },
    [STORE_KEY_FRAME] = { .kind = FACET_FRAME, .part = true, .repeats = true },
    [STORE_KEY_FILE] = { .kind = FACET_FILE, .part = true, .repeats = true },
    [STORE_KEY_BUILD] = { .kind = FACET_BUILD, .part = true, .repeats = true },
    [STORE_KEY_MESSAGE] = { .kind = FACET_MESSAGE, .part = true, .repeats = true },
    [STORE_KEY_KERNEL] = { .kind = FACET_KERNEL },
    [STORE_KEY_PROCESSOR] = { .kind = FACET_PROCESSOR },
    [STORE_KEY_UPTIME] = { .kind = FACET_UPTIME },
    [STORE_KEY_THREAD] = { .kind = FACET_THREAD },
    [STORE_KEY_ADDRESS] = { .kind = FACET_ADDRESS },
    [STORE_KEY_REGISTER] = { .kind = FACET_REGISTER, .repeats = true },
    [STORE_KEY_ARGUMENT] = { .kind = FACET_ARGUMENT, .repeats = true },
    [STORE_KEY_DEPTH] = { .kind = FACET_DEPTH },
    [STORE_KEY_FREED_IN] = { .kind = FACET_FREED_IN, .repeats = true },
};

enum store_facet store_query_facet(enum store_key key)
{
    return carried[key].kind;
}

static bool is_ascii(const char *text)
{
    while ((unsigned char)*text - 1U < 0x7f)
        text++;
    return *text == 0;
}

// is_json_as_is returns true if JSON has the text as it is.
static bool is_json_as_is(const char *text)
{
    while (*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\')
        text++;
    return *text == 0;
}

static bool is_indexed(const char *searched, size_t length)
{
    size_t count = 0;
    for (const char *end = searched + length; searched < end; searched++)
        count += ((unsigned char)*searched & 0xc0) != 0x80; // bytes that begin one
    return count >= INDEXED_CHARACTERS;
}

enum store_key store_word_key(const char *word)
{
    return is_indexed(word, strlen(word)) ? STORE_KEY_WORD : STORE_KEY_SHORT_WORD;
}

bool store_query_has_trigram(enum sql_dialect dialect, const struct store_term *term)
{
    size_t letters = 0;
    if (dialect == SQL_SQLITE || !carried[term->key].part)
        return true;
    for (const char *c = term->value; *c != 0 && letters < INDEXED_CHARACTERS; c++)
        letters =
            isalnum((unsigned char)*c) || (unsigned char)*c >= 0x80 ? letters + 1 : 0;
    return letters == INDEXED_CHARACTERS;
}

const char *store_query_piece(const char *value, size_t *out_length)
{
    const char *piece = value;
    *out_length = 0;
    for (; *value != 0; value += *value == '*') {
        size_t length = strcspn(value, "*");
        if (length > *out_length) {
            piece = value;
            *out_length = length;
        }
        value += length;
    }
    return piece;
}

// has_piece returns true if an index finds the hosts with a piece of the value.
static bool has_piece(enum sql_dialect dialect, const struct store_term *term)
{
    size_t length;
    if (dialect != SQL_SQLITE || !term->wildcard || term->key != STORE_KEY_HOST)
        return false;
    const char *piece = store_query_piece(term->value, &length);
    return is_indexed(piece, length);
}

bool store_query_is_indexed(enum sql_dialect dialect, const struct store_term *term)
{
    return term->key < STORE_KEY_SINCE && (!term->wildcard || has_piece(dialect, term));
}

// has_probe returns true if an index narrows a list by the term, as no single
// alternative does.
static bool has_probe(const struct store_query *query, const struct store_term *term)
{
    return store_query_is_indexed(query->dialect, term) && !term->alternative;
}

bool store_query_finds_part(const struct store_term *term)
{
    return carried[term->key].part;
}

static bool is_of_reports(const struct store_term *term)
{
    return term->key < STORE_KEY_FIRST_RELEASE;
}

// is_required is true for a term that holds for every report that is found, and that an
// index can find.
static bool is_required(const struct store_query *query, const struct store_term *term)
{
    return !term->negated && !term->alternative &&
           (!term->wildcard || has_piece(query->dialect, term));
}

static bool is_since(const struct store_query *query, const struct store_term *term)
{
    return term->key == STORE_KEY_SINCE && is_required(query, term);
}

static bool is_searched(const struct store_query *query, const struct store_term *term)
{
    return is_of_reports(term) && is_required(query, term);
}

// is_in_index returns true if the index of a group's reports decides a term.
static bool is_in_index(const struct store_term *term)
{
    return term->key == STORE_KEY_RELEASE || term->key == STORE_KEY_ENVIRONMENT ||
           term->key == STORE_KEY_HOST || term->key == STORE_KEY_SIGNAL_NAME ||
           term->key == STORE_KEY_SINCE || term->key == STORE_KEY_UNTIL ||
           term->key == STORE_KEY_TIME;
}

static bool has_mark(const struct store_term *term)
{
    return term->key == STORE_KEY_WORD || carried[term->key].kind >= FACET_KIND;
}

static bool is_wide(const struct store_query *query, const struct store_term *term)
{
    return query->look != NULL && query->look->wide[term - query->filter->terms];
}

// is_found_by_group returns true if the reports of a term are found by the groups that
// have it: marks are not indexed by report, and columns are not where few have the
// value.
static bool is_found_by_group(const struct store_query *query,
                              const struct store_term *term, bool rare)
{
    return is_required(query, term) && has_probe(query, term) &&
           (rare || has_mark(term));
}

// rank_of is 0 for a term that the index of a group's reports decides, 1 for one of
// another column, 2 for one of words, tags or marks, and 3 for such a one that many
// have. Alternatives have one rank, so that they stay neighbours.
static int rank_of(const struct store_query *query, const struct store_term *term)
{
    if (term->alternative)
        return 2;
    bool column = term->key != STORE_KEY_TAG && !has_mark(term);
    return is_in_index(term) ? 0 : column ? 1 : 2 + is_wide(query, term);
}

// is_choice returns true if a term is one of alternatives that indexes find all of.
static bool is_choice(const struct store_query *query, const struct store_term *term)
{
    const struct store_filter *filter = query->filter;
    const struct store_term *end = filter->terms + filter->term_count;
    if (!term->alternative)
        return false;
    while (term->joined)
        term--;
    do {
        if (!store_query_is_indexed(query->dialect, term) || term->negated ||
            is_wide(query, term))
            return false;
        term++;
    } while (term < end && term->joined);
    return true;
}

static bool is_in_list(const struct store_query *query, enum query_list list,
                       const struct store_term *term)
{
    switch (list) {
    case LIST_TERM:
        return true;
    case LIST_CHOICE:
        return is_choice(query, term);
    case LIST_RANKED:
        return is_of_reports(term);
    default:
        return is_of_reports(term) &&
               !(query->holds[CLAUSE_COUNTED_BOUNDED] && is_since(query, term));
    }
}

size_t store_query_list(struct store_query *query, enum query_list list,
                        const struct store_term *out[STORE_TERMS])
{
    const struct store_filter *filter = query->filter;
    size_t count = 0;
    query->by_index = false;
    for (int rank = 0; rank <= (list == LIST_TERM ? 0 : RANK_LAST); rank++) {
        for (size_t i = 0; i < filter->term_count; i++) {
            const struct store_term *term = &filter->terms[i];
            if (!is_in_list(query, list, term) ||
                (list != LIST_TERM && rank_of(query, term) != rank))
                continue;
            out[count++] = term;
            query->by_index |= query->dialect == SQL_POSTGRES && is_in_index(term);
        }
    }
    return count;
}

// enter_value finds out what is to be known of the text of a term.
static void enter_value(struct store_query *query, const struct store_term *term)
{
    bool *holds = query->holds;
    bool part = carried[term->key].part;
    const char *value = term->value != NULL ? term->value : "";
    holds[CLAUSE_PART] = part;
    holds[CLAUSE_WHOLE] = !part && term->key != STORE_KEY_PROGRAM &&
                          term->key != STORE_KEY_TAG && term->key != STORE_KEY_SIGNAL;
    holds[CLAUSE_REPEATS] = carried[term->key].repeats;
    holds[CLAUSE_BY_WORD] = part && is_indexed(value, strlen(value));
    holds[CLAUSE_PIECE] = has_piece(query->dialect, term) && !is_wide(query, term);
    holds[CLAUSE_AS_IS] = is_json_as_is(value);
    holds[CLAUSE_ASCII] = is_ascii(value);
    query->named[VALUE_VALUE] = sql_text(term->value);
    query->named[VALUE_TAG] = sql_text(term->tag);
    query->named[VALUE_NUMBER] = sql_number(term->number);
    query->named[VALUE_HIGH] = sql_number(term->high != 0 ? term->high : INT64_MAX);
    query->named[VALUE_DAY] = sql_number(term->number / TIMESTAMP_DAY_MS);
    query->named[VALUE_NEXT_DAY] =
        sql_number((term->number / TIMESTAMP_DAY_MS + 1) * TIMESTAMP_DAY_MS);
    query->named[VALUE_KIND] = sql_number(carried[term->key].kind);
    query->named[VALUE_TERM] = sql_number(term - query->filter->terms);
}

void store_query_enter(struct store_query *query, const struct store_term *term)
{
    bool *holds = query->holds;
    const struct store_look *look = query->look;
    bool wide = is_wide(query, term);
    query->term = term;
    const struct store_filter *filter = query->filter;
    const struct store_term *end = filter->terms + filter->term_count;
    holds[CLAUSE_NEGATED] = term->negated;
    holds[CLAUSE_JOINED] = term->joined;
    holds[CLAUSE_OPENS] = term->alternative && !term->joined;
    holds[CLAUSE_CLOSES] = term->alternative && (term + 1 == end || !term[1].joined);
    holds[CLAUSE_WILDCARD] = term->wildcard;
    holds[CLAUSE_OF_GROUP] = !is_of_reports(term);
    holds[CLAUSE_OF_TIME] = !term->alternative && term->key >= STORE_KEY_SINCE &&
                            term->key <= STORE_KEY_TIME;
    holds[CLAUSE_SEARCHED] = is_searched(query, term);
    holds[CLAUSE_LISTED] = holds[CLAUSE_SEARCHED] && !(holds[CLAUSE_BOUNDED] && wide);
    holds[CLAUSE_FACET] =
        store_query_is_indexed(query->dialect, term) && term->key != STORE_KEY_WORD;
    holds[CLAUSE_WIDE] = wide && !term->alternative;
    holds[CLAUSE_FOUND_BY_GROUP] =
        is_found_by_group(query, term, look != NULL && !wide);
    holds[CLAUSE_BY_TIME] = query->dialect == SQL_SQLITE && look != NULL &&
                            look->many[term - query->filter->terms];
    holds[CLAUSE_BY_ROW] = query->by_index && !is_in_index(term);
    holds[CLAUSE_HAS_MARK] = has_mark(term);
    enter_value(query, term);
}

// is_lone returns true if one term on reports decides, as it is required.
static bool is_lone(const struct store_query *query)
{
    const struct store_filter *filter = query->filter;
    size_t count = 0;
    bool required = true;
    for (size_t i = 0; i < filter->term_count; i++) {
        count += is_of_reports(&filter->terms[i]);
        required &=
            !is_of_reports(&filter->terms[i]) || is_required(query, &filter->terms[i]);
    }
    return count == 1 && required;
}

// sorts_by_reports returns true if groups are ordered by the reports that are accepted.
static bool sorts_by_reports(const struct store_filter *filter)
{
    return filter->sort == STORE_SORT_COUNT || filter->sort == STORE_SORT_MACHINES;
}

// begin_counts finds out how reports are counted.
static void begin_counts(struct store_query *query)
{
    bool *holds = query->holds;
    bool large = query->look != NULL && query->look->large;
    int64_t since = INT64_MIN;
    for (size_t i = 0; i < query->filter->term_count; i++) {
        const struct store_term *term = &query->filter->terms[i];
        bool looked_at = large && term->key < STORE_KEY_SINCE;
        holds[CLAUSE_NARROWED] |= is_of_reports(term);
        holds[CLAUSE_LEFT] |= term->key == STORE_KEY_WORD;
        holds[CLAUSE_COUNTED_BOUNDED] |= looked_at;
        holds[CLAUSE_COMPARES_COLUMN] |=
            is_searched(query, term) && has_probe(query, term) && is_in_index(term);
        since = is_since(query, term) && term->number > since ? term->number : since;
    }
    holds[CLAUSE_SEVERAL] = holds[CLAUSE_NARROWED] && !is_lone(query);
    holds[CLAUSE_LEFT] |= holds[CLAUSE_SEVERAL];
    holds[CLAUSE_COUNTS_SORT] =
        sorts_by_reports(query->filter) && holds[CLAUSE_NARROWED];
    holds[CLAUSE_LARGE] = large;
    query->named[VALUE_SINCE] = sql_number(since);
}

void store_query_begin(struct store_query *query, enum sql_dialect dialect,
                       const struct store_filter *filter, const struct store_look *look)
{
    static const enum query_clause orders[] = {
        [STORE_SORT_LAST_SEEN] = CLAUSE_BY_LAST_SEEN,
        [STORE_SORT_FIRST_SEEN] = CLAUSE_BY_FIRST_SEEN,
        [STORE_SORT_COUNT] = CLAUSE_BY_COUNT,
        [STORE_SORT_MACHINES] = CLAUSE_BY_MACHINES,
        [STORE_SORT_RISING] = CLAUSE_BY_RISING,
    };
    *query = (struct store_query){ .dialect = dialect, .filter = filter, .look = look };
    query->holds[orders[filter->sort]] = true;
    query->holds[CLAUSE_IN_GROUP] = filter->group != NULL;
    query->holds[CLAUSE_IN_PROJECT] =
        filter->project != NULL && filter->project[0] != 0;
    query->named[VALUE_GROUP] = sql_text(filter->group);
    query->named[VALUE_PROJECT] = sql_text(filter->project);
    query->named[VALUE_LIMIT] = sql_number((int64_t)filter->limit + 1);
    query->named[VALUE_RISEN] = sql_text(look != NULL ? look->rising.bytes : NULL);
    query->named[VALUE_FRESH] = sql_text(look != NULL ? look->fresh.bytes : NULL);
    query->named[VALUE_EVER] = sql_number(INT64_MIN);
    query->named[VALUE_LAST_DAY] = sql_number(INT64_MAX / TIMESTAMP_DAY_MS);
    query->named[VALUE_COUNTED] = sql_number(STORE_COUNTED_MOST - 1);
    query->named[VALUE_WEEK_MS] = sql_number(
        (timestamp_now() / TIMESTAMP_DAY_MS - NEW_DAYS + 1) * TIMESTAMP_DAY_MS);
    begin_counts(query);
}

// has_index returns true if an index has the groups in their order.
static bool has_index(const struct store_query *query)
{
    bool listed = false;
    if (query->dialect == SQL_POSTGRES)
        return query->filter->sort != STORE_SORT_FIRST_SEEN &&
               query->filter->sort != STORE_SORT_RISING;
    for (size_t i = 0; i < query->filter->term_count; i++) {
        const struct store_term *term = &query->filter->terms[i];
        listed |=
            is_searched(query, term) && has_probe(query, term) && !is_wide(query, term);
    }
    return query->filter->sort == STORE_SORT_LAST_SEEN && !listed;
}

void store_query_find_most(struct store_query *query, size_t most)
{
    bool *holds = query->holds;
    bool indexed = has_index(query);
    holds[CLAUSE_LIMITED] = most != 0;
    holds[CLAUSE_BOUNDED] = most != 0 && holds[CLAUSE_NARROWED];
    holds[CLAUSE_SORTS] = holds[CLAUSE_BOUNDED] && !indexed;
    holds[CLAUSE_ORDERED] = most != 0 && (!holds[CLAUSE_BOUNDED] || indexed ||
                                          query->dialect == SQL_POSTGRES);
    query->named[VALUE_MOST] = sql_number((int64_t)most);
}

// asks_for_values returns true if all values of a group are asked for a word.
static bool asks_for_values(const struct store_query *query)
{
    for (size_t i = 0; i < query->filter->term_count; i++) {
        const struct store_term *term = &query->filter->terms[i];
        if (term->key == STORE_KEY_WORD && is_required(query, term) &&
            is_wide(query, term))
            return true;
    }
    return false;
}

size_t store_query_bound(const struct store_query *query)
{
    const struct store_filter *filter = query->filter;
    const bool *holds = query->holds;
    bool by_count = sorts_by_reports(filter);
    size_t most = filter->found_most != 0 ? filter->found_most : STORE_FOUND_MOST;
    if (!holds[CLAUSE_NARROWED])
        return 0;
    if (asks_for_values(query) && (!holds[CLAUSE_SEVERAL] || !by_count))
        return most < STORE_FOUND_WORD ? most : STORE_FOUND_WORD;
    if (holds[CLAUSE_SEVERAL] || filter->sort == STORE_SORT_MACHINES)
        return most < STORE_FOUND_EXAMINED ? most : STORE_FOUND_EXAMINED;
    bool part = false;
    for (size_t i = 0; i < filter->term_count; i++)
        part |= carried[filter->terms[i].key].part || filter->terms[i].wildcard;
    return part || by_count || filter->found_most != 0 ? most : 0;
}

bool store_query_finds_by_group(const struct store_query *query)
{
    for (size_t i = 0; i < query->filter->term_count; i++) {
        const struct store_term *term = &query->filter->terms[i];
        bool of_group = !is_of_reports(term) && term->key != STORE_KEY_ANY;
        bool shown = term->key == STORE_KEY_SHORT_WORD && is_required(query, term);
        if (shown || (of_group && query->dialect == SQL_SQLITE) ||
            is_choice(query, term) ||
            (!is_wide(query, term) && is_found_by_group(query, term, true)))
            return true;
    }
    return false;
}
