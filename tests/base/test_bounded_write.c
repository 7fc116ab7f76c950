// SPDX-License-Identifier: Apache-2.0
#include "base/system/bounded_write.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

enum { STALL_MS = 50, BOUND_S = 20 };

static void bounded_write_writes_all_where_there_is_room(void **state)
{
    char got[8] = "";
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(bounded_write(ends[1], "message", 7, STALL_MS), 7);
    assert_int_equal(read(ends[0], got, sizeof(got)), 7);
    assert_string_equal(got, "message");
    close(ends[0]);
    close(ends[1]);
}

static void bounded_write_gives_a_full_pipe_up(void **state)
{
    static char bytes[1 << 20];
    int ends[2];
    time_t began = time(NULL);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    size_t done = bounded_write(ends[1], bytes, sizeof(bytes), STALL_MS);
    assert_true(done > 0 && done < sizeof(bytes));
    assert_int_equal(bounded_write(ends[1], bytes, 1, STALL_MS), 0);
    assert_true(time(NULL) - began < BOUND_S);
    // For others it is as it was.
    assert_int_equal(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0);
    close(ends[0]);
    close(ends[1]);
}

static void bounded_write_fails_where_nobody_listens(void **state)
{
    (void)state;
    assert_int_equal(bounded_write(-1, "x", 1, STALL_MS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounded_write_writes_all_where_there_is_room),
        cmocka_unit_test(bounded_write_gives_a_full_pipe_up),
        cmocka_unit_test(bounded_write_fails_where_nobody_listens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
