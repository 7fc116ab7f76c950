// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/waits.h"

#include <stdio.h>
#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

// Two threads, of which the first waits on a futex in target.
enum { WAITER = 100, OWNER = 200, FUTEX = 0x10040, AT = 0x40, POINTER = 0x20000 };

static uint32_t target[64];
static const struct fake_region region = { 0x10000, target, sizeof(target) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };
static struct stopped_thread threads[2];
static struct capture capture;

static void put(int64_t offset, uint32_t value)
{
    target[(AT + offset) / 4] = value;
}

static int build(void **state)
{
    (void)state;
    memset(target, 0, sizeof(target));
    threads[0] =
        (struct stopped_thread){ .tid = WAITER, .state = STOP_STOPPED, .call = 202 };
    threads[1] = (struct stopped_thread){
        .tid = OWNER, .state = STOP_STOPPED, .call = -1, .thread_pointer = POINTER
    };
    threads[0].registers.value[0] = (uint64_t)-512;
    threads[0].registers.value[1] = 2;
    threads[0].registers.value[4] = 0x80;
    threads[0].registers.value[5] = FUTEX;
    capture = (struct capture){ .arch = &unwind_arch_amd64,
                                .reader = fake_memory_reader(&memory) };
    capture.stop.threads = threads;
    capture.stop.count = 2;
    return 0;
}

static struct wait only_wait(void)
{
    static struct waits waits;
    waits_read(&capture, &waits);
    return waits.count == 1 ? waits.list[0] : (struct wait){ .object = "" };
}

static void put_mutex(uint32_t kind)
{
    put(0, 2);
    put(8, OWNER);
    put(12, 1);
    put(16, kind);
}

// expect_held_mutex is of a call whose timeout that register has.
static void expect_held_mutex(size_t timeout)
{
    put_mutex(0);
    struct wait wait = only_wait();
    assert_string_equal(wait.object, "mutex");
    assert_int_equal(wait.owner, OWNER);
    assert_int_equal(wait.address, FUTEX);
    assert_false(wait.timed);
    threads[0].registers.value[timeout] = 0x5000;
    assert_true(only_wait().timed);
}

static void mutex_that_is_held_names_its_owner(void **state)
{
    build(state);
    expect_held_mutex(10);
}

static void what_only_resembles_a_mutex_has_no_owner(void **state)
{
    static const struct {
        int64_t offset;
        uint32_t value;
    } changes[] = {
        { 0, 1 },           // nobody waits for it
        { 12, 0 },          // nobody uses it
        { 16, 0xdeadbeef }, // of no type
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        build(state);
        put_mutex(0);
        put(changes[i].offset, changes[i].value);
        struct wait wait = only_wait();
        assert_string_equal(wait.object, "futex");
        assert_int_equal(wait.owner, 0);
    }
}

static void mutex_whose_owner_has_ended_says_so(void **state)
{
    build(state);
    put_mutex(0);
    put(8, 999); // no thread of this process
    struct wait wait = only_wait();
    assert_string_equal(wait.object, "mutex");
    assert_int_equal(wait.owner, 0);
    assert_int_equal(wait.owner_ended, 999);
}

static void lock_held_for_writing_names_its_writer(void **state)
{
    build(state);
    threads[0].registers.value[1] = 3;
    put(0, 3); // the futex of its readers is the third word of it
    put(16, OWNER);
    struct wait wait = only_wait();
    assert_string_equal(wait.object, "rwlock");
    assert_int_equal(wait.owner, OWNER);
    assert_int_equal(wait.address, FUTEX - 8);
    put(16, 0); // held by readers
    assert_int_equal(only_wait().owner, 0);
}

static void mutex_of_musl_names_its_owner_where_it_has_one(void **state)
{
    build(state);
    threads[0].registers.value[1] = OWNER | 0x80000000u;
    put(0, OWNER | 0x80000000u);
    put(-4, 1);
    struct wait wait = only_wait();
    assert_string_equal(wait.object, "mutex");
    assert_int_equal(wait.owner, OWNER);
    put(-4, 0);
    assert_int_equal(only_wait().owner, 0);
}

static void joined_thread_is_what_is_waited_for(void **state)
{
    build(state);
    threads[1].thread_pointer = FUTEX - 32;
    threads[0].registers.value[1] = OWNER;
    put(0, OWNER);
    struct wait wait = only_wait();
    assert_string_equal(wait.object, "thread");
    assert_int_equal(wait.owner, OWNER);
}

// build_aarch64 has the first thread stand at the instruction of its call.
static void build_aarch64(void **state)
{
    build(state);
    capture.arch = &unwind_arch_aarch64;
    threads[0].call = 98;
    threads[0].registers = (struct unwind_registers){ { FUTEX, 0x80, 2, 0 } };
}

