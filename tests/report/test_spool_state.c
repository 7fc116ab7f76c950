// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_state.h"

#include "support/folder.h"
#include "support/test.h"

#define ID "01928374-5566-7788-99aa-bbccddeeff00"
#define URL "http://collector:8765"

static struct spool open_spool(const struct folder *folder)
{
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(spool_open(folder->path, SPOOL_CREATE, &spool), CH_OK);
    return spool;
}

static void state_survives_writing_and_reading(void **state)
{
    struct spool spool = open_spool(*state);
    struct spool_state written = { 0 };
    struct spool_state read = { 0 };
    struct spool_target *target = spool_state_target(&written, URL);
    assert_non_null(target);
    target->attempts = 3;
    target->wait.until = 1700000000;
    spool_target_fail(target, TARGET_PENDING, "connection refused");

    enum ch_status status = spool_state_write(&spool, ID, &written);
    assert_int_equal(status, CH_OK);
    status = spool_state_read(&spool, ID, &read);
    bool same =
        status == CH_OK && read.count == 1 && strcmp(read.targets[0].url, URL) == 0 &&
        read.targets[0].attempts == 3 && read.targets[0].wait.until == 1700000000 &&
        read.targets[0].state == TARGET_PENDING &&
        strcmp(read.targets[0].error, "connection refused") == 0;
    spool_state_deinit(&written);
    spool_state_deinit(&read);
    spool_close(&spool);
    assert_true(same);
}

static void state_of_a_report_without_one_is_empty(void **state)
{
    struct spool spool = open_spool(*state);
    struct spool_state read;
    assert_int_equal(spool_state_read(&spool, ID, &read), CH_OK);
    assert_int_equal(read.count, 0);
    assert_false(spool_state_settled(&read));
    spool_close(&spool);
}

static void state_that_is_damaged_is_said_to_be_and_empty(void **state)
{
    static const char *const damaged[] = {
        "",
        "{",
        "[]",
        "{\"targets\":{}}",
        "{\"targets\":[{\"url\":\"x\",\"state\":\"perhaps\"}]}",
        "{\"targets\":[{\"state\":\"sent\"}]}",
        "{\"targets\":[{\"url\":\"x\",\"state\":\"sent\",\"attempts\":-1}]}",
    };
    struct spool spool = open_spool(*state);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        struct spool_state read;
        assert_int_equal(folder_write(*state, ID ".state", damaged[i]), 0);
        assert_int_equal(spool_state_read(&spool, ID, &read), CH_ERR_MALFORMED);
        assert_int_equal(read.count, 0);
    }
    spool_close(&spool);
}

static void state_is_not_read_through_a_link(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    struct spool_state read;
    assert_int_equal(symlink("/etc/passwd", folder_path(folder, ID ".state")), 0);
    assert_int_equal(spool_state_read(&spool, ID, &read), CH_ERR_IO);
    spool_close(&spool);
}

static void state_is_settled_once_no_target_waits(void **state)
{
    (void)state;
    struct spool_state targets = { 0 };
    spool_target_fail(spool_state_target(&targets, "http://a"), TARGET_SENT, NULL);
    spool_target_fail(spool_state_target(&targets, "http://b"), TARGET_FAILED, "413");
    bool with_a_failure = spool_state_settled(&targets);
    spool_target_fail(spool_state_target(&targets, "http://b"), TARGET_SKIPPED, NULL);
    bool without = spool_state_settled(&targets);
    size_t count = targets.count;
    spool_state_deinit(&targets);
    assert_false(with_a_failure);
    assert_true(without);
    assert_int_equal(count, 2);
}

static void state_limits_how_many_targets_a_report_has(void **state)
{
    (void)state;
    struct spool_state targets = { 0 };
    char url[32];
    int added = 0;
    for (; added < 1000; added++) {
        (void)snprintf(url, sizeof(url), "http://%d", added);
        if (spool_state_target(&targets, url) == NULL)
            break;
    }
    spool_state_deinit(&targets);
    assert_int_equal(added, 64);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(state_survives_writing_and_reading),
        TEST(state_of_a_report_without_one_is_empty),
        TEST(state_that_is_damaged_is_said_to_be_and_empty),
        TEST(state_is_not_read_through_a_link),
        TEST(state_is_settled_once_no_target_waits),
        TEST(state_limits_how_many_targets_a_report_has),
    };
    return cmocka_run_group_tests_name("report/spool_state", tests, NULL, NULL);
}
