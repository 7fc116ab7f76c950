// SPDX-License-Identifier: Apache-2.0
//
// What a search finds: parts of words in any case, conditions on one report, counts.
#include "collector/query/store_values.h"
#include "collector/store_fixture.h"

static void searches_find_parts_of_any_length_in_any_case(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 5);
    (void)snprintf(entry.title, sizeof(entry.title),
                   "SIGSEGV in Ledger::\"post\" 50%%");
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "AMS-worker_07");
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "bbbbbbbb", 0), STORE_ADDED);
    static const char *const found[] = { "ledger::", "r::\"po", "0%", "worker_07",
                                         "L",        "ams-w",   "\"" };
    for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
        struct store_filter filter = where(store_word_key(found[i]), found[i]);
        assert_string_equal(list_groups(fixture, filter).ids, "a");
        assert_string_equal(list(fixture, filter).ids, "1");
    }
    struct store_filter filter = where(STORE_KEY_WORD, "workerx07");
    assert_string_equal(list_groups(fixture, filter).ids, "");
    filter = where(STORE_KEY_WORD, "worker%07");
    assert_string_equal(list_groups(fixture, filter).ids, "");
}

static void a_word_of_two_letters_is_one_of_what_a_group_shows(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 5);
    (void)snprintf(entry.title, sizeof(entry.title), "SIGSEGV in Go");
    (void)snprintf(entry.summary, sizeof(entry.summary), "Read address q7");
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "qx");
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "bbbbbbbb", 0), STORE_ADDED);
    assert_int_equal(store_word_key("go"), STORE_KEY_SHORT_WORD);
    assert_int_equal(store_word_key("\xc3\xa4\xc3\xb6"), STORE_KEY_SHORT_WORD);
    assert_int_equal(store_word_key("\xc3\xa4\xc3\xb6\xc3\xbc"), STORE_KEY_WORD);
    struct store_filter filter = where(STORE_KEY_SHORT_WORD, "go");
    assert_string_equal(list_groups(fixture, filter).ids, "a");
    assert_string_equal(list(fixture, filter).ids, "1");
    filter = and_where(filter, STORE_KEY_RELEASE, entry.release);
    assert_string_equal(list_groups(fixture, filter).ids, "a");
    assert_string_equal(list(fixture, filter).ids, "1");
    filter.terms[0].negated = true;
    assert_string_equal(list_groups(fixture, filter).ids, "b");
    assert_string_equal(list(fixture, filter).ids, "2");
    assert_string_equal(list_groups(fixture, where(STORE_KEY_SHORT_WORD, "q7")).ids,
                        "a");
    filter = where(STORE_KEY_SHORT_WORD, "qx");
    assert_string_equal(list_groups(fixture, filter).ids, "");
    assert_string_equal(list(fixture, filter).ids, "");
}

// A Kelvin sign is a k in lower case, and an I with a dot is an i: in PostgreSQL texts
// that are not ASCII are compared in another way.
static void letters_whose_lower_case_is_of_another_alphabet_are_found(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 5);
    (void)snprintf(entry.title, sizeof(entry.title),
                   "in \xe2\x84\xa1\xe2\x84\xaa"
                   "elvin");
    static const char marks[] = "11\nf\xe2\x84\xaa"
                                "ind";
    memcpy(entry.marks, marks, sizeof(marks));
    entry.marks_size = sizeof(marks);
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "bbbbbbbb", 0), STORE_ADDED);
    static const char *const words[] = { "elvin", "kelvin", "KELVIN", "fkind", "kin" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        struct store_filter filter =
            and_where(where(STORE_KEY_RELEASE, "1.0"), STORE_KEY_WORD, words[i]);
        filter.terms[1].negated = true;
        assert_string_equal(list_groups(fixture, filter).ids, "b");
        assert_string_equal(list(fixture, filter).ids, "2");
    }
}

static void several_conditions_must_be_true_of_one_report(void **state)
{
    struct fixture *fixture = *state;
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 5);
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    entry = make_entry(fixture, 2, "aaaaaaaa", 0);
    (void)snprintf(entry.release, sizeof(entry.release), "2.0");
    (void)snprintf(entry.environment, sizeof(entry.environment), "production");
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    struct store_filter production = where(STORE_KEY_ENVIRONMENT, "production");
    struct store_filter filter = and_where(production, STORE_KEY_RELEASE, "1.0");
    assert_string_equal(list_groups(fixture, filter).ids, "");
    filter = and_where(production, STORE_KEY_RELEASE, "2.0");
    assert_string_equal(list_groups(fixture, filter).ids, "a");
    filter = and_where(production, STORE_KEY_THREAD, "main");
    assert_string_equal(list_groups(fixture, filter).ids, "a");
    filter = and_where(production, STORE_KEY_THREAD, "mai");
    assert_string_equal(list_groups(fixture, filter).ids, "");
    filter = and_where(production, STORE_KEY_MESSAGE, "no \"fi");
    assert_string_equal(list_groups(fixture, filter).ids, "a");
}

