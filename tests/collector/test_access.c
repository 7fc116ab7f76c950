// SPDX-License-Identifier: Apache-2.0
#include "collector/server/access.h"

#include <stdlib.h>
#include <string.h>

#include "support/folder.h"
#include "support/test.h"

static char why[ACCESS_WHY_SIZE];

// write_tokens writes a file of tokens, and gives its path.
static const char *write_tokens(struct folder *folder, const char *content)
{
    const char *path = folder_path(folder, "tokens");
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return NULL;
    (void)fputs(content, file);
    (void)fclose(file);
    return path;
}

// open_access reads a file of tokens that must be right.
static struct access open_access(struct folder *folder, const char *content)
{
    struct access access;
    assert_int_equal(access_init(write_tokens(folder, content), &access, why), CH_OK);
    return access;
}

static void access_takes_any_of_the_tokens_as_bearer(void **state)
{
    struct access access = open_access(*state, "# ours\n\n  s3cret \r\nother-token");
    struct access_grant one = { 0 };
    struct access_grant two = { 0 };
    bool taken = access_authorized(&access, "Bearer s3cret", false, &one) &&
                 access_authorized(&access, "bearer  other-token", false, &two);
    access_deinit(&access);
    assert_true(taken);
    assert_int_equal(one.scopes, ACCESS_ALL);
    assert_string_equal(one.name, "token 1");
    assert_string_equal(two.name, "token 2");
}

static void access_refuses_what_is_no_token(void **state)
{
    static const char *const wrong[] = { "Bearer s3cre",
                                         "Bearer s3crets",
                                         "Bearer ",
                                         "Bearer",
                                         "s3cret",
                                         "Basic s3cret",
                                         "Bearer S3CRET",
                                         "Bearer s3cret x",
                                         "Digest s3cret",
                                         "",
                                         NULL };
    struct access access = open_access(*state, "s3cret");
    struct access_grant grant;
    size_t taken = 0;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        taken += access_authorized(&access, wrong[i], true, &grant);
    access_deinit(&access);
    assert_int_equal(taken, 0);
}

static void access_takes_a_token_as_password_where_a_browser_reads(void **state)
{
    struct access access = open_access(*state, "s3cret");
    struct access_grant grant;
    bool reads = access_authorized(&access, "Basic bWU6czNjcmV0", true, &grant);
    bool sends = access_authorized(&access, "Basic bWU6czNjcmV0", false, &grant);
    bool turned = access_authorized(&access, "Basic czNjcmV0Om1l", true, &grant);
    access_deinit(&access);
    assert_true(reads); // me:s3cret
    assert_false(sends);
    assert_false(turned); // s3cret:me
}

// The sum is that of `abc`.
static void access_reads_names_scopes_projects_and_sums(void **state)
{
    struct access access = open_access(
        *state, "default scopes=send\nbare\nci-token name=ci scopes=symbols,read"
                " project=shop\nsha256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9c"
                "b410ff61f20015ad name=kim scopes=admin\nuser name=lee scopes=read\n");
    struct access_grant grants[4] = { 0 };
    bool found = access_find_token(&access, "bare", 4, &grants[0]) &&
                 access_find_token(&access, "ci-token", 8, &grants[1]) &&
                 access_find_token(&access, "abc", 3, &grants[2]) &&
                 access_find_name(&access, "lee", &grants[3]);
    bool users = access_has_users(&access);
    bool user = access_find_token(&access, "user", 4, &grants[0]);
    access_deinit(&access);
    assert_true(found && users);
    assert_false(user);
    assert_int_equal(grants[0].scopes, ACCESS_SEND);
    assert_int_equal(grants[1].scopes, ACCESS_SYMBOLS | ACCESS_READ);
    assert_string_equal(grants[1].project, "shop");
    assert_string_equal(grants[2].name, "kim");
    assert_int_equal(grants[3].scopes, ACCESS_READ);
}

// may_as reports what a person with groups may do: nothing, or scopes in a project.
static void may_as(struct access *access, const char *name, const char *groups,
                   unsigned scopes, const char *project)
{
    struct access_grant grant = { 0 };
    assert_true(access_find_person(access, name, groups, &grant) == (scopes != 0));
    assert_int_equal(grant.scopes, scopes);
    assert_string_equal(grant.project, project);
    if (scopes != 0)
        assert_string_equal(grant.name, name);
}

static void people_whom_a_proxy_names_may_do_what_they_or_their_groups_may(void **state)
{
    struct access access =
        open_access(*state, "t name=kim scopes=admin\nuser name=lee scopes=read\n"
                            "group name=/team/shop scopes=read project=shop\n"
                            "group name=ops scopes=admin\n"
                            "group name=triage scopes=triage project=shop\n");
    may_as(&access, "lee", "ops", ACCESS_READ, "");
    may_as(&access, "lee", NULL, ACCESS_READ, "");
    may_as(&access, "eve", NULL, 0, "");
    may_as(&access, "eve", "", 0, "");
    may_as(&access, "eve", "op,opsx,/team", 0, "");
    may_as(&access, "eve", "x, ops ,y", ACCESS_ADMIN, "");
    may_as(&access, "eve", "triage,ops,/team/shop", ACCESS_READ | ACCESS_TRIAGE,
           "shop");
    may_as(&access, "kim", "", 0, ""); // the name of a token is no user
    may_as(&access, "ops", "", 0, "");
    may_as(&access, "eve <x>", "ops", 0, "");
    struct access_grant grant;
    assert_false(access_find_token(&access, "group", 5, &grant));
    assert_false(access_find_name(&access, "ops", &grant));
    access_deinit(&access);
}

