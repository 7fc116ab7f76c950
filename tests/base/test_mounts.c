// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/system/mounts.h"

static const char lines[] =
    "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
    "30 22 0:28 / /mnt rw,relatime - tmpfs tmpfs rw\n"
    "31 30 0:29 / /mnt/far rw,relatime shared:2 master:3 - nfs4 host:/export rw\n"
    "32 30 0:30 / /mnt/with\\040blank rw - fuse.sshfs host: rw\n"
    "33 22 0:31 / /twice rw - fuse first rw\n"
    "34 33 254:1 / /twice rw - xfs /dev/vdb rw\n"
    "35 22 0:32 / /new rw - notyetknown none rw\n";

struct answer {
    bool may_block;
    size_t mount;
};

static struct answer ask_mounts(const char *text, size_t size, const char *path)
{
    struct mounts mounts = { { 0 } };
    struct answer answer;
    text_append(&mounts.lines, text, size);
    answer.may_block = mounts_may_block(&mounts, path, strlen(path), &answer.mount);
    mounts_deinit(&mounts);
    return answer;
}

static bool may_block(const char *path)
{
    return ask_mounts(lines, sizeof(lines) - 1, path).may_block;
}

static void files_of_local_disks_and_memory_never_block(void **state)
{
    (void)state;
    assert_false(may_block("/usr/lib/libc.so.6"));
    assert_false(may_block("/mnt/file"));
    assert_false(may_block("/mnt/farther/file")); // not below /mnt/far
}

static void files_that_somebody_else_serves_may_block(void **state)
{
    (void)state;
    assert_true(may_block("/mnt/far/lib.so"));
    assert_true(may_block("/mnt/far"));
    assert_true(may_block("/mnt/with blank/lib.so"));
    assert_true(may_block("/new/lib.so"));
}

static void the_later_of_two_mounts_at_one_place_counts(void **state)
{
    (void)state;
    assert_false(may_block("/twice/lib.so"));
}

static void the_mount_point_is_the_beginning_of_the_path(void **state)
{
    (void)state;
    const char *path = "/mnt/with blank/lib.so";
    assert_int_equal(ask_mounts(lines, sizeof(lines) - 1, path).mount,
                     strlen("/mnt/with blank"));
}

static void where_no_mount_is_known_every_file_may_block(void **state)
{
    (void)state;
    assert_true(ask_mounts("", 0, "/usr/lib/libc.so.6").may_block);
}

static void mounts_survive_every_truncation(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof(lines); size++)
        assert_true(ask_mounts(lines, size, "/new/lib.so").mount <= strlen("/new"));
}

static void our_own_mounts_can_be_read(void **state)
{
    (void)state;
    struct mounts mounts;
    size_t mount;
    assert_int_equal(mounts_read(&mounts, 0), CH_OK);
    bool answer = mounts_may_block(&mounts, "/proc/self/maps", 15, &mount);
    mounts_deinit(&mounts);
    assert_false(answer);
    assert_int_equal(mount, strlen("/proc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_local_disks_and_memory_never_block),
        cmocka_unit_test(files_that_somebody_else_serves_may_block),
        cmocka_unit_test(the_later_of_two_mounts_at_one_place_counts),
        cmocka_unit_test(the_mount_point_is_the_beginning_of_the_path),
        cmocka_unit_test(where_no_mount_is_known_every_file_may_block),
        cmocka_unit_test(mounts_survive_every_truncation),
        cmocka_unit_test(our_own_mounts_can_be_read),
    };
    return cmocka_run_group_tests_name("base/mounts", tests, NULL, NULL);
}
