// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_prune.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/file/report_id.h"
#include "report/spool/spool_counts.h"
#include "report/spool/spool_state.h"
#include "report/value/report.h"
#include "support/folder.h"
#include "support/test.h"

#define ID(n) "0192837" #n "-5566-7788-99aa-bbccddeeff00"

static struct spool open_spool(const struct folder *folder)
{
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(spool_open(folder->path, SPOOL_CREATE, &spool), CH_OK);
    return spool;
}

// add makes a report of ten bytes with one target in this state; -1: no state at all.
static void add(const struct folder *folder, const struct spool *spool, const char *id,
                int target_state)
{
    char name[64];
    struct spool_state state = { 0 };
    (void)snprintf(name, sizeof(name), "%s.json", id);
    assert_int_equal(folder_write(folder, name, "0123456789"), 0);
    if (target_state < 0)
        return;
    spool_target_fail(spool_state_target(&state, "http://a"),
                      (enum spool_target_state)target_state, NULL);
    enum ch_status status = spool_state_write(spool, id, &state);
    spool_state_deinit(&state);
    assert_int_equal(status, CH_OK);
}

static void note(void *context, const char *id)
{
    char *ids = context;
    memcpy(ids + strlen(ids), id, strlen(id) + 1);
}

static void prune_takes_sent_reports_before_unsent_ones(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char dropped[256] = "";
    bool over = true;
    add(folder, &spool, ID(1), -1);
    add(folder, &spool, ID(2), TARGET_PENDING);
    add(folder, &spool, ID(3), TARGET_SENT);
    add(folder, &spool, ID(4), TARGET_SENT);

    assert_int_equal(spool_prune(&spool, (struct spool_caps){ 3, 1000, 0 }, NULL, note,
                                 dropped, &over),
                     CH_OK);
    assert_true(folder_has(folder, ID(1) ".json"));
    assert_false(folder_has(folder, ID(3) ".json"));
    assert_false(folder_has(folder, ID(3) ".state"));
    assert_true(folder_has(folder, ID(4) ".json"));
    assert_string_equal(dropped, "");
    spool_close(&spool);
}

static void prune_lets_go_by_age_of_what_was_sent_alone(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    const struct spool_caps caps = { 64, 1000, .sent_age_s = 86400 };
    char dropped[256] = "";
    bool over = true;
    char fresh[REPORT_ID_SIZE];
    char name[64];
    report_id_make((uint64_t)time(NULL) * 1000, fresh);
    (void)snprintf(name, sizeof(name), "%s.json", fresh);
    add(folder, &spool, ID(1), -1);
    add(folder, &spool, ID(2), TARGET_PENDING);
    add(folder, &spool, ID(3), TARGET_FAILED);
    add(folder, &spool, ID(4), TARGET_SENT);
    add(folder, &spool, fresh, TARGET_SENT);

    assert_int_equal(spool_prune(&spool, caps, NULL, note, dropped, &over), CH_OK);
    assert_true(folder_has(folder, ID(1) ".json"));
    assert_true(folder_has(folder, ID(2) ".json"));
    assert_true(folder_has(folder, ID(3) ".json"));
    assert_false(folder_has(folder, ID(4) ".json"));
    assert_true(folder_has(folder, name));
    assert_string_equal(dropped, "");
    spool_close(&spool);
}

static void prune_says_and_counts_which_unsent_reports_it_drops(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char dropped[256] = "";
    bool over = true;
    bool changed = false;
    json_t *report = json_object();
    add(folder, &spool, ID(1), -1);
    add(folder, &spool, ID(2), TARGET_FAILED);
    add(folder, &spool, ID(3), TARGET_PENDING);

    enum ch_status status = spool_prune(&spool, (struct spool_caps){ 9, 15, 0 }, NULL,
                                        note, dropped, &over);
    if (status == CH_OK)
        status = spool_counts_take(&spool, "/bin/a", report, &changed);
    int64_t count = report_integer(json_object_get(report, "spool"), "dropped", 0);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_string_equal(dropped, ID(1) ID(2));
    assert_int_equal(count, 2);
    assert_true(folder_has(folder, ID(3) ".json"));
    spool_close(&spool);
}

static void prune_leaves_reports_that_somebody_works_on(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char dropped[256] = "";
    bool over = true;
    int fd = -1;
    add(folder, &spool, ID(1), -1);
    add(folder, &spool, ID(2), -1);
    add(folder, &spool, ID(3), -1);
    assert_int_equal(spool_lock(&spool, ID(1), &fd), CH_OK);

    assert_int_equal(spool_prune(&spool, (struct spool_caps){ 1, 1000, 0 }, ID(2), note,
                                 dropped, &over),
                     CH_OK);
    assert_string_equal(dropped, ID(3));
    assert_true(over);
    close(fd);
    assert_int_equal(spool_prune(&spool, (struct spool_caps){ 1, 1000, 0 }, ID(2), note,
                                 dropped, &over),
                     CH_OK);
    assert_string_equal(dropped, ID(3) ID(1));
    assert_false(over);
    spool_close(&spool);
}

static void ignore(void *context, const char *id)
{
    (void)context;
    (void)id;
}

static void prune_by_many_at_once_deletes_no_more_than_by_one(void **state)
{
    enum { PRUNERS = 8, REPORTS = 400, KEPT = 200 };
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    struct spool_listing left = { 0 };
    pid_t pruners[PRUNERS];
    int failed = 0;
    int gate[2] = { -1, -1 };
    assert_int_equal(pipe(gate), 0);
    for (int i = 0; i < REPORTS; i++) {
        char id[REPORT_ID_SIZE];
        (void)snprintf(id, sizeof(id), "01928370-%04x-7788-99aa-bbccddeeff00", i);
        add(folder, &spool, id, -1);
    }
    for (int i = 0; i < PRUNERS; i++) {
        pruners[i] = fork();
        if (pruners[i] == 0) {
            bool over = false;
            close(gate[1]);
            (void)!read(gate[0], &over, 1); // all at once
            enum ch_status status =
                spool_prune(&spool, (struct spool_caps){ KEPT, 1 << 20, 0 }, NULL,
                            ignore, NULL, &over);
            _exit(status != CH_OK || over);
        }
    }
    close(gate[1]);
    close(gate[0]);
    for (int i = 0; i < PRUNERS; i++) {
        int status = -1;
        failed += waitpid(pruners[i], &status, 0) != pruners[i] || status != 0;
    }
    enum ch_status status = spool_list(&spool, &left);
    size_t count = left.count;
    spool_listing_deinit(&left);
    spool_close(&spool);
    assert_int_equal(status, CH_OK);
    assert_int_equal(failed, 0);
    assert_int_equal(count, KEPT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prune_takes_sent_reports_before_unsent_ones),
        TEST(prune_lets_go_by_age_of_what_was_sent_alone),
        TEST(prune_says_and_counts_which_unsent_reports_it_drops),
        TEST(prune_leaves_reports_that_somebody_works_on),
        TEST(prune_by_many_at_once_deletes_no_more_than_by_one),
    };
    return cmocka_run_group_tests_name("report/spool_prune", tests, NULL, NULL);
}
