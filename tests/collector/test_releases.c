// SPDX-License-Identifier: Apache-2.0
#include "collector/query/releases.h"

#include "collector/store_fixture.h"

// add_of adds a crash of a release of a program, minutes ago, of a group whose name
// begins with a letter.
static void add_of(struct fixture *fixture, const char *program, const char *release,
                   char group, int minutes)
{
    static unsigned number;
    struct entry entry = make_entry(fixture, ++number, "xaaaaaaa", minutes);
    entry.group[0] = group;
    (void)snprintf(entry.executable, sizeof(entry.executable), "/opt/%s/%s/bin/%s",
                   program, release, program);
    (void)snprintf(entry.release, sizeof(entry.release), "%s", release);
    (void)snprintf(entry.hostname, sizeof(entry.hostname), "host%u", number);
    assert_int_equal(add(fixture, &entry, "body"), STORE_ADDED);
}

// order_of is the releases of a program, the newest first; `!` follows the current one.
static const char *order_of(struct fixture *fixture, const char *program)
{
    static char out[256];
    const struct releases_of of = { "", program, "" };
    CH_CLEANUP(releases_deinit) struct releases releases = { 0 };
    out[0] = 0;
    if (releases_find(fixture->store, &of, &releases) != CH_OK)
        return "failed";
    for (size_t i = 0; i < releases.count; i++) {
        size_t size = strlen(out);
        (void)snprintf(out + size, sizeof(out) - size, "%s%s%s", i == 0 ? "" : " ",
                       releases.list[i].name, releases.list[i].current ? "!" : "");
    }
    return out;
}

static void a_program_in_a_folder_for_each_release_is_one_program(void **state)
{
    struct fixture *fixture = *state;
    add_of(fixture, "shopd", "1.9", 'a', 30);
    add_of(fixture, "shopd", "1.10", 'b', 20);
    add_of(fixture, "imgtool", "7", 'c', 10);
    assert_string_equal(order_of(fixture, "shopd"), "1.10! 1.9");
    assert_string_equal(order_of(fixture, "imgtool"), "7!");
    assert_int_equal(list_groups(fixture, where(STORE_KEY_PROGRAM, "shopd")).count, 2);
    add_of(fixture, "shopd", "1.10", 'a', 5);
    struct seen seen = find_group(fixture, "aaaaaaaa");
    assert_int_equal(seen.group.program_count, 1);
}

static void what_is_new_is_so_in_the_newest_release_of_its_program(void **state)
{
    struct fixture *fixture = *state;
    add_of(fixture, "a", "2.0", 'a', 50);
    add_of(fixture, "b", "1.4", 'b', 40);
    add_of(fixture, "b", "1.5", 'c', 30);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_NEW, "")).ids, "ca");
    // A report of a release in which nothing began says nothing of what is new.
    add_of(fixture, "a", "2.1", 'a', 20);
    assert_string_equal(list_groups(fixture, where(STORE_KEY_NEW, "")).ids, "ac");
    struct store_filter filter =
        and_where(where(STORE_KEY_NEW, ""), STORE_KEY_PROGRAM, "b");
    assert_string_equal(list_groups(fixture, filter).ids, "c");
}

static void a_canary_makes_nothing_else_old(void **state)
{
    struct fixture *fixture = *state;
    for (int i = 0; i < 19; i++)
        add_of(fixture, "a", "2.0", 'a', 60 + i);
    add_of(fixture, "a", "2.1", 'b', 50);
    assert_string_equal(order_of(fixture, "a"), "2.1 2.0!");
    assert_string_equal(list_groups(fixture, where(STORE_KEY_NEW, "")).ids, "ba");
    for (int i = 0; i < 3; i++)
        add_of(fixture, "a", "2.1", 'b', 40 + i);
    assert_string_equal(order_of(fixture, "a"), "2.1! 2.0");
    assert_string_equal(list_groups(fixture, where(STORE_KEY_NEW, "")).ids, "b");
}

