// SPDX-License-Identifier: Apache-2.0
#include "agent/live/keep.h"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "support/bytes.h"
#include "support/folder.h"
#include "support/test.h"

static const char asked_status[] = "Name:\tx\nSigPnd:\t0000000000000000\n"
                                   "ShdPnd:\t0000000000004100\nSigBlk:\t0\n";

static void keep_sees_a_request_that_a_stuck_process_cannot_take(void **state)
{
    (void)state;
    struct context_liveness liveness = { 0 };
    keep_parse_status(asked_status, &liveness); // SIGTERM and SIGKILL
    assert_int_equal(liveness.asked_signal, SIGTERM);
    assert_int_equal(liveness.asked_by, 0);
    assert_true(liveness.asked_realtime_ns != 0);
}

static void keep_leaves_a_request_that_it_knows(void **state)
{
    (void)state;
    struct context_liveness liveness = { .asked_signal = SIGHUP, .asked_by = 7 };
    keep_parse_status(asked_status, &liveness);
    assert_int_equal(liveness.asked_signal, SIGHUP);
    assert_int_equal(liveness.asked_by, 7);
}

static int parse_cut_status(const uint8_t *bytes, size_t size, void *context)
{
    struct context_liveness liveness = { 0 };
    char text[sizeof(asked_status)] = "";
    (void)context;
    memcpy(text, bytes, size);
    keep_parse_status(text, &liveness);
    return liveness.asked_signal != 0 && liveness.asked_signal != SIGTERM &&
           size >= sizeof(asked_status) - 10;
}

static void keep_survives_a_status_that_is_cut_anywhere(void **state)
{
    (void)state;
    assert_int_equal(bytes_cut_everywhere((const uint8_t *)asked_status,
                                          sizeof(asked_status) - 1, parse_cut_status,
                                          NULL),
                     0);
}

static void keep_notes_who_asks_and_not_what_a_program_tells_itself(void **state)
{
    (void)state;
    struct keep keep = { .usage = { .pid = getpid() } };
    siginfo_t info = { .si_signo = SIGTERM, .si_code = SI_USER };
    info.si_pid = getpid();
    assert_false(keep_asked(&keep, SIGTERM, &info));
    info.si_pid = getppid();
    assert_false(keep_asked(&keep, SIGUSR1, &info));
    assert_true(keep_asked(&keep, SIGTERM, &info));
    assert_int_equal(keep.liveness.asked_by, getppid());
    assert_true(keep.liveness.asked_by_name[0] != 0);
    info.si_pid = 0;
    assert_true(keep_asked(&keep, SIGINT, &info));
    assert_int_equal(keep.liveness.asked_by, LIVENESS_ASKED_OUTSIDE);
}

static void keep_looks_often_at_first(void **state)
{
    (void)state;
    uint64_t pause = keep_pause_ms(0);
    assert_true(pause < 20);
    for (int i = 0; i < 20; i++)
        pause = keep_pause_ms(pause);
    assert_int_equal(pause, 1000);
}

// The readers of cgroups against folders that are made here: a machine has one version
// of them, and its kernel writes no nonsense.

static const char local_events[] = "low 0\nhigh 3\nmax 90\noom 2\noom_kill 1\n"
                                   "oom_group_kill 1\n";
static const char pressure[] = "some avg10=12.34 avg60=1.00 avg300=0.10 total=12345\n"
                               "full avg10=3.05 avg60=0.00 avg300=0.00 total=345\n";

static void make_folder(const struct folder *root, const char *path)
{
    for (const char *at = path; at != NULL;) {
        char part[128];
        at = strchr(at + 1, '/');
        (void)snprintf(part, sizeof(part), "%.*s",
                       at != NULL ? (int)(at - path) : (int)strlen(path), path);
        (void)mkdir(folder_path(root, part), 0700);
    }
}