static void a_value_that_no_report_carries_any_more_is_not_found(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 0), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "aaaaaaaa", 0), STORE_ADDED);
    struct entry entry = make_entry(fixture, 1, "aaaaaaaa", 0);
    entry.revision = 2;
    (void)snprintf(entry.title, sizeof(entry.title), "named");
    assert_int_equal(add(fixture, &entry, "x"), STORE_REPLACED);
    entry = make_entry(fixture, 2, "aaaaaaaa", 0);
    entry.revision = 2;
    (void)snprintf(entry.title, sizeof(entry.title), "named");
    assert_int_equal(add(fixture, &entry, "x"), STORE_REPLACED);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_WORD, "SIGSEGV in f")).ids,
                        "");
    assert_string_equal(list_groups(fixture, where(STORE_KEY_WORD, "name")).ids, "a");
}

// count_word counts the reports of the only group that have a word, and with it an
// environment unless that is NULL.
static int64_t count_word(struct fixture *fixture, const char *word,
                          const char *environment)
{
    struct store_filter filter = where(STORE_KEY_WORD, word);
    if (environment != NULL)
        filter = and_where(filter, STORE_KEY_ENVIRONMENT, environment);
    struct seen seen = list_groups(fixture, filter);
    return seen.count == 1 ? seen.group.filtered_count : -(int64_t)seen.count;
}

static int add_frame(struct fixture *fixture, unsigned number, const char *environment,
                     const char *frame)
{
    struct entry entry = make_entry(fixture, number, "aaaaaaaa", 0);
    (void)snprintf(entry.environment, sizeof(entry.environment), "%s", environment);
    entry.marks_size =
        (size_t)snprintf(entry.marks, sizeof(entry.marks), "11\n%s", frame) + 1;
    return add(fixture, &entry, "body");
}

static void
a_word_is_counted_whether_all_reports_of_a_group_have_it_or_not(void **state)
{
    struct fixture *fixture = *state;
    char error[STORE_ERROR_SIZE];
    size_t removed = 0;
    assert_int_equal(add_frame(fixture, 1, "live", "ledger::close"), STORE_ADDED);
    assert_int_equal(add_frame(fixture, 2, "live", "ledger::close"), STORE_ADDED);
    assert_int_equal(add_frame(fixture, 3, "test", "ledger::close"), STORE_ADDED);
    assert_int_equal(count_word(fixture, "ledger", NULL), 3);
    assert_int_equal(count_word(fixture, "segv in", "live"), 2);
    assert_int_equal(count_word(fixture, "close", "test"), 1);
    assert_int_equal(count_word(fixture, "close", "none"), 0);
    assert_int_equal(add_frame(fixture, 4, "test", "ledger::open"), STORE_ADDED);
    assert_int_equal(count_word(fixture, "ledger", NULL), 4);
    assert_int_equal(count_word(fixture, "close", NULL), 3);
    assert_int_equal(count_word(fixture, "close", "test"), 1);
    assert_int_equal(count_word(fixture, "open", "live"), 0);
    // Of reports that are gone none is counted.
    struct store_retention two = { .per_group = 2 };
    assert_int_equal(store_trim(fixture->store, &two, &removed, error), CH_OK);
    assert_int_equal(removed, 2);
    assert_int_equal(count_word(fixture, "segv in", NULL), 2);
    assert_int_equal(count_word(fixture, "segv in", "live"), 0);
}

// or_where adds an alternative of the last term of a filter.
static struct store_filter or_where(struct store_filter filter, enum store_key key,
                                    const char *value)
{
    filter.terms[filter.term_count - 1].alternative = true;
    filter = and_where(filter, key, value);
    filter.terms[filter.term_count - 1].alternative = true;
    filter.terms[filter.term_count - 1].joined = true;
    return filter;
}

// add_three adds three groups of one report each: of a host, a release and a frame of
// its own.
static void add_three(struct fixture *fixture)
{
    static const char *const groups[] = { "aaaaaaaa", "bbbbbbbb", "cccccccc" };
    static const char *const hosts[] = { "web-1", "web-2", "db_1" };
    static const char *const frames[] = { "json::parse", "xml::parse", "store::open" };
    for (unsigned i = 0; i < 3; i++) {
        struct entry entry = make_entry(fixture, i + 1, groups[i], 10 - 5 * (int)i);
        (void)snprintf(entry.hostname, sizeof(entry.hostname), "%s", hosts[i]);
        (void)snprintf(entry.release, sizeof(entry.release), "%u.0", i + 1);
        entry.marks_size =
            (size_t)snprintf(entry.marks, sizeof(entry.marks), "11\n%s", frames[i]) + 1;
        assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    }
}

