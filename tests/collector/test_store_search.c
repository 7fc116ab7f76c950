// SPDX-License-Identifier: Apache-2.0
//
// What a search finds: parts of words in any case, conditions on one report, counts.
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(searches_find_parts_of_any_length_in_any_case),
        STORE_TEST(a_word_of_two_letters_is_one_of_what_a_group_shows),
        STORE_TEST(letters_whose_lower_case_is_of_another_alphabet_are_found),
        STORE_TEST(several_conditions_must_be_true_of_one_report),
        STORE_TEST(a_value_that_no_report_carries_any_more_is_not_found),
        STORE_TEST(a_word_is_counted_whether_all_reports_of_a_group_have_it_or_not),
    };
    return cmocka_run_group_tests_name("collector/store_search", tests, NULL, NULL);
}
