// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_counts.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "report/value/report.h"
#include "support/folder.h"
#include "support/test.h"

#define ID "01928374-5566-7788-99aa-bbccddeeff00"

static const struct spool_rate two_a_second = { .count = 2, .ms = 1000 };

static struct spool open_spool(const struct folder *folder)
{
    struct spool spool = { .folder_fd = -1 };
    assert_int_equal(spool_open(folder->path, SPOOL_CREATE, &spool), CH_OK);
    return spool;
}

static bool admit_defect(const struct spool *spool, const char *executable,
                         const char *fingerprint, uint64_t unix_ms)
{
    bool admitted = false;
    const struct spool_crash crash = { ID, executable, fingerprint, unix_ms };
    assert_int_equal(spool_counts_admit(spool, &crash, two_a_second, &admitted), CH_OK);
    return admitted;
}

static bool admit(const struct spool *spool, const char *executable, uint64_t unix_ms)
{
    return admit_defect(spool, executable, "f1", unix_ms);
}

// taken moves the counts of executable to a new report and gives one of them.
static int64_t taken(const struct spool *spool, const char *executable, const char *key)
{
    bool changed = false;
    json_t *report = json_object();
    enum ch_status status = spool_counts_take(spool, executable, report, &changed);
    int64_t count = report_integer(json_object_get(report, "spool"), key, 0);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_int_equal(changed, count != 0);
    return count;
}

static void counts_hold_back_crashes_past_the_rate(void **state)
{
    struct spool spool = open_spool(*state);
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_true(admit(&spool, "/bin/a", 5001));
    assert_false(admit(&spool, "/bin/a", 5999));
    assert_true(admit(&spool, "/bin/a", 6000));
    spool_close(&spool);
}

static void counts_are_kept_per_program(void **state)
{
    struct spool spool = open_spool(*state);
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_true(admit(&spool, "/bin/b", 5000));
    assert_false(admit(&spool, "/bin/a", 5000));
    spool_close(&spool);
}

static void counts_take_a_crash_from_just_before_the_window_into_it(void **state)
{
    struct spool spool = open_spool(*state);
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_false(admit(&spool, "/bin/a", 4900));
    spool_close(&spool);
}

// The clock was years ahead during a crash loop, and was then put right.
static void counts_start_a_new_window_when_the_clock_was_put_back(void **state)
{
    struct spool spool = open_spool(*state);
    for (int i = 0; i < 5; i++)
        (void)admit(&spool, "/bin/a", UINT64_C(4000000000000));
    assert_true(admit(&spool, "/bin/a", UINT64_C(1700000000000)));
    assert_true(admit(&spool, "/bin/a", UINT64_C(1700000000001)));
    assert_false(admit(&spool, "/bin/a", UINT64_C(1700000000002)));
    spool_close(&spool);
}

static void counts_let_a_new_defect_through_a_crash_loop(void **state)
{
    struct spool spool = open_spool(*state);
    for (int i = 0; i < 9; i++)
        (void)admit(&spool, "/bin/a", 5000);
    assert_true(admit_defect(&spool, "/bin/a", "f2", 5000));
    assert_false(admit_defect(&spool, "/bin/a", "f2", 5000));
    spool_close(&spool);
}

static void counts_hold_back_a_program_that_dies_in_ever_new_ways(void **state)
{
    struct spool spool = open_spool(*state);
    int admitted = 0;
    for (int i = 0; i < 20; i++) {
        char fingerprint[16];
        (void)snprintf(fingerprint, sizeof(fingerprint), "f%d", i);
        admitted += admit_defect(&spool, "/bin/a", fingerprint, 5000);
    }
    assert_int_equal(admitted, 4);
    assert_int_equal(taken(&spool, "/bin/a", "held_back"), 16);
    spool_close(&spool);
}