static void check_found(struct fixture *fixture, struct store_filter filter,
                        const char *groups, const char *reports)
{
    assert_string_equal(list_groups(fixture, filter).ids, groups);
    assert_string_equal(list(fixture, filter).ids, reports);
    filter.sort = STORE_SORT_COUNT;
    assert_int_equal(list_groups(fixture, filter).count, strlen(groups));
}

static void one_of_several_alternatives_has_to_hold(void **state)
{
    struct fixture *fixture = *state;
    add_three(fixture);
    struct store_filter hosts =
        or_where(where(STORE_KEY_HOST, "web-1"), STORE_KEY_HOST, "db_1");
    check_found(fixture, hosts, "ca", "31");
    check_found(fixture, and_where(hosts, STORE_KEY_RELEASE, "3.0"), "c", "3");
    struct store_filter mixed =
        or_where(where(STORE_KEY_FRAME, "xml"), STORE_KEY_WORD, "web-1");
    check_found(fixture, mixed, "ba", "21");
    check_found(fixture, or_where(mixed, STORE_KEY_RELEASE, "3.0"), "cba", "321");
    mixed.terms[0].negated = true;
    check_found(fixture, mixed, "ca", "31");
    struct store_filter two = and_where(hosts, STORE_KEY_FRAME, "nothing");
    check_found(fixture, or_where(two, STORE_KEY_FRAME, "json"), "a", "1");
    check_found(
        fixture,
        or_where(where(STORE_KEY_ASSIGNEE, "ann"), STORE_KEY_FIRST_RELEASE, "2.0"), "b",
        "2");
}

static void a_wildcard_stands_for_any_text(void **state)
{
    struct fixture *fixture = *state;
    add_three(fixture);
    static const struct {
        enum store_key key;
        const char *value;
        const char *groups;
        const char *reports;
    } cases[] = {
        { STORE_KEY_HOST, "web-*", "ba", "21" },
        { STORE_KEY_HOST, "WEB-*", "ba", "21" },
        { STORE_KEY_HOST, "*_1", "c", "3" },
        { STORE_KEY_HOST, "web*x", "", "" },
        { STORE_KEY_RELEASE, "*.0", "cba", "321" },
        { STORE_KEY_FIRST_RELEASE, "1*", "a", "1" },
        { STORE_KEY_FRAME, "j*pars", "a", "1" },
        { STORE_KEY_PROGRAM, "/bin/*", "cba", "321" },
        { STORE_KEY_PROGRAM, "prog*", "cba", "321" },
        { STORE_KEY_PROGRAM, "rog*", "", "" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct store_filter filter = where(cases[i].key, cases[i].value);
        filter.terms[0].wildcard = true;
        check_found(fixture, filter, cases[i].groups, cases[i].reports);
    }
}

static void an_asterisk_alone_stands_for_some_value(void **state)
{
    struct fixture *fixture = *state;
    add_three(fixture);
    struct entry without = make_entry(fixture, 4, "dddddddd", 5);
    without.hostname[0] = without.release[0] = without.executable[0] = 0;
    assert_int_equal(add(fixture, &without, "x"), STORE_ADDED);
    static const enum store_key keys[] = { STORE_KEY_HOST, STORE_KEY_RELEASE,
                                           STORE_KEY_PROGRAM, STORE_KEY_FIRST_RELEASE };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct store_filter filter = where(keys[i], "*");
        filter.terms[0].wildcard = true;
        check_found(fixture, filter, "cba", "321");
        filter.terms[0].negated = true;
        check_found(fixture, filter, "d", "4");
    }
}

static void ranges_are_of_times_reports_and_machines(void **state)
{
    struct fixture *fixture = *state;
    add_three(fixture);
    struct entry more = make_entry(fixture, 4, "bbbbbbbb", 5);
    (void)snprintf(more.hostname, sizeof(more.hostname), "web-3");
    int64_t time_ms = more.time_ms;
    assert_int_equal(add(fixture, &more, "x"), STORE_ADDED);
    static const enum store_key keys[] = { STORE_KEY_REPORTS, STORE_KEY_MACHINES };
    for (size_t i = 0; i < 2; i++) {
        struct store_filter filter = where(keys[i], "");
        filter.terms[0].number = 2;
        assert_string_equal(list_groups(fixture, filter).ids, "b");
        filter.terms[0].number = 0;
        filter.terms[0].high = 1;
        assert_string_equal(list_groups(fixture, filter).ids, "ca");
    }
    struct store_filter filter = where(STORE_KEY_TIME, "");
    filter.terms[0].number = time_ms;
    filter.terms[0].high = time_ms;
    check_found(fixture, filter, "b", "42");
}

