// SPDX-License-Identifier: Apache-2.0
#include "report/spool/spool_state.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/file/report_id.h"
#include "report/value/report.h"
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

enum { NOW = 1700000000, YEAR = 365 * 86400 };

static struct spool_waits waits_for(int64_t seconds)
{
    return (struct spool_waits){ .reports = { .noted = NOW, .until = NOW + seconds } };
}

static void write_waits(const struct spool *spool, const char *url, int64_t seconds)
{
    const struct spool_waits waits = waits_for(seconds);
    assert_int_equal(spool_waits_write(spool, url, &waits, NOW), CH_OK);
}

static void wait_is_over_when_its_time_has_come(void **state)
{
    (void)state;
    const struct spool_wait wait = { .noted = NOW, .until = NOW + 600 };
    assert_false(spool_wait_over(&wait, NOW));
    assert_false(spool_wait_over(&wait, NOW + 599));
    assert_true(spool_wait_over(&wait, NOW + 600));
}

static void wait_is_over_when_the_clock_was_put_back(void **state)
{
    (void)state;
    const struct spool_wait wait = { .noted = NOW, .until = NOW + 600 };
    assert_true(spool_wait_over(&wait, NOW - 3600));
    assert_true(spool_wait_over(&wait, NOW - YEAR));
    assert_false(spool_wait_over(&wait, NOW - 1));
}

static void wait_without_its_beginning_never_lasts_longer_than_a_day(void **state)
{
    (void)state;
    const struct spool_wait wait = { .noted = 0, .until = NOW + YEAR };
    assert_true(spool_wait_over(&wait, NOW));
    assert_false(spool_wait_over(&wait, NOW + YEAR - 3600));
}

static void waits_are_kept_by_target(void **state)
{
    struct spool spool = open_spool(*state);
    write_waits(&spool, "http://a", 600);
    write_waits(&spool, "http://b", 60);
    int64_t until[] = { spool_waits_read(&spool, "http://a").reports.until,
                        spool_waits_read(&spool, "http://b").reports.until,
                        spool_waits_read(&spool, "http://c").reports.until };
    spool_close(&spool);
    assert_int_equal(until[0], NOW + 600);
    assert_int_equal(until[1], NOW + 60);
    assert_int_equal(until[2], 0);
}

static void waits_that_are_over_are_forgotten(void **state)
{
    struct spool spool = open_spool(*state);
    const struct spool_waits later = waits_for(3600);
    write_waits(&spool, "http://a", 60);
    assert_int_equal(spool_waits_write(&spool, "http://b", &later, NOW + 61), CH_OK);
    int64_t until = spool_waits_read(&spool, "http://a").reports.until;
    spool_close(&spool);
    assert_int_equal(until, 0);
}

static void waits_start_anew_where_the_file_is_damaged(void **state)
{
    static const char *const damaged[] = {
        "",
        "{",
        "[]",
        "{\"targets\":7}",
        "{\"targets\":{\"http://a\":[]}}",
        "{\"targets\":{\"http://a\":{\"reports\":\"x\",\"attachments\":[\"y\"]}}}"
    };
    struct spool spool = open_spool(*state);
    for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
        assert_int_equal(folder_write(*state, "waits.json", damaged[i]), 0);
        assert_int_equal(spool_waits_read(&spool, "http://a").reports.until, 0);
        write_waits(&spool, "http://a", 600);
        assert_int_equal(spool_waits_read(&spool, "http://a").reports.until, NOW + 600);
    }
    spool_close(&spool);
}

// A watcher of the folder must not be woken by its own looking.
static void waits_are_read_without_leaving_a_trace(void **state)
{
    struct spool spool = open_spool(*state);
    (void)spool_waits_read(&spool, "http://a");
    bool there = access(folder_path(*state, "waits.lock"), F_OK) == 0;
    spool_close(&spool);
    assert_false(there);
}

static const struct spool_rate two_a_second = { .count = 2, .ms = 1000 };

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

static void counts_are_released_also_after_the_clock_was_put_back(void **state)
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

