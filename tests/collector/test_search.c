// SPDX-License-Identifier: Apache-2.0
#include "collector/requests/search.h"

#include "collector/database/timestamp.h"
#include "support/test.h"

static const char everything[] =
    "slow \"two words\" -program:shopd release:1.4 tag:zone:north host:\"web 13\""
    " frame:ledger::post OR file:post* machines:>3 is:unassigned -is:resolved"
    " signal:segv since:2026-11-01";

static bool search_one(const char *text, struct search *out)
{
    *out = (struct search){ .now_ms = 10 * (int64_t)TIMESTAMP_DAY_MS };
    return search_read(out, text) == CH_OK;
}

static void words_and_keys_become_terms(void **state)
{
    (void)state;
    struct search search;
    assert_true(
        search_one("slow \"two words\" -program:shopd tag:zone:north", &search));
    assert_int_equal(search.count, 4);
    assert_int_equal(search.terms[0].key, STORE_KEY_WORD);
    assert_string_equal(search.terms[0].value, "slow");
    assert_string_equal(search.terms[1].value, "two words");
    assert_int_equal(search.terms[2].key, STORE_KEY_PROGRAM);
    assert_true(search.terms[2].negated);
    assert_string_equal(search.terms[2].value, "shopd");
    assert_string_equal(search.terms[3].tag, "zone");
    assert_string_equal(search.terms[3].value, "north");
}

static void a_key_may_have_a_hyphen_inside(void **state)
{
    (void)state;
    struct search search;
    assert_true(search_one("freed-in:close_shop -kind:abort", &search));
    assert_int_equal(search.count, 2);
    assert_int_equal(search.terms[0].key, STORE_KEY_FREED_IN);
    assert_false(search.terms[0].negated);
    assert_int_equal(search.terms[1].key, STORE_KEY_KIND);
    assert_true(search.terms[1].negated);
}

static void a_tag_may_have_colons_in_its_key(void **state)
{
    (void)state;
    struct search search;
    struct text CH_CLEANUP(text_deinit) value = { 0 };
    struct text CH_CLEANUP(text_deinit) term = { 0 };
    search_write_tag("co:lon \\", "v:w", &value);
    search_write_term(&term, "tag", value.bytes);
    bool read = search_one(term.bytes, &search);
    assert_true(read);
    assert_string_equal(search.terms[0].tag, "co:lon \\");
    assert_string_equal(search.terms[0].value, "v:w");
}

static void a_name_with_two_colons_is_a_word(void **state)
{
    (void)state;
    struct search search;
    static const char *const words[] = { "ledger::post", "src/a.c:12", "0x7f:", "::",
                                         "Key:value",    "-",          "" };
    for (size_t i = 0; words[i][0] != 0; i++) {
        assert_true(search_one(words[i], &search));
        assert_int_equal(search.count, 1);
        assert_int_equal(search.terms[0].key,
                         strlen(words[i]) < 3 ? STORE_KEY_SHORT_WORD : STORE_KEY_WORD);
        assert_string_equal(search.terms[0].value, words[i]);
    }
}

static void quotes_keep_spaces_colons_and_quotes(void **state)
{
    (void)state;
    struct search search;
    assert_true(search_one("message:\"a \\\"b\\\" \\\\\" \"host:x\"", &search));
    assert_string_equal(search.terms[0].value, "a \"b\" \\");
    assert_int_equal(search.terms[1].key, STORE_KEY_WORD);
    assert_string_equal(search.terms[1].value, "host:x");
    assert_true(
        search_one("tag:zone:\"a b\\\"*\" (tag:a\\:b:\"c d\" OR host:x)", &search));
    assert_string_equal(search.terms[0].tag, "zone");
    assert_string_equal(search.terms[0].value, "a b\"*");
    assert_false(search.terms[0].wildcard);
    assert_string_equal(search.terms[1].tag, "a:b");
    assert_string_equal(search.terms[1].value, "c d");
    assert_true(search_one("message:\"not closed ye", &search));
    assert_string_equal(search.terms[0].value, "not closed ye");
}