static void hashes_and_code_names_follow_when_they_were_first_seen(void **state)
{
    struct fixture *fixture = *state;
    add_of(fixture, "a", "fe05bcdcdc4928012781a5f1a2a77cbb5398e106", 'a', 50);
    add_of(fixture, "a", "05bcdcdc4928012781a5f1a2a77cbb5398e106fe", 'b', 40);
    add_of(fixture, "b", "zebra", 'c', 30);
    add_of(fixture, "b", "aardvark", 'd', 20);
    assert_string_equal(order_of(fixture, "a"),
                        "05bcdcdc4928012781a5f1a2a77cbb5398e106fe!"
                        " fe05bcdcdc4928012781a5f1a2a77cbb5398e106");
    assert_string_equal(order_of(fixture, "b"), "aardvark! zebra");
}

static void a_declared_order_counts_most(void **state)
{
    struct fixture *fixture = *state;
    static const char *const names[] = { "2.0", "1.0" };
    char error[STORE_ERROR_SIZE];
    add_of(fixture, "a", "1.0", 'a', 50);
    add_of(fixture, "a", "2.0", 'b', 40);
    assert_string_equal(order_of(fixture, "a"), "2.0! 1.0");
    const struct store_order order = { "", "a", names, 2 };
    assert_int_equal(store_declare_order(fixture->store, &order, error), CH_OK);
    assert_string_equal(order_of(fixture, "a"), "1.0! 2.0");
}

// back returns true if a group that was seen in two releases, and then resolved, is
// back with a report of a third one.
static bool back(struct fixture *fixture, char group, const char *const seen[2],
                 const char *resolved_in, const char *later)
{
    const struct store_decision decision = { .status = "resolved",
                                             .release = resolved_in };
    char id[] = "xaaaaaaa";
    char error[STORE_ERROR_SIZE];
    id[0] = group;
    add_of(fixture, "a", seen[0], group, 30);
    add_of(fixture, "a", seen[1], group, 20);
    assert_int_equal(store_decide(fixture->store, id, &decision, error), CH_OK);
    fixture->now_ms = timestamp_now() + 10;
    add_of(fixture, "a", later, group, 0);
    return strcmp(find_group(fixture, id).status, "regressed") == 0;
}

static void a_release_that_a_group_had_before_never_reopens_it(void **state)
{
    struct fixture *fixture = *state;
    static const char *const hashes[] = { "aaaaaaa1", "bbbbbbb2" };
    static const char *const words[] = { "yosemite", "monterey" };
    static const char *const numbers[] = { "1.0", "1.1" };
    assert_false(back(fixture, 'a', hashes, NULL, "aaaaaaa1"));
    assert_false(back(fixture, 'b', hashes, NULL, "bbbbbbb2"));
    assert_true(back(fixture, 'c', hashes, NULL, "ccccccc3"));
    assert_false(back(fixture, 'd', words, NULL, "yosemite"));
    assert_true(back(fixture, 'e', words, NULL, "big-sur"));
    assert_false(back(fixture, 'f', numbers, NULL, "1.0"));
    assert_true(back(fixture, '0', numbers, NULL, "1.2"));
    assert_false(back(fixture, '1', numbers, "1.3", "1.2"));
    assert_true(back(fixture, '2', numbers, "1.3", "1.3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_program_in_a_folder_for_each_release_is_one_program),
        STORE_TEST(what_is_new_is_so_in_the_newest_release_of_its_program),
        STORE_TEST(a_canary_makes_nothing_else_old),
        STORE_TEST(hashes_and_code_names_follow_when_they_were_first_seen),
        STORE_TEST(a_declared_order_counts_most),
        STORE_TEST(a_release_that_a_group_had_before_never_reopens_it),
    };
    return cmocka_run_group_tests_name("collector/releases", tests, NULL, NULL);
}
