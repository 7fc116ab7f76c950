// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/exception.h"

#include <stdlib.h>
#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

enum { STATE = 0x10000, OBJECT = 0x7000 };

static struct throw_state state;

static struct thrown_stack find(uint64_t object)
{
    const struct fake_region region = { STATE, &state, sizeof(state) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    static struct thrown_stack found;
    memset(&found, 0, sizeof(found));
    thrown_stack_read(&reader, STATE, object, &found);
    return found;
}

static void put(size_t ring, size_t index, uint64_t object, uint64_t time, uint8_t byte)
{
    struct throw_entry *entry = &state.rings[ring].entries[index];
    *entry = (struct throw_entry){
        .object = object, .time_ns = time, .tid = (uint32_t)ring + 1, .size = 1
    };
    entry->cbf[0] = byte;
    state.rings[ring].next++;
}

static int build(void **unused)
{
    (void)unused;
    memset(&state, 0, sizeof(state));
    return 0;
}

static void newest_throw_of_an_object_is_found_in_any_ring(void **unused)
{
    build(unused);
    put(3, 0, OBJECT, 10, 'a');
    put(5, 7, OBJECT, 30, 'b');
    put(9, 1, OBJECT, 20, 'c');
    put(9, 2, OBJECT + 8, 40, 'd');
    struct thrown_stack found = find(OBJECT);
    assert_int_equal(found.size, 1);
    assert_int_equal(found.cbf[0], 'b');
    assert_int_equal(found.tid, 6);
    assert_int_equal(find(OBJECT + 16).size, 0);
    assert_int_equal(find(0).size, 0);
}

static void entry_that_is_unfinished_or_too_large_is_none(void **unused)
{
    build(unused);
    put(0, 0, OBJECT, 10, 'a');
    state.rings[0].entries[0].size = 0;
    assert_int_equal(find(OBJECT).size, 0);
    state.rings[0].entries[0].size = THROW_CBF_BYTES + 1;
    assert_int_equal(find(OBJECT).size, 0);
    state.rings[0].entries[0].size = UINT32_MAX;
    assert_int_equal(find(OBJECT).size, 0);
}

static void state_that_is_cut_gives_what_is_there(void **unused)
{
    build(unused);
    put(1, 0, OBJECT, 10, 'a');
    for (size_t size = 0; size < sizeof(state.rings[0]) * 3; size += 64) {
        const struct fake_region region = { STATE, &state, size };
        struct fake_memory memory = { .regions = &region, .region_count = 1 };
        const struct memory_reader reader = fake_memory_reader(&memory);
        struct thrown_stack found = { .size = 0 };
        thrown_stack_read(&reader, STATE, OBJECT, &found);
        bool whole = size >= 16 + 2 * sizeof(state.rings[0]);
        assert_int_equal(found.size, whole ? 1 : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_throw_of_an_object_is_found_in_any_ring),
        cmocka_unit_test(entry_that_is_unfinished_or_too_large_is_none),
        cmocka_unit_test(state_that_is_cut_gives_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