static void a_file_with_a_line_is_the_end_of_a_place(void **state)
{
    (void)state;
    struct search search;
    assert_true(search_one("file:x.c:57 file:\"a b.c:7\" file:x.c: file:c:x", &search));
    assert_true(search.terms[0].at_end && search.terms[1].at_end);
    assert_string_equal(search.terms[1].value, "a b.c:7");
    assert_false(search.terms[2].at_end || search.terms[3].at_end);
    struct text CH_CLEANUP(text_deinit) written = { 0 };
    search_write(&search, SIZE_MAX, &written);
    assert_string_equal(written.bytes,
                        "file:x.c:57 file:\"a b.c:7\" file:x.c: file:c:x");
}

static void signals_times_and_states_are_understood(void **state)
{
    (void)state;
    struct search search;
    assert_true(
        search_one("signal:11 signal:Segv since:3d is:open -is:unassigned", &search));
    assert_int_equal(search.terms[0].number, 11);
    assert_string_equal(search.terms[1].value, "SIGSEGV");
    assert_int_equal(search.terms[2].number, 7 * (int64_t)TIMESTAMP_DAY_MS);
    assert_int_equal(search.terms[3].key, STORE_KEY_OPEN);
    assert_int_equal(search.terms[4].key, STORE_KEY_ASSIGNED);
    assert_false(search.terms[4].negated);
}

static void what_is_not_understood_is_said_with_what_may_be_meant(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        { "hots:web-13", "there is no key `hots`, did you mean `host`?" },
        { "http://x", "there is no key `http`; put quotes" },
        { "host:", "`host:` has no value" },
        { "is:gone", "is:gone is not one of any, open, new" },
        { "status:gone", "status is not open" },
        { "since:soon", "since is not a time" },
        { "tag:zone", "tag is not key:value" },
        { "OR signal:ABRT", "OR needs a term before and after it" },
        { "signal:SEGV OR", "OR needs a term before and after it" },
        { "signal:SEGV OR OR signal:ABRT", "OR needs a term" },
        { "is:new OR host:web-1", "OR cannot join `new` and `web-1`" },
        { "host:x OR ab", "OR cannot join `x` and `ab`" },
        { "machines:>many", "machines is not a number" },
        { "machines:9..3", "there is nothing in the range machines:9..3" },
        { "time:soon..", "time is not a time" },
        { "a a a a a a a a a a a a a a a a a a a a a a a a a", "at most 24 terms" },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct search search;
        assert_false(search_one(cases[i].text, &search));
        assert_non_null(strstr(search.why, cases[i].why));
    }
}

static void a_search_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct search search;
    char text[SEARCH_SIZE + 2];
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    assert_false(search_one(text, &search));
    assert_non_null(strstr(search.why, "too long"));
    text[SEARCH_SIZE - 1] = 0;
    assert_true(search_one(text, &search));
}

static void a_parameter_is_a_term_that_is_not_parsed_further(void **state)
{
    (void)state;
    struct search search = { .now_ms = 0 };
    assert_int_equal(search_add(&search, "host", "a b -c"), CH_OK);
    assert_int_equal(search.count, 1);
    assert_string_equal(search.terms[0].value, "a b -c");
    assert_int_equal(search_add(&search, "hosts", "a"), CH_ERR_MALFORMED);
    assert_string_equal(search_nearest_key("releases"), "release");
    assert_null(search_nearest_key("something"));
}

static void what_is_written_reads_as_the_same_search(void **state)
{
    (void)state;
    struct search search;
    struct search again;
    struct text text = { 0 };
    struct text without = { 0 };
    assert_true(search_one(everything, &search));
    search_write(&search, SIZE_MAX, &text);
    bool same = text_ok(&text) && strcmp(text.bytes, everything) == 0;
    bool read = search_one(text.bytes, &again) && again.count == search.count;
    search_write(&search, 0, &without);
    bool shorter = text_ok(&without) && strcmp(without.bytes, everything + 5) == 0;
    text_deinit(&text);
    text_deinit(&without);
    assert_true(same && read && shorter);
}

// Every prefix lives in an allocation of its own size, so that AddressSanitizer sees a
// read past it.
static void search_survives_every_truncation(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(everything); size++) {
        struct search search;
        char *prefix = strndup(everything, size);
        bool known = prefix != NULL;
        bool read = known && search_one(prefix, &search);
        known &= read || search.why[0] != 0;
        free(prefix);
        assert_true(known);
    }
}

