// SPDX-License-Identifier: Apache-2.0
//
// How many reports of a group a filter accepts, and whether any: by what the facets of
// the group count where that decides it, else by a look at its reports.
#include "collector/database/moment.h"
#include "collector/store/store_facet.h"
#include "collector/store/store_query.h"

enum { COVERED_LEAST = 100 }; // reports of a group; fewer are looked at

// query_part is what is asked of the reports of the group g that a filter accepts.
enum query_part {
    PART_ANY,   // whether there is one
    PART_COUNT, // how many there are
    PART_CUT,   // whether the count leaves reports out that were not looked at: 0 or 1
};

// count_conditions counts the terms on reports, and says whether one is negated.
static size_t count_conditions(const struct store_filter *filter, bool *out_negated)
{
    size_t count = 0;
    *out_negated = false;
    for (size_t i = 0; i < filter->term_count; i++) {
        if (!store_query_is_of_reports(&filter->terms[i]))
            continue;
        count++;
        *out_negated |= filter->terms[i].negated;
    }
    return count;
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
    while (!store_query_is_of_reports(&filter->terms[i]))
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

// whole_term is that of one facet, or NULL.
static const struct store_term *whole_term(const struct store_filter *filter)
{
    const struct store_term *term = counted_term(filter);
    return term != NULL && !store_query_finds_part(term) ? term : NULL;
}

// lone_since is the lone term if that is a time since which; or NULL.
static const struct store_term *lone_since(const struct store_filter *filter)
{
    const struct store_term *term = lone_term(filter);
    return term != NULL && term->key == STORE_KEY_SINCE ? term : NULL;
}

// add_facet_value selects from the few values of one kind that the group g has.
static void add_facet_value(struct store_query *query, const char *what,
                            const struct store_term *term)
{
    store_query_add(query, "(SELECT ");
    store_query_add(query, what);
    store_query_add(query, " FROM facets f WHERE f.group_number = g.number AND ");
    store_query_add_facet_of_kind(query, term);
    store_query_add(query, ")");
}

static void add_facet_sum(struct store_query *query, const struct store_term *term)
{
    add_facet_value(query, "CAST(coalesce(sum(f.count), 0) AS bigint)", term);
}

// take_since takes the times since which out of a filter, and gives the last of them.
static int64_t take_since(struct store_filter *filter)
{
    int64_t since = INT64_MIN;
    for (size_t i = 0; i < filter->term_count; i++) {
        struct store_term *term = &filter->terms[i];
        if (term->key != STORE_KEY_SINCE || term->negated)
            continue;
        since = term->number > since ? term->number : since;
        term->key = STORE_KEY_ANY;
    }
    return since;
}

// add_bound adds the time of the last report of the group g that its count looks at:
// the oldest of the newest ones at the times of the filter, or since, if they are few.
static void add_bound(struct store_query *query, const struct store_filter *filter,
                      int64_t since)
{
    store_query_add(query, "coalesce((SELECT r.time FROM reports r"
                           " WHERE r.group_number = g.number");
    store_query_narrow_to_terms(query, filter, TERMS_OF_TIME);
    store_query_add_number(query,
                           " ORDER BY r.time DESC, r.number DESC LIMIT 1 OFFSET ?",
                           STORE_COUNTED_MOST - 1);
    store_query_add_number(query, "), ?)", since);
}

// looks_at_reports says whether more than the times of reports is asked for, which the
// index of a group's reports has.
static bool looks_at_reports(const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        if (filter->terms[i].key < STORE_KEY_SINCE)
            return true;
    }
    return false;
}