#define SPOOL_PRUNE_ID(n) "0192837" #n "-5566-7788-99aa-bbccddeeff00"

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
    add(folder, &spool, SPOOL_PRUNE_ID(1), -1);
    add(folder, &spool, SPOOL_PRUNE_ID(2), TARGET_PENDING);
    add(folder, &spool, SPOOL_PRUNE_ID(3), TARGET_SENT);
    add(folder, &spool, SPOOL_PRUNE_ID(4), TARGET_SENT);

    assert_int_equal(spool_prune(&spool, (struct spool_caps){ 3, 1000, 0 }, NULL, note,
                                 dropped, &over),
                     CH_OK);
    assert_true(folder_has(folder, SPOOL_PRUNE_ID(1) ".json"));
    assert_false(folder_has(folder, SPOOL_PRUNE_ID(3) ".json"));
    assert_false(folder_has(folder, SPOOL_PRUNE_ID(3) ".state"));
    assert_true(folder_has(folder, SPOOL_PRUNE_ID(4) ".json"));
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
    add(folder, &spool, SPOOL_PRUNE_ID(1), -1);
    add(folder, &spool, SPOOL_PRUNE_ID(2), TARGET_PENDING);
    add(folder, &spool, SPOOL_PRUNE_ID(3), TARGET_FAILED);
    add(folder, &spool, SPOOL_PRUNE_ID(4), TARGET_SENT);
    add(folder, &spool, fresh, TARGET_SENT);

    assert_int_equal(spool_prune(&spool, caps, NULL, note, dropped, &over), CH_OK);
    assert_true(folder_has(folder, SPOOL_PRUNE_ID(1) ".json"));
    assert_true(folder_has(folder, SPOOL_PRUNE_ID(2) ".json"));
    assert_true(folder_has(folder, SPOOL_PRUNE_ID(3) ".json"));
    assert_false(folder_has(folder, SPOOL_PRUNE_ID(4) ".json"));
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
    add(folder, &spool, SPOOL_PRUNE_ID(1), -1);
    add(folder, &spool, SPOOL_PRUNE_ID(2), TARGET_FAILED);
    add(folder, &spool, SPOOL_PRUNE_ID(3), TARGET_PENDING);

    enum ch_status status = spool_prune(&spool, (struct spool_caps){ 9, 15, 0 }, NULL,
                                        note, dropped, &over);
    if (status == CH_OK)
        status = spool_counts_take(&spool, "/bin/a", report, &changed);
    int64_t count = report_integer(json_object_get(report, "spool"), "dropped", 0);
    json_decref(report);
    assert_int_equal(status, CH_OK);
    assert_string_equal(dropped, SPOOL_PRUNE_ID(1) SPOOL_PRUNE_ID(2));
    assert_int_equal(count, 2);
    assert_true(folder_has(folder, SPOOL_PRUNE_ID(3) ".json"));
    spool_close(&spool);
}

static void prune_leaves_reports_that_somebody_works_on(void **state)
{
    struct folder *folder = *state;
    struct spool spool = open_spool(folder);
    char dropped[256] = "";
    bool over = true;
    int fd = -1;
    add(folder, &spool, SPOOL_PRUNE_ID(1), -1);
    add(folder, &spool, SPOOL_PRUNE_ID(2), -1);
    add(folder, &spool, SPOOL_PRUNE_ID(3), -1);
    assert_int_equal(spool_lock(&spool, SPOOL_PRUNE_ID(1), &fd), CH_OK);

    assert_int_equal(spool_prune(&spool, (struct spool_caps){ 1, 1000, 0 },
                                 SPOOL_PRUNE_ID(2), note, dropped, &over),
                     CH_OK);
    assert_string_equal(dropped, SPOOL_PRUNE_ID(3));
    assert_true(over);
    close(fd);
    assert_int_equal(spool_prune(&spool, (struct spool_caps){ 1, 1000, 0 },
                                 SPOOL_PRUNE_ID(2), note, dropped, &over),
                     CH_OK);
    assert_string_equal(dropped, SPOOL_PRUNE_ID(3) SPOOL_PRUNE_ID(1));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(state_survives_writing_and_reading),
        TEST(state_of_a_report_without_one_is_empty),
        TEST(state_that_is_damaged_is_said_to_be_and_empty),
        TEST(state_is_not_read_through_a_link),
        TEST(state_is_settled_once_no_target_waits),
        TEST(state_limits_how_many_targets_a_report_has),
        cmocka_unit_test(wait_is_over_when_its_time_has_come),
        cmocka_unit_test(wait_is_over_when_the_clock_was_put_back),
        cmocka_unit_test(wait_without_its_beginning_never_lasts_longer_than_a_day),
        TEST(waits_are_kept_by_target),
        TEST(waits_that_are_over_are_forgotten),
        TEST(waits_start_anew_where_the_file_is_damaged),
        TEST(waits_are_read_without_leaving_a_trace),
        TEST(counts_hold_back_crashes_past_the_rate),
        TEST(counts_are_kept_per_program),
        TEST(counts_take_a_crash_from_just_before_the_window_into_it),
        TEST(counts_start_a_new_window_when_the_clock_was_put_back),
        TEST(counts_let_a_new_defect_through_a_crash_loop),
        TEST(counts_hold_back_a_program_that_dies_in_ever_new_ways),
        TEST(counts_tell_how_often_each_defect_was_held_back),
        TEST(counts_let_the_last_report_go_when_the_time_is_over),
        TEST(counts_are_released_also_after_the_clock_was_put_back),
        TEST(counts_let_nothing_go_that_was_deleted),
        TEST(counts_of_programs_that_were_forgotten_are_still_told),
        TEST(counts_travel_with_the_next_report_once),
        TEST(counts_start_anew_where_the_file_is_damaged),
        TEST(counts_are_whole_when_their_file_is_written_over),
        TEST(counts_leave_a_file_with_two_names_alone),
        TEST(counts_are_right_when_many_processes_count_at_once),
        TEST(prune_takes_sent_reports_before_unsent_ones),
        TEST(prune_lets_go_by_age_of_what_was_sent_alone),
        TEST(prune_says_and_counts_which_unsent_reports_it_drops),
        TEST(prune_leaves_reports_that_somebody_works_on),
        TEST(prune_by_many_at_once_deletes_no_more_than_by_one),
    };
    return cmocka_run_group_tests_name("report/spool_state", tests, NULL, NULL);
}