static void counts_tell_how_often_each_defect_was_held_back(void **state)
{
    struct spool spool = open_spool(*state);
    json_t *report = json_object();
    bool changed = false;
    for (int i = 0; i < 5; i++)
        (void)admit(&spool, "/bin/a", 5000);
    for (int i = 0; i < 3; i++)
        (void)admit_defect(&spool, "/bin/a", "f2", 5000);
    assert_int_equal(spool_counts_take(&spool, "/bin/a", report, &changed), CH_OK);
    const json_t *told = json_object_get(report, "spool");
    const json_t *each = json_object_get(told, "held_back_by_fingerprint");
    int64_t counts[] = { report_integer(told, "held_back", 0),
                         report_integer(each, "f1", 0), report_integer(each, "f2", 0) };
    json_decref(report);
    spool_close(&spool);
    assert_int_equal(counts[0], 5);
    assert_int_equal(counts[1], 3);
    assert_int_equal(counts[2], 2);
}

// release asks for what may go so many seconds from now; it gives the id, and when the
// next one may at *next_ms.
static const char *release(const struct spool *spool, int64_t after_s, int64_t *next_ms)
{
    static struct spool_release released;
    uint64_t now_ms = (uint64_t)(time(NULL) + after_s) * 1000;
    assert_int_equal(spool_counts_release(spool, now_ms, two_a_second, &released),
                     CH_OK);
    *next_ms = released.next_ms;
    return released.id;
}

static void hold_back_three(const struct folder *folder, const struct spool *spool)
{
    assert_int_equal(folder_write(folder, ID ".json", "{}"), 0);
    for (int i = 0; i < 5; i++)
        (void)admit(spool, "/bin/a", 5000);
}

static void counts_let_the_last_report_go_when_the_time_is_over(void **state)
{
    int64_t next_ms = 0;
    struct spool spool = open_spool(*state);
    hold_back_three(*state, &spool);
    assert_string_equal(release(&spool, -1, &next_ms), "");
    assert_int_not_equal(next_ms, 0);
    assert_string_equal(release(&spool, 5, &next_ms), ID);
    assert_string_equal(release(&spool, 5, &next_ms), "");
    assert_int_equal(next_ms, 0);
    assert_int_equal(taken(&spool, "/bin/a", "held_back"), 2);
    spool_close(&spool);
}

static void counts_let_go_also_after_the_clock_was_put_back(void **state)
{
    int64_t next_ms = 0;
    struct spool spool = open_spool(*state);
    hold_back_three(*state, &spool);
    assert_string_equal(release(&spool, -3600, &next_ms), ID);
    spool_close(&spool);
}

static void counts_let_nothing_go_that_was_deleted(void **state)
{
    int64_t next_ms = 0;
    struct spool spool = open_spool(*state);
    hold_back_three(*state, &spool);
    assert_int_equal(unlink(folder_path(*state, ID ".json")), 0);
    assert_string_equal(release(&spool, 5, &next_ms), "");
    assert_int_equal(taken(&spool, "/bin/a", "held_back"), 3);
    spool_close(&spool);
}

static void counts_of_programs_that_were_forgotten_are_still_told(void **state)
{
    struct spool spool = open_spool(*state);
    char programs[16384] = "{\"programs\":{\"/bin/a\":{\"held_back\":7}";
    size_t length = strlen(programs);
    for (int i = 0; i < 255; i++)
        length += (size_t)snprintf(programs + length, sizeof(programs) - length,
                                   ",\"/bin/%d\":{\"count\":1}", i);
    (void)snprintf(programs + length, sizeof(programs) - length, "}}");
    assert_int_equal(folder_write(*state, "counts.json", programs), 0);
    assert_true(admit(&spool, "/bin/new", 5000));
    assert_int_equal(taken(&spool, "/bin/other", "held_back"), 7);
    spool_close(&spool);
}

static void counts_travel_with_the_next_report_once(void **state)
{
    struct spool spool = open_spool(*state);
    for (int i = 0; i < 5; i++)
        (void)admit(&spool, "/bin/a", 5000);
    assert_int_equal(spool_counts_add_dropped(&spool, 4), CH_OK);
    assert_int_equal(taken(&spool, "/bin/a", "held_back"), 3);
    assert_int_equal(taken(&spool, "/bin/a", "held_back"), 0);
    assert_int_equal(spool_counts_add_dropped(&spool, 2), CH_OK);
    assert_int_equal(taken(&spool, "/bin/none", "dropped"), 2);
    spool_close(&spool);
}