// add_look looks at the reports of the group g.
static void add_look(struct store_query *query, const struct store_filter *filter,
                     enum query_part part)
{
    bool bounded = part != PART_ANY && query->look != NULL && query->look->large &&
                   looks_at_reports(filter);
    if (part == PART_CUT && !bounded) {
        store_query_add(query, "0");
        return;
    }
    if (part == PART_ANY)
        store_query_begin_exists(query);
    else
        store_query_add(query, "(SELECT count(*) FROM (");
    store_query_add(query, "SELECT 1 FROM reports r WHERE r.group_number = g.number");
    struct store_filter looked = *filter;
    // Beside another time SQLite would find the bound again for each report.
    int64_t since = bounded && part == PART_COUNT ? take_since(&looked) : INT64_MIN;
    store_query_narrow_to_terms(query, &looked,
                                part == PART_CUT ? TERMS_OF_TIME : TERMS_IN_GROUP);
    if (bounded) {
        store_query_add(query, part == PART_CUT ? " AND r.time < " : " AND r.time >= ");
        add_bound(query, filter, since);
    }
    if (part == PART_ANY)
        store_query_end_exists(query);
    else
        store_query_add(query, part == PART_CUT ? " LIMIT 1) c)" : ") c)");
}

// is_covered says whether all reports of a group may be known to have a term.
static bool is_covered(const struct store_term *term)
{
    return term->key == STORE_KEY_WORD && !term->negated;
}

// add_all_have requires that a value that all reports of the group g have, as it is
// counted as often as the group, is one of a term. Texts of reports and marks are not
// read then.
static void add_all_have(struct store_query *query, const struct store_term *term)
{
    store_query_begin_exists(query);
    store_query_add(query,
                    "SELECT 1 FROM facets f WHERE f.group_number = g.number AND ");
    if (term->key != STORE_KEY_WORD) {
        store_query_add_facet_of_kind(query, term);
    } else {
        text_appendf(
            &query->sql, "(f.kind IN (%d, %d, %d) OR f.kind BETWEEN %d AND %d) AND ",
            FACET_TITLE, FACET_EXECUTABLE, FACET_RELEASE, FACET_FRAME, FACET_MESSAGE);
        store_query_add_contains(query, "f.value", term->value);
    }
    store_query_add(query, " AND f.count >= (SELECT o.count FROM groups o WHERE"
                           " o.number = g.number)");
    store_query_end_exists(query);
}

// add_cover requires that all reports of the group g have all words. Few reports are
// looked at sooner.
static void add_cover(struct store_query *query, const struct store_filter *filter)
{
    store_query_add_number(
        query, "(SELECT o.kept FROM groups o WHERE o.number = g.number) >= ?",
        COVERED_LEAST);
    for (size_t i = 0; i < filter->term_count; i++) {
        if (!is_covered(&filter->terms[i]))
            continue;
        store_query_add(query, " AND ");
        add_all_have(query, &filter->terms[i]);
    }
}

// add_lack requires that not all reports of the group g have a negated term, where that
// is one of many groups.
static void add_lack(struct store_query *query, const struct store_filter *filter)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (!term->negated || query->look == NULL || !query->look->wide[i])
            continue;
        store_query_add(query, " AND NOT (");
        add_all_have(query, term);
        store_query_add(query, ")");
    }
}

// add_rest asks for what is left of a filter in a group of which all reports have its
// words. Facets count reports that are gone too: they decide where none is.
static void add_rest(struct store_query *query, const struct store_filter *filter,
                     enum query_part part)
{
    const struct store_term *term = whole_term(filter);
    if (term != NULL) {
        store_query_add(query, "CASE WHEN (SELECT o.kept = o.count FROM groups o WHERE"
                               " o.number = g.number) THEN ");
        if (part == PART_CUT)
            store_query_add(query, "0");
        else
            add_facet_sum(query, term);
        store_query_add(query, part == PART_ANY ? " > 0 ELSE " : " ELSE ");
    }
    add_look(query, filter, part);
    if (term != NULL)
        store_query_add(query, " END");
}