static void access_reads_what_projects_keep_and_may_send(void **state)
{
    struct access access =
        open_access(*state, "project name=shop keep=90d keep-per-group=500 rate=60/1m\n"
                            "project name=bank keep=all keep-per-group=all\n"
                            "project name=lab rate=1/1h\nt project=shop\n");
    struct store_project_retention kept[ACCESS_PROJECTS];
    struct access_project lab = { 0 };
    struct access_project none = { 0 };
    size_t count = access_list_retention(&access, kept);
    bool found = access_find_project(&access, "lab", &lab);
    bool unset = access_find_project(&access, "", &none);
    access_deinit(&access);
    assert_int_equal(count, 3);
    assert_string_equal(kept[0].project, "shop");
    assert_int_equal(kept[0].age_ms, 90 * (int64_t)86400000);
    assert_int_equal(kept[0].per_group, 500);
    assert_int_equal(kept[1].age_ms, 0);
    assert_int_equal(kept[1].per_group, 0);
    assert_int_equal(kept[2].age_ms, STORE_KEEP_AS_OTHERS);
    assert_true(found);
    assert_false(unset);
    assert_int_equal(lab.rate.count, 1);
    assert_int_equal(lab.rate.period_ms, 3600000);
    assert_int_equal(lab.index, 2);
}

static void access_refuses_a_file_that_is_wrong_and_says_the_line(void **state)
{
    static const struct {
        const char *content;
        const char *says;
    } wrong[] = {
        { "# nothing\n \n", "there is no token in it" },
        { "a\nb colour=red\n", "line 2: there is no such setting" },
        { "a scopes=reed\n", "line 1: scopes= takes" },
        { "a scopes=\n", "line 1: scopes= takes" },
        { "a b\n", "line 1: what follows a token" },
        { "a name=\"kim\"\n", "line 1: a name has" },
        { "a\ndefault scopes=send\n", "line 2: default takes" },
        { "sha256=12 name=kim\n", "line 1: sha256= takes" },
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct access access;
        enum ch_status status =
            access_init(write_tokens(*state, wrong[i].content), &access, why);
        access_deinit(&access);
        assert_int_not_equal(status, CH_OK);
        assert_non_null(strstr(why, wrong[i].says));
    }
}

static void access_keeps_what_it_has_when_a_new_file_is_wrong(void **state)
{
    struct access access = open_access(*state, "first\n");
    struct access_grant grant;
    (void)write_tokens(*state, "second colour=red\n");
    enum ch_status refused = access_reload(&access, why);
    bool first = access_find_token(&access, "first", 5, &grant);
    (void)write_tokens(*state, "second\n");
    enum ch_status taken = access_reload(&access, why);
    bool second = access_find_token(&access, "second", 6, &grant);
    bool gone = !access_find_token(&access, "first", 5, &grant);
    access_deinit(&access);
    assert_int_not_equal(refused, CH_OK);
    assert_int_equal(taken, CH_OK);
    assert_true(first && second && gone);
}

static void access_holds_thousands_of_tokens(void **state)
{
    enum { TOKENS = 5000 };
    char *content = calloc(TOKENS, 16);
    struct access_grant grant = { 0 };
    for (size_t i = 0; i < TOKENS; i++)
        (void)snprintf(content + strlen(content), 16, "t%zu\n", i);
    struct access access = open_access(*state, content);
    bool found = access_find_token(&access, "t4711", 5, &grant);
    access_deinit(&access);
    free(content);
    assert_true(found);
    assert_int_equal(grant.index, 4711);
}

static void access_knows_forms_of_its_own_pages(void **state)
{
    (void)state;
    assert_true(access_same_origin("same-origin", NULL, "x"));
    assert_true(access_same_origin(NULL, "https://crash.example:8", "crash.example:8"));
    assert_false(access_same_origin("same-site", "http://x", "x"));
    assert_false(access_same_origin("cross-site", NULL, "x"));
    assert_false(access_same_origin("none", NULL, "x"));
    assert_false(access_same_origin(NULL, "https://evil.example", "crash.example"));
    assert_false(access_same_origin(NULL, "null", "crash.example"));
    assert_false(access_same_origin(NULL, NULL, "crash.example"));
    assert_false(access_same_origin(NULL, "http://x", NULL));
}

static void access_answers_to_addresses_and_localhost_alone(void **state)
{
    (void)state;
    assert_true(access_host_ok("127.0.0.1:8765"));
    assert_true(access_host_ok("[::1]:8765"));
    assert_true(access_host_ok("localhost"));
    assert_true(access_host_ok(NULL));
    assert_false(access_host_ok("evil.example:8765"));
    assert_false(access_host_ok("127.0.0.1.evil.example"));
    assert_false(access_host_ok("[::1"));
    assert_false(access_host_ok(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(access_takes_any_of_the_tokens_as_bearer,
                                        folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(access_refuses_what_is_no_token, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(
            access_takes_a_token_as_password_where_a_browser_reads, folder_setup,
            folder_teardown),
        cmocka_unit_test_setup_teardown(access_reads_names_scopes_projects_and_sums,
                                        folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(
            people_whom_a_proxy_names_may_do_what_they_or_their_groups_may,
            folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(access_reads_what_projects_keep_and_may_send,
                                        folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(
            access_refuses_a_file_that_is_wrong_and_says_the_line, folder_setup,
            folder_teardown),
        cmocka_unit_test_setup_teardown(
            access_keeps_what_it_has_when_a_new_file_is_wrong, folder_setup,
            folder_teardown),
        cmocka_unit_test_setup_teardown(access_holds_thousands_of_tokens, folder_setup,
                                        folder_teardown),
        cmocka_unit_test(access_knows_forms_of_its_own_pages),
        cmocka_unit_test(access_answers_to_addresses_and_localhost_alone),
    };
    return cmocka_run_group_tests_name("collector/access", tests, NULL, NULL);
}