static void thread_of_aarch64_waits_with_its_arguments_in_place(void **state)
{
    build_aarch64(state);
    expect_held_mutex(3);
    threads[0].call = -1; // it runs
    static struct waits waits;
    waits_read(&capture, &waits);
    assert_int_equal(waits.count, 0);
}

static void joined_thread_of_aarch64_has_its_descriptor_before_its_pointer(void **state)
{
    build_aarch64(state);
    threads[1].thread_pointer = FUTEX + 1800;
    threads[0].registers.value[2] = OWNER;
    put(0, OWNER);
    struct wait wait = only_wait();
    assert_string_equal(wait.object, "thread");
    assert_int_equal(wait.owner, OWNER);
    threads[1].thread_pointer = FUTEX - 32; // as on x86-64
    assert_string_equal(only_wait().object, "futex");
}

static void signalled_thread_of_aarch64_waits_if_it_makes_its_call_again(void **state)
{
    enum { SVC = 0xd4000001, CODE = 0x10000, X8 = 8, PC = 32 };
    static struct target_crash crash;
    static struct waits waits;
    build_aarch64(state);
    put_mutex(0);
    crash = (struct target_crash){ .tid = WAITER, .registers = threads[0].registers };
    crash.registers.value[X8] = 98;
    crash.registers.value[PC] = CODE;
    capture.crash = &crash;
    threads[0].state = STOP_FREE;
    target[0] = SVC;
    struct wait wait = only_wait();
    assert_int_equal(wait.tid, WAITER);
    assert_string_equal(wait.object, "mutex");
    assert_int_equal(wait.owner, OWNER);
    crash.registers.value[PC] = CODE + 4; // x0 has the result
    waits_read(&capture, &waits);
    assert_int_equal(waits.count, 0);
    crash.registers.value[PC] = CODE;
    crash.registers.value[X8] = 202; // another call
    waits_read(&capture, &waits);
    assert_int_equal(waits.count, 0);
}

static void call_that_has_ended_is_no_wait(void **state)
{
    static struct waits waits;
    build(state);
    put_mutex(0);
    threads[0].registers.value[0] = 0;
    waits_read(&capture, &waits);
    assert_int_equal(waits.count, 0);
    build(state);
    threads[0].registers.value[4] = 0x81; // wakes others
    waits_read(&capture, &waits);
    assert_int_equal(waits.count, 0);
}

// The number of the call that waits.
#if defined(__x86_64__)
#define FUTEX "202"
#else
#define FUTEX "98"
#endif

static void call_is_read_from_a_line_of_proc(void **state)
{
    (void)state;
    static const char line[] =
        FUTEX " 0x7f5fc0 0x80 0x2 0x0 0x0 0x0 0x7ffc11111111 0x7f1234567890\n";
    struct wait_call call;
    assert_true(waits_parse_call(line, &call));
    assert_int_equal(call.address, 0x7f5fc0);
    assert_int_equal(call.value, 2);
    assert_false(call.timed);
    assert_false(waits_parse_call("running\n", &call));
    assert_false(waits_parse_call("-1 0x7ffc 0x7f12\n", &call));
    assert_false(waits_parse_call(FUTEX " 0x7f5fc0 0x81 0x1 0x0\n", &call));
    for (size_t size = 0; size < strlen(FUTEX " 0x7f5fc0 0x80 0x2 "); size++) {
        char cut[sizeof(line)];
        (void)snprintf(cut, sizeof(cut), "%.*s", (int)size, line);
        assert_false(waits_parse_call(cut, &call));
    }
}

static void random_memory_at_a_futex_names_no_owner(void **state)
{
    enum { TRIES = 100000 };
    uint64_t seed = 17;
    for (int i = 0; i < TRIES; i++) {
        build(state);
        for (size_t k = 0; k < sizeof(target) / sizeof(target[0]); k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            target[k] = (uint32_t)(seed >> 32) >> (seed >> 27 & 31);
        }
        threads[0].registers.value[1] = target[AT / 4];
        assert_int_equal(only_wait().owner, 0);
    }
    print_message("%d random surroundings, seed 17\n", TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutex_that_is_held_names_its_owner),
        cmocka_unit_test(what_only_resembles_a_mutex_has_no_owner),
        cmocka_unit_test(mutex_whose_owner_has_ended_says_so),
        cmocka_unit_test(lock_held_for_writing_names_its_writer),
        cmocka_unit_test(mutex_of_musl_names_its_owner_where_it_has_one),
        cmocka_unit_test(joined_thread_is_what_is_waited_for),
        cmocka_unit_test(thread_of_aarch64_waits_with_its_arguments_in_place),
        cmocka_unit_test(
            joined_thread_of_aarch64_has_its_descriptor_before_its_pointer),
        cmocka_unit_test(signalled_thread_of_aarch64_waits_if_it_makes_its_call_again),
        cmocka_unit_test(call_that_has_ended_is_no_wait),
        cmocka_unit_test(call_is_read_from_a_line_of_proc),
        cmocka_unit_test(random_memory_at_a_futex_names_no_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