// add_part asks for a part of the reports that the filter accepts. Of words that all
// reports of a group have nothing is left to be asked.
static void add_part(struct store_query *query, const struct store_filter *filter,
                     enum query_part part)
{
    struct store_filter rest = *filter;
    bool words = false;
    for (size_t i = 0; i < rest.term_count; i++) {
        if (!is_covered(&rest.terms[i]))
            continue;
        rest.terms[i].key = STORE_KEY_ANY;
        words = true;
    }
    if (words) {
        store_query_add(query, "CASE WHEN ");
        add_cover(query, filter);
        store_query_add(query, " THEN ");
        add_rest(query, &rest, part);
        store_query_add(query, " ELSE ");
    }
    add_look(query, filter, part);
    if (words)
        store_query_add(query, " END");
}

void store_query_narrow_by_reports(struct store_query *query,
                                   const struct store_filter *filter)
{
    // One condition is decided by the facets, several have to hold for one report.
    if (!store_query_counts(filter) || lone_term(filter) != NULL)
        return;
    add_lack(query, filter);
    store_query_add(query, " AND ");
    add_part(query, filter, PART_ANY);
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

// add_count_of_part counts the reports with a part of a value: one may have several
// values that contain it.
static void add_count_of_part(struct store_query *query,
                              const struct store_filter *filter, enum query_part part)
{
    const struct store_term *term = counted_term(filter);
    store_query_add(query, "CASE WHEN ");
    add_facet_value(query, "count(*)", term);
    store_query_add(query, " = 1 THEN ");
    if (part == PART_CUT)
        store_query_add(query, "0");
    else
        add_facet_value(query, "max(f.count)", term);
    store_query_add(query, " ELSE ");
    add_look(query, filter, part);
    store_query_add(query, " END");
}

void store_query_add_count(struct store_query *query, const struct store_filter *filter)
{
    const struct store_term *since = lone_since(filter);
    if (!store_query_counts(filter))
        store_query_add(query, "g.count");
    else if (since != NULL)
        add_count_since(query, since->number);
    else if (whole_term(filter) != NULL)
        add_facet_sum(query, whole_term(filter));
    else if (counted_term(filter) != NULL)
        add_count_of_part(query, filter, PART_COUNT);
    else
        add_part(query, filter, PART_COUNT);
}

void store_query_add_cut(struct store_query *query, const struct store_filter *filter)
{
    if (!store_query_counts(filter) || whole_term(filter) != NULL)
        store_query_add(query, "0");
    else if (counted_term(filter) != NULL)
        add_count_of_part(query, filter, PART_CUT);
    else
        add_part(query, filter, PART_CUT);
}

bool store_query_sorts_counts(const struct store_filter *filter)
{
    return filter->sort == STORE_SORT_COUNT && store_query_counts(filter);
}

// asks_for_values says whether all values of a group are asked for a word.
static bool asks_for_values(const struct store_filter *filter,
                            const struct store_look *look)
{
    for (size_t i = 0; i < filter->term_count; i++) {
        const struct store_term *term = &filter->terms[i];
        if (term->key == STORE_KEY_WORD && !term->negated && look->wide[i])
            return true;
    }
    return false;
}

size_t store_query_bound(const struct store_filter *filter,
                         const struct store_look *look)
{
    const struct store_term *term = lone_term(filter);
    size_t most = filter->found_most != 0 ? filter->found_most : STORE_FOUND_MOST;
    if (!store_query_counts(filter))
        return 0;
    if (asks_for_values(filter, look) &&
        (term != NULL || filter->sort != STORE_SORT_COUNT))
        return most < STORE_FOUND_WORD ? most : STORE_FOUND_WORD;
    if (term == NULL)
        return most < STORE_FOUND_EXAMINED ? most : STORE_FOUND_EXAMINED;
    bool whole = term->key >= STORE_KEY_SINCE || !store_query_finds_part(term);
    bool all = whole && filter->sort != STORE_SORT_COUNT && filter->found_most == 0;
    return all ? 0 : most;
}