static void group_write(const struct folder *root, const char *group, const char *name,
                        const char *content)
{
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", group, name);
    assert_int_equal(folder_write(root, path, content), 0);
}

// make_unified makes a pod's cgroup of version 2 with a container's in it, that alone
// has a limit.
static void make_unified(const struct folder *root, const char *limit)
{
    static const char pod[] = "sys/fs/cgroup/pod";
    static const char own[] = "sys/fs/cgroup/pod/own";
    make_folder(root, own);
    group_write(root, "sys/fs/cgroup", "memory.current", "900000000\n");
    group_write(root, pod, "memory.current", "80000000\n");
    group_write(root, pod, "memory.max", "max\n");
    group_write(root, pod, "memory.events.local", "oom 0\noom_kill 0\n");
    group_write(root, pod, "memory.events", "oom 7\noom_kill 7\n");
    group_write(root, own, "memory.current", "50000000\n");
    group_write(root, own, "memory.max", limit);
    group_write(root, own, "memory.peak", "60000000\n");
    group_write(root, own, "memory.events.local", local_events);
    group_write(root, own, "memory.events", "oom 9\noom_kill 9\n");
    group_write(root, own, "memory.pressure", pressure);
}

static void use_unified(const struct folder *root, struct usage *out)
{
    *out = (struct usage){ .pid = getpid() };
    usage_find(out, root->path, "1:name=systemd:/pod/own\n0::/pod/own\n");
}

static void usage_reads_what_version_2_counts(void **state)
{
    struct usage usage;
    struct context_liveness liveness = { 0 };
    struct liveness_events events;
    make_unified(*state, "60000000\n");
    use_unified(*state, &usage);
    assert_true(usage.unified);
    usage_sample(&usage, 0, &liveness);
    assert_int_equal(liveness.limit_bytes, 60000000);
    assert_int_equal(liveness.peak_bytes, 60000000);
    assert_int_equal(liveness.sample[0].cgroup_bytes, 50000000);
    assert_int_equal(liveness.sample[0].some_waited, 1234);
    assert_int_equal(liveness.sample[0].all_waited, 305);
    assert_true(liveness.sample[0].rss_bytes > 0);
    usage_events(&usage, &events);
    assert_int_equal(events.oom_kills, 1);
    assert_int_equal(events.group_kills, 1);
    assert_int_equal(events.ooms, 2);
}

static void usage_counts_what_the_group_with_the_lowest_limit_uses(void **state)
{
    struct usage usage;
    struct context_liveness liveness = { 0 };
    make_unified(*state, "max\n");
    group_write(*state, "sys/fs/cgroup/pod", "memory.max", "100000000\n");
    group_write(*state, "sys/fs/cgroup/pod", "memory.events.local",
                "oom 4\noom_kill 0\n");
    use_unified(*state, &usage);
    usage_sample(&usage, 0, &liveness);
    assert_int_equal(liveness.limit_bytes, 100000000);
    assert_int_equal(liveness.sample[0].cgroup_bytes, 80000000);
    // Kills are counted where the process is, a limit that is reached where it is.
    struct liveness_events events;
    usage_events(&usage, &events);
    assert_int_equal(events.oom_kills, 1);
    assert_int_equal(events.ooms, 6);
}

static void usage_takes_the_sum_of_events_before_linux_5_2(void **state)
{
    const struct folder *root = *state;
    struct usage usage;
    struct liveness_events events;
    make_unified(root, "60000000\n");
    assert_int_equal(
        remove(folder_path(root, "sys/fs/cgroup/pod/own/memory.events.local")), 0);
    use_unified(root, &usage);
    usage_events(&usage, &events);
    assert_int_equal(events.oom_kills, 9);
    assert_int_equal(events.ooms, 9);
}