static void counts_start_anew_where_the_file_is_damaged(void **state)
{
    static const char *const damaged[] = { "", "{", "[1]", "{\"programs\":3}",
                                           "{\"programs\":{\"/bin/a\":7}}" };
    struct spool spool = open_spool(*state);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        assert_int_equal(folder_write(*state, "counts.json", damaged[i]), 0);
        assert_true(admit(&spool, "/bin/a", 5000));
        assert_true(admit(&spool, "/bin/a", 5000));
        assert_false(admit(&spool, "/bin/a", 5000));
    }
    spool_close(&spool);
}

static void counts_are_whole_when_their_file_is_written_over(void **state)
{
    const struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char path[PATH_MAX];
    struct stat first;
    struct stat then;
    (void)snprintf(path, sizeof(path), "%s/counts.json", folder->path);
    assert_true(admit(&spool, "/bin/a-long-name", 5000));
    assert_int_equal(stat(path, &first), 0);
    assert_true(admit(&spool, "/bin/a-long-name", 5000));
    assert_false(admit(&spool, "/bin/a-long-name", 5000));
    assert_int_equal(stat(path, &then), 0);
    assert_int_equal(taken(&spool, "/bin/a-long-name", "held_back"), 1);
    // What is written now is shorter.
    assert_true(admit(&spool, "/bin/a-long-name", 9000));
    assert_true(admit(&spool, "/bin/a-long-name", 9000));
    assert_false(admit(&spool, "/bin/a-long-name", 9000));
    assert_true(first.st_ino == then.st_ino);
    spool_close(&spool);
}

// Another name of the file would have to keep what it has.
static void counts_leave_a_file_with_two_names_alone(void **state)
{
    const struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char path[PATH_MAX];
    char copy[PATH_MAX];
    struct stat before;
    struct stat after;
    (void)snprintf(path, sizeof(path), "%s/counts.json", folder->path);
    (void)snprintf(copy, sizeof(copy), "%s/copy", folder->path);
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_int_equal(link(path, copy), 0);
    assert_int_equal(stat(copy, &before), 0);
    assert_true(admit(&spool, "/bin/a", 5000));
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino != after.st_ino);
    assert_false(admit(&spool, "/bin/a", 5000));
    spool_close(&spool);
}

// Eight processes that crash at once are counted as eight.
static void counts_are_right_when_many_processes_count_at_once(void **state)
{
    enum { PROCESSES = 8, CRASHES = 20 };
    struct spool spool = open_spool(*state);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() != 0)
            continue;
        bool admitted;
        const struct spool_crash crash = { ID, "/bin/a", "f1", 5000 };
        enum ch_status status = CH_OK;
        for (int k = 0; k < CRASHES && status == CH_OK; k++)
            status = spool_counts_admit(&spool, &crash, two_a_second, &admitted);
        _exit(status);
    }
    int failures = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        (void)wait(&status);
        failures += status != 0;
    }
    assert_int_equal(failures, 0);
    assert_int_equal(taken(&spool, "/bin/a", "held_back"), PROCESSES * CRASHES - 2);
    spool_close(&spool);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_hold_back_crashes_past_the_rate),
        TEST(counts_are_kept_per_program),
        TEST(counts_take_a_crash_from_just_before_the_window_into_it),
        TEST(counts_start_a_new_window_when_the_clock_was_put_back),
        TEST(counts_let_a_new_defect_through_a_crash_loop),
        TEST(counts_hold_back_a_program_that_dies_in_ever_new_ways),
        TEST(counts_tell_how_often_each_defect_was_held_back),
        TEST(counts_let_the_last_report_go_when_the_time_is_over),
        TEST(counts_let_go_also_after_the_clock_was_put_back),
        TEST(counts_let_nothing_go_that_was_deleted),
        TEST(counts_of_programs_that_were_forgotten_are_still_told),
        TEST(counts_travel_with_the_next_report_once),
        TEST(counts_start_anew_where_the_file_is_damaged),
        TEST(counts_are_whole_when_their_file_is_written_over),
        TEST(counts_leave_a_file_with_two_names_alone),
        TEST(counts_are_right_when_many_processes_count_at_once),
    };
    return cmocka_run_group_tests_name("report/spool_counts", tests, NULL, NULL);
}