static void or_joins_its_neighbours_and_parentheses_change_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "program:shopd host:a OR host:\"b c\" AND slow",
        "program:shopd (host:a OR host:\"b c\") slow",
    };
    for (size_t i = 0; i < 2; i++) {
        struct search search;
        struct text text = { 0 };
        struct text without = { 0 };
        assert_true(search_one(texts[i], &search));
        search_write(&search, SIZE_MAX, &text);
        search_write(&search, 1, &without);
        bool same =
            text_ok(&text) && text_ok(&without) &&
            strcmp(text.bytes, "program:shopd host:a OR host:\"b c\" slow") == 0 &&
            strcmp(without.bytes, "program:shopd host:\"b c\" slow") == 0;
        text_deinit(&text);
        text_deinit(&without);
        assert_true(same);
        assert_false(search.terms[0].alternative || search.terms[3].alternative);
        assert_true(search.terms[1].alternative && !search.terms[1].joined);
        assert_true(search.terms[2].alternative && search.terms[2].joined);
    }
}

static void parentheses_of_names_are_part_of_a_word(void **state)
{
    (void)state;
    struct search search;
    assert_true(search_one("(anonymous frame:parse(int) OR frame:read(int)", &search));
    assert_string_equal(search.terms[0].value, "(anonymous");
    assert_string_equal(search.terms[1].value, "parse(int)");
    assert_string_equal(search.terms[2].value, "read(int)");
}

static void an_asterisk_is_a_wildcard_unless_it_is_quoted(void **state)
{
    (void)state;
    struct search search;
    assert_true(search_one("release:1.* release:\"1.*\" a*b signal:SEGV", &search));
    assert_true(search.terms[0].wildcard);
    assert_false(search.terms[1].wildcard || search.terms[2].wildcard);
    struct text text = { 0 };
    search_write(&search, SIZE_MAX, &text);
    bool same = text_ok(&text) &&
                strcmp(text.bytes, "release:1.* release:\"1.*\" a*b signal:SEGV") == 0;
    text_deinit(&text);
    assert_true(same);
}

static void ranges_have_a_first_and_a_last_value(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t low;
        int64_t high;
    } cases[] = {
        { "machines:>30", 31, STORE_NUMBER_MAX },
        { "machines:>=30", 30, STORE_NUMBER_MAX },
        { "reports:<30", 0, 29 },
        { "reports:<=30", 0, 30 },
        { "reports:10..20", 10, 20 },
        { "reports:10..", 10, STORE_NUMBER_MAX },
        { "reports:7", 7, 7 },
        { "time:1970-01-02..1970-01-03", 86400000, 3 * INT64_C(86400000) - 1 },
        { "first_seen:>1970-01-02", 2 * INT64_C(86400000), STORE_NUMBER_MAX },
        { "last_seen:1970-01-02", 86400000, 2 * INT64_C(86400000) - 1 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct search search;
        assert_true(search_one(cases[i].text, &search));
        assert_int_equal(search.terms[0].number, cases[i].low);
        assert_int_equal(search.terms[0].high, cases[i].high);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_keys_become_terms),
        cmocka_unit_test(a_key_may_have_a_hyphen_inside),
        cmocka_unit_test(a_tag_may_have_colons_in_its_key),
        cmocka_unit_test(a_name_with_two_colons_is_a_word),
        cmocka_unit_test(quotes_keep_spaces_colons_and_quotes),
        cmocka_unit_test(a_file_with_a_line_is_the_end_of_a_place),
        cmocka_unit_test(signals_times_and_states_are_understood),
        cmocka_unit_test(what_is_not_understood_is_said_with_what_may_be_meant),
        cmocka_unit_test(a_search_that_is_too_long_is_refused),
        cmocka_unit_test(a_parameter_is_a_term_that_is_not_parsed_further),
        cmocka_unit_test(what_is_written_reads_as_the_same_search),
        cmocka_unit_test(or_joins_its_neighbours_and_parentheses_change_nothing),
        cmocka_unit_test(parentheses_of_names_are_part_of_a_word),
        cmocka_unit_test(an_asterisk_is_a_wildcard_unless_it_is_quoted),
        cmocka_unit_test(ranges_have_a_first_and_a_last_value),
        cmocka_unit_test(search_survives_every_truncation),
    };
    return cmocka_run_group_tests_name("collector/search", tests, NULL, NULL);
}
