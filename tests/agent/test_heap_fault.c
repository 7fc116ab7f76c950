// SPDX-License-Identifier: Apache-2.0
#include "agent/messages/heap_fault.h"

#include <string.h>

#include "support/fake_memory.h"
#include "support/test.h"

enum {
    STATE = 0x10000,
    BLOCKS = 0x20000,
    BASE = 0x40000000,
    PAGE = 4096,
    SLOTS = 4,
    STRIDE = HEAP_SLOT_BYTES + PAGE,
    SLOT_0 = BASE + PAGE,
    SLOT_1 = SLOT_0 + STRIDE,
    TRAP = BASE + PAGE + SLOTS * STRIDE,
};

static struct heap_state state;
static struct heap_block blocks[SLOTS];

static struct heap_fault find(uint64_t address)
{
    const struct fake_region regions[] = { { STATE, &state, sizeof(state) },
                                           { BLOCKS, blocks, sizeof(blocks) } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    static struct heap_fault found;
    memset(&found, 0, sizeof(found));
    heap_fault_read(&reader, STATE, address, &found);
    return found;
}

static void put(size_t slot, enum heap_status status, uint64_t offset, uint64_t size)
{
    blocks[slot] = (struct heap_block){
        .status = status,
        .bytes = PAGE,
        .address = SLOT_0 + slot * STRIDE + offset,
        .size = size,
        .allocated = { .realtime_ns = 1000000, .tid = 11, .origin = HEAP_BY_NEW_ARRAY },
    };
    if (status == HEAP_FREED)
        blocks[slot].freed = (struct heap_event){ .realtime_ns = 3000000, .tid = 12 };
}

static void build(void)
{
    memset(blocks, 0, sizeof(blocks));
    state = (struct heap_state){
        .mode = 1,
        .slots = SLOTS,
        .base = BASE,
        .bytes = SLOTS * STRIDE + 2 * PAGE,
        .trap = TRAP,
        .blocks = BLOCKS,
        .page_bytes = PAGE,
    };
}

static void access_after_free_is_told_with_both_events(void **unused)
{
    (void)unused;
    struct crash_heap facts;
    build();
    put(1, HEAP_FREED, PAGE - 48, 48);
    const struct heap_fault found = find(SLOT_1 + PAGE - 40);
    heap_fault_facts(&found, 2103000000, &facts);
    assert_int_equal(facts.kind, CRASH_KIND_USE_AFTER_FREE);
    assert_null(facts.found_by);
    assert_int_equal(facts.size, 48);
    assert_int_equal(facts.freed.thread, 12);
    assert_int_equal(facts.freed.age_ms, 2100);
    assert_string_equal(facts.freed.by, "free");
    assert_string_equal(facts.allocated.by, "operator new[]");
    heap_fault_facts(&found, 2000000, &facts); // the clock was set back
    assert_int_equal(facts.freed.age_ms, CRASH_HEAP_NO_AGE);
}

static void address_in_a_guard_page_belongs_to_the_nearer_block(void **unused)
{
    (void)unused;
    build();
    put(0, HEAP_LIVE, 0, HEAP_SLOT_BYTES);
    put(1, HEAP_LIVE, 0, 48);
    assert_int_equal(find(SLOT_1 - PAGE).kind, CRASH_KIND_HEAP_OVERFLOW);
    assert_int_equal(find(SLOT_1 - PAGE).block.size, HEAP_SLOT_BYTES);
    assert_int_equal(find(SLOT_1 - 1).kind, CRASH_KIND_HEAP_UNDERFLOW);
    assert_int_equal(find(SLOT_1 - 1).block.size, 48);
    assert_int_equal(find(SLOT_1 + PAGE).kind, CRASH_KIND_HEAP_OVERFLOW);
    assert_int_equal(find(SLOT_0 - 1).kind, CRASH_KIND_HEAP_UNDERFLOW);
}

static void fault_for_another_reason_is_none_of_a_block(void **unused)
{
    (void)unused;
    build();
    put(0, HEAP_LIVE, 0, 48);
    put(1, HEAP_BUSY, 0, 48);
    assert_int_equal(find(SLOT_0 + 47).kind, CRASH_KIND_NONE);
    assert_int_equal(find(SLOT_1 + 48).kind, CRASH_KIND_NONE);
    assert_int_equal(find(BASE - 1).kind, CRASH_KIND_NONE);
    assert_int_equal(find(BASE + state.bytes).kind, CRASH_KIND_NONE);
    assert_int_equal(find(SLOT_0 + 2 * STRIDE).kind, CRASH_KIND_NONE);
}

static void error_that_free_found_is_told_by_the_place_in_the_trap(void **unused)
{
    (void)unused;
    build();
    put(1, HEAP_LIVE, 0, 48);
    state.failures[2] = (struct heap_failure){ .error = HEAP_MISMATCHED_FREE,
                                               .origin = HEAP_BY_MALLOC,
                                               .address = SLOT_1,
                                               .slot = 1 };
    const struct heap_fault found = find(TRAP + 2 * HEAP_TRAP_BYTES);
    assert_int_equal(found.kind, CRASH_KIND_MISMATCHED_FREE);
    assert_string_equal(found.found_by, "free");
    assert_int_equal(found.address, SLOT_1);
    assert_int_equal(find(TRAP).kind, CRASH_KIND_NONE);
    assert_int_equal(find(TRAP + HEAP_FAILURES * HEAP_TRAP_BYTES).kind,
                     CRASH_KIND_NONE);
}

static void state_that_cannot_be_is_not_believed(void **unused)
{
    (void)unused;
    build();
    put(0, HEAP_FREED, 0, 48);
    blocks[0].freed.cbf_size = HEAP_CBF_BYTES + 1;
    assert_int_equal(find(SLOT_0).kind, CRASH_KIND_NONE);
    put(0, HEAP_FREED, 0, HEAP_SLOT_BYTES + 1);
    assert_int_equal(find(SLOT_0).kind, CRASH_KIND_NONE);
    put(0, HEAP_FREED, 0, 48);
    blocks[0].address = SLOT_1;
    assert_int_equal(find(SLOT_0).kind, CRASH_KIND_NONE);
    blocks[0].address = UINT64_MAX - 7; // its end would be address 40
    assert_int_equal(find(SLOT_0).kind, CRASH_KIND_NONE);
    put(0, HEAP_FREED, 0, 48);
    state.slots = UINT32_MAX;
    assert_int_equal(find(SLOT_0).kind, CRASH_KIND_NONE);
    build();
    state.page_bytes = 0;
    assert_int_equal(find(SLOT_0).kind, CRASH_KIND_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(access_after_free_is_told_with_both_events),
        cmocka_unit_test(address_in_a_guard_page_belongs_to_the_nearer_block),
        cmocka_unit_test(fault_for_another_reason_is_none_of_a_block),
        cmocka_unit_test(error_that_free_found_is_told_by_the_place_in_the_trap),
        cmocka_unit_test(state_that_cannot_be_is_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