static void usage_reads_what_version_1_counts(void **state)
{
    static const char group[] = "sys/fs/cgroup/memory/own";
    struct usage usage = { .pid = getpid() };
    struct context_liveness liveness = { 0 };
    struct liveness_events events;
    make_folder(*state, group);
    make_folder(*state, "proc/pressure");
    group_write(*state, "proc/pressure", "memory", pressure);
    group_write(*state, group, "memory.usage_in_bytes", "40000000\n");
    group_write(*state, group, "memory.limit_in_bytes", "60000000\n");
    group_write(*state, group, "memory.max_usage_in_bytes", "59000000\n");
    group_write(*state, group, "memory.failcnt", "17\n");
    group_write(*state, group, "memory.oom_control",
                "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
    usage_find(&usage, ((struct folder *)*state)->path,
               "4:memory:/own\n1:name=systemd:/\n0::/none\n");
    assert_false(usage.unified);
    usage_sample(&usage, 0, &liveness);
    assert_int_equal(liveness.limit_bytes, 60000000);
    assert_int_equal(liveness.peak_bytes, 59000000);
    assert_int_equal(liveness.sample[0].cgroup_bytes, 40000000);
    assert_int_equal(liveness.sample[0].some_waited, 1234); // the machine's
    usage_events(&usage, &events);
    assert_int_equal(events.oom_kills, 3);
    assert_int_equal(events.ooms, 17);
}

static void usage_takes_no_sample_of_a_process_that_the_kernel_has_emptied(void **state)
{
    const struct usage usage = { .pid = getpid() };
    struct context_liveness liveness = { .samples = 1 };
    (void)state;
    liveness.sample[0].rss_bytes = UINT64_C(1) << 40;
    usage_sample_end(&usage, &liveness);
    assert_int_equal(liveness.samples, 1);
    liveness.sample[0].rss_bytes = 4096;
    usage_sample_end(&usage, &liveness);
    assert_int_equal(liveness.samples, 2);
    liveness.events.oom_kills = 1; // it counts as it was at its largest
    usage_sample_end(&usage, &liveness);
    assert_int_equal(liveness.samples, 3);
    assert_true(liveness.sample[2].rss_bytes >= liveness.sample[1].rss_bytes / 8 * 7);
}

static void usage_leaves_no_hierarchy_and_follows_no_path_out_of_it(void **state)
{
    static const char *const lines[] = {
        "0::/../../pod/own\n",
        "0::/pod/../pod/own\n",
        "4:memory:/../own\n",
        "0::",
        "",
        "0::/",
        "4:memory:",
        ":memory:\n0::\n",
    };
    const struct folder *root = *state;
    make_unified(root, "60000000\n");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct usage usage = { .pid = getpid() };
        struct context_liveness liveness = { 0 };
        usage_find(&usage, root->path, lines[i]);
        assert_null(strstr(usage.folder, ".."));
        assert_null(strstr(usage.pressure, ".."));
        usage_sample(&usage, 0, &liveness);
        assert_int_equal(liveness.limit_bytes, 0); // the root has none
    }
    struct usage usage = { 0 };
    char path[2 * PATH_MAX] = "0::/";
    memset(path + 4, 'a', sizeof(path) - 5);
    usage_find(&usage, root->path, path);
    assert_string_equal(usage.folder, "");
}

static void usage_takes_no_nonsense_for_a_number(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "-1\n",
        "max\n",
        "99999999999999999999999999\n",
        "0x10\n",
        " ",
        "\n\n5",
        "oom_kill\n",
        "oom_kill -4\n",
        "oom -1\n",
        "some avg10=\nfull avg10=x",
        "some avg10=1e9 \nfull avg10=-3.00",
    };
    const struct folder *root = *state;
    static const char own[] = "sys/fs/cgroup/pod/own";
    make_unified(root, "max\n");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct usage usage;
        struct context_liveness liveness = { 0 };
        struct liveness_events events;
        group_write(root, own, "memory.max", texts[i]);
        group_write(root, own, "memory.events.local", texts[i]);
        group_write(root, own, "memory.peak", texts[i]);
        group_write(root, own, "memory.current", texts[i]);
        group_write(root, own, "memory.pressure", texts[i]);
        use_unified(root, &usage);
        usage_sample(&usage, 0, &liveness);
        usage_events(&usage, &events);
        assert_int_equal(liveness.limit_bytes, 0);
        assert_int_equal(liveness.peak_bytes, 0);
        assert_int_equal(events.oom_kills + events.ooms + events.group_kills, 0);
        assert_true(liveness.sample[0].some_waited <= 10000);
        assert_int_equal(liveness.sample[0].all_waited, 0);
    }
}