struct counts {
    char text[512];
};

static void see_counted(void *context, const struct store_counted *counted)
{
    struct counts *counts = context;
    size_t used = strlen(counts->text);
    (void)snprintf(counts->text + used, sizeof(counts->text) - used, "%s%s%s=%lld ",
                   counted->value, counted->then[0] != 0 ? "/" : "", counted->then,
                   (long long)counted->count);
}

static void values_of_the_reports_of_a_search_are_counted(void **state)
{
    struct fixture *fixture = *state;
    add_three(fixture);
    struct store_filter filter = where(STORE_KEY_HOST, "web-*");
    filter.terms[0].wildcard = true;
    filter.limit = 10;
    static const struct {
        enum store_facet kind;
        enum store_facet then;
        const char *counts;
    } cases[] = {
        { FACET_RELEASE, 0, "1.0=1 2.0=1 " },
        { FACET_SIGNAL_NAME, 0, "SIGSEGV=2 " },
        { FACET_FRAME, 0, "json::parse=1 xml::parse=1 " },
        { FACET_ENVIRONMENT, FACET_RELEASE, "test/1.0=1 test/2.0=1 " },
        { 0, 0, "program=2 web-1=1 web-2=1 1.0=1 2.0=1 test=2 SIGSEGV=2 " },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct store_counting counting = {
            .filter = &filter, .kind = cases[i].kind, .then = cases[i].then, .limit = 5
        };
        struct counts counts = { "" };
        struct store_found found;
        assert_int_equal(
            store_count_values(fixture->store, &counting, see_counted, &counts, &found),
            CH_OK);
        assert_string_equal(counts.text, cases[i].counts);
        assert_int_equal(found.count, 2);
        assert_false(found.more);
    }
    filter.limit = 1;
    struct store_counting counting = { .filter = &filter,
                                       .kind = FACET_HOSTNAME,
                                       .limit = 5 };
    struct counts counts = { "" };
    struct store_found found;
    assert_int_equal(
        store_count_values(fixture->store, &counting, see_counted, &counts, &found),
        CH_OK);
    assert_string_equal(counts.text, "web-2=1 "); // of the newest report
    assert_true(found.more);
}

static void the_most_telling_report_has_most_marks(void **state)
{
    struct fixture *fixture = *state;
    char id[REPORT_ID_SIZE];
    static const char few[] = "11\nf";
    assert_int_equal(add_new(fixture, 1, "aaaaaaaa", 9), STORE_ADDED);
    assert_int_equal(add_new(fixture, 2, "aaaaaaaa", 5), STORE_ADDED);
    struct entry entry = make_entry(fixture, 3, "aaaaaaaa", 1);
    memcpy(entry.marks, few, sizeof(few));
    entry.marks_size = sizeof(few);
    assert_int_equal(add(fixture, &entry, "x"), STORE_ADDED);
    assert_int_equal(store_find_telling(fixture->store, "aaaaaaaa", id), CH_OK);
    assert_int_equal(id[35], '2'); // as many marks as the first, and newer
    assert_int_equal(store_find_telling(fixture->store, "bbbbbbbb", id), CH_OK);
    assert_string_equal(id, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(searches_find_parts_of_any_length_in_any_case),
        STORE_TEST(a_word_of_two_letters_is_one_of_what_a_group_shows),
        STORE_TEST(letters_whose_lower_case_is_of_another_alphabet_are_found),
        STORE_TEST(several_conditions_must_be_true_of_one_report),
        STORE_TEST(a_value_that_no_report_carries_any_more_is_not_found),
        STORE_TEST(one_of_several_alternatives_has_to_hold),
        STORE_TEST(a_wildcard_stands_for_any_text),
        STORE_TEST(an_asterisk_alone_stands_for_some_value),
        STORE_TEST(values_of_the_reports_of_a_search_are_counted),
        STORE_TEST(the_most_telling_report_has_most_marks),
        STORE_TEST(ranges_are_of_times_reports_and_machines),
        STORE_TEST(a_word_is_counted_whether_all_reports_of_a_group_have_it_or_not),
    };
    return cmocka_run_group_tests_name("collector/store_search", tests, NULL, NULL);
}
