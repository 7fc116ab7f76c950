// SPDX-License-Identifier: Apache-2.0
#include "collector/server/access.h"

#include "support/folder.h"
#include "support/test.h"

static const char *const tokens[] = { "s3cret", "other-token", NULL };
static const char *const none[] = { NULL };
static size_t token; // which of them it was

static void access_takes_any_of_the_tokens_as_bearer(void **state)
{
    (void)state;
    assert_true(access_authorized(tokens, "Bearer s3cret", false, &token));
    assert_int_equal(token, 0);
    assert_true(access_authorized(tokens, "bearer  other-token", false, &token));
    assert_int_equal(token, 1);
}

static void access_takes_the_cookie_it_wrote_and_no_other(void **state)
{
    (void)state;
    char cookie[2 * ACCESS_TOKEN_SIZE + 1];
    access_write_cookie("other-token", cookie);
    assert_true(access_cookie_ok(tokens, cookie, &token));
    assert_int_equal(token, 1);
    assert_false(access_cookie_ok(tokens, NULL, &token));
    assert_false(access_cookie_ok(tokens, "", &token));
    assert_false(access_cookie_ok(tokens, "other-token", &token));
    cookie[0] ^= 1;
    assert_false(access_cookie_ok(tokens, cookie, &token));
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

static void access_refuses_what_is_no_token(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "Bearer s3cre", "Bearer s3crets", "Bearer ",         "Bearer",        "s3cret",
        "Basic s3cret", "Bearer S3CRET",  "Bearer s3cret x", "Digest s3cret", ""
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_false(access_authorized(tokens, wrong[i], true, &token));
    assert_false(access_authorized(tokens, NULL, true, &token));
}

static void access_takes_a_token_as_password_where_a_browser_reads(void **state)
{
    (void)state;
    assert_true(
        access_authorized(tokens, "Basic bWU6czNjcmV0", true, &token)); // me:s3cret
    assert_false(access_authorized(tokens, "Basic bWU6czNjcmV0", false, &token));
    assert_false(
        access_authorized(tokens, "Basic czNjcmV0Om1l", true, &token)); // s3cret:me
}

static void access_needs_no_token_where_there_is_none(void **state)
{
    (void)state;
    assert_true(access_authorized(none, NULL, false, &token));
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

// read_file reads tokens from a file with that content; the first one, or the status.
static const char *read_file(struct folder *folder, const char *content,
                             struct access_tokens *out, enum ch_status *status)
{
    const char *path = folder_path(folder, "tokens");
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return NULL;
    (void)fputs(content, file);
    (void)fclose(file);
    *out = (struct access_tokens){ 0 };
    *status = access_read_tokens(path, out);
    return out->lines[0];
}

static void access_reads_tokens_one_a_line(void **state)
{
    struct access_tokens read;
    enum ch_status status = CH_OK;
    const char *first =
        read_file(*state, "# ours\n\n  first \r\nsecond", &read, &status);
    bool right = first != NULL && strcmp(first, "first") == 0 &&
                 strcmp(read.lines[1], "second") == 0 && read.lines[2] == NULL;
    access_tokens_deinit(&read);
    assert_int_equal(status, CH_OK);
    assert_true(right);
}

static void access_refuses_a_file_without_tokens(void **state)
{
    struct access_tokens read;
    enum ch_status status = CH_OK;
    (void)read_file(*state, "# nothing\n \n", &read, &status);
    assert_int_equal(status, CH_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_takes_any_of_the_tokens_as_bearer),
        cmocka_unit_test(access_takes_the_cookie_it_wrote_and_no_other),
        cmocka_unit_test(access_knows_forms_of_its_own_pages),
        cmocka_unit_test(access_refuses_what_is_no_token),
        cmocka_unit_test(access_takes_a_token_as_password_where_a_browser_reads),
        cmocka_unit_test(access_needs_no_token_where_there_is_none),
        cmocka_unit_test(access_answers_to_addresses_and_localhost_alone),
        cmocka_unit_test_setup_teardown(access_reads_tokens_one_a_line, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(access_refuses_a_file_without_tokens,
                                        folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests_name("collector/access", tests, NULL, NULL);
}