// sample_cut reads a file of events of which only the beginning is there.
static int sample_cut(const uint8_t *bytes, size_t size, void *context)
{
    const struct folder *root = context;
    struct usage usage;
    struct liveness_events events;
    char text[sizeof(local_events)] = "";
    memcpy(text, bytes, size);
    (void)folder_write(root, "sys/fs/cgroup/pod/own/memory.events.local", text);
    (void)folder_write(root, "sys/fs/cgroup/pod/own/memory.pressure", text);
    use_unified(root, &usage);
    usage_events(&usage, &events);
    // Nothing that was counted becomes more.
    return events.oom_kills > 1 || events.ooms > 2 || events.group_kills > 1;
}

static void usage_survives_files_that_are_cut_anywhere(void **state)
{
    make_unified(*state, "60000000\n");
    assert_int_equal(bytes_cut_everywhere((const uint8_t *)local_events,
                                          sizeof(local_events) - 1, sample_cut, *state),
                     0);
}

static void usage_finds_what_systemd_oomd_wrote(void **state)
{
    const struct folder *root = *state;
    struct usage usage;
    struct liveness_events events;
    make_unified(root, "60000000\n");
    use_unified(root, &usage);
    if (setxattr(usage.folder, "user.oomd_kill", "2", 1, 0) != 0)
        test_skip("this file system keeps no attributes");
    usage_events(&usage, &events);
    assert_int_equal(events.oomd_kills, 2);
}

static void usage_tells_what_happened_since(void **state)
{
    (void)state;
    const struct liveness_events before = { 3, 1, 5, 2 };
    struct liveness_events now = { 5, 1, 2,
                                   3 }; // a count that fell is another cgroup's
    usage_events_since(&before, &now);
    assert_int_equal(now.oom_kills, 2);
    assert_int_equal(now.group_kills, 0);
    assert_int_equal(now.ooms, 0);
    assert_int_equal(now.oomd_kills, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keep_sees_a_request_that_a_stuck_process_cannot_take),
        cmocka_unit_test(keep_leaves_a_request_that_it_knows),
        cmocka_unit_test(keep_survives_a_status_that_is_cut_anywhere),
        cmocka_unit_test(keep_notes_who_asks_and_not_what_a_program_tells_itself),
        cmocka_unit_test(keep_looks_often_at_first),
#define IN_FOLDER(test)                                                                \
    cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)
        IN_FOLDER(usage_reads_what_version_2_counts),
        IN_FOLDER(usage_counts_what_the_group_with_the_lowest_limit_uses),
        IN_FOLDER(usage_takes_the_sum_of_events_before_linux_5_2),
        IN_FOLDER(usage_reads_what_version_1_counts),
        IN_FOLDER(usage_leaves_no_hierarchy_and_follows_no_path_out_of_it),
        IN_FOLDER(usage_takes_no_nonsense_for_a_number),
        IN_FOLDER(usage_survives_files_that_are_cut_anywhere),
        IN_FOLDER(usage_finds_what_systemd_oomd_wrote),
        cmocka_unit_test(
            usage_takes_no_sample_of_a_process_that_the_kernel_has_emptied),
        cmocka_unit_test(usage_tells_what_happened_since),
    };
    return cmocka_run_group_tests_name("agent/keep", tests, NULL, NULL);
}
