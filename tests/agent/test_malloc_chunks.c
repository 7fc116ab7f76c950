// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/malloc_chunks.h"

#include "formats/debug/maps.h"
#include "support/fake_memory.h"
#include "support/test.h"

// A heap of glibc: the chunk with the thread's lists, chunks, and the rest.
#define HEAP UINT64_C(0x55d2c0a41000)
enum { HEAP_BYTES = 0x100000, LISTS_BYTES = 0x290, HEAD_BYTES = 16, IN_USE = 1 };

static uint64_t heap[HEAP_BYTES / 8];
static struct fake_region region = { HEAP, heap, sizeof(heap) };
static struct fake_memory memory = { .regions = &region, .region_count = 1 };
static struct target_mapping mapping = {
    HEAP, HEAP + HEAP_BYTES, MAPS_READ | MAPS_WRITE, 0, 0, 0, "[heap]", 6, false
};
static struct capture capture;

static void put_chunk(size_t at, uint64_t size)
{
    heap[at / 8 + 1] = size | IN_USE;
}

// build makes a heap of chunks of size bytes, to its end.
static void build(size_t size)
{
    size_t at = LISTS_BYTES;
    memset(heap, 0, sizeof(heap));
    memory.read_count = 0;
    capture =
        (struct capture){ .arch = &unwind_arch_amd64,
                          .reader = fake_memory_reader(&memory),
                          .images = { .mappings = &mapping, .mapping_count = 1 } };
    put_chunk(0, LISTS_BYTES);
    for (; at + 2 * size <= HEAP_BYTES; at += size)
        put_chunk(at, size);
    put_chunk(at, HEAP_BYTES - at);
}

static void text_runs_on_over_the_end_of_a_block_of_any_size(void **state)
{
    (void)state;
    enum { SMALLEST = 32, LARGEST = 2048, ALIGNMENT = 16 };
    struct malloc_chunks found;
    size_t right = 0;
    for (size_t size = SMALLEST; size <= LARGEST; size += ALIGNMENT) {
        build(size);
        memset((char *)heap + LISTS_BYTES + HEAD_BYTES, 'x', size);
        malloc_chunks_find(&capture, true, &found);
        right += found.chunk.address == HEAP + LISTS_BYTES + size + HEAD_BYTES &&
                 found.chunk.before_size == size - 8 && found.chunk.runs_on;
    }
    assert_int_equal(right, (LARGEST - SMALLEST) / ALIGNMENT + 1);
}

static void text_that_ends_before_a_damaged_size_does_not_run_on(void **state)
{
    (void)state;
    struct malloc_chunks found;
    build(64);
    memset((char *)heap + LISTS_BYTES + HEAD_BYTES, 'x', 40);
    memset((char *)heap + LISTS_BYTES + 64 + 8, 'x', 8);
    malloc_chunks_find(&capture, true, &found);
    assert_int_equal(found.chunk.address, HEAP + LISTS_BYTES + 64 + HEAD_BYTES);
    assert_false(found.chunk.runs_on);
}

// Text over the lists of freed blocks: each of them leads nowhere.
static void lists_that_all_lead_nowhere_cost_one_walk_of_the_heap(void **state)
{
    (void)state;
    enum { SMALLEST = 32, READS_PER_CHUNK = 6 };
    struct malloc_chunks found;
    build(SMALLEST);
    memset((char *)heap + HEAD_BYTES, 'x', LISTS_BYTES - HEAD_BYTES);
    malloc_chunks_find(&capture, true, &found);
    assert_int_equal(found.chunk.address, 0);
    assert_true(memory.read_count < READS_PER_CHUNK * (HEAP_BYTES / SMALLEST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_runs_on_over_the_end_of_a_block_of_any_size),
        cmocka_unit_test(text_that_ends_before_a_damaged_size_does_not_run_on),
        cmocka_unit_test(lists_that_all_lead_nowhere_cost_one_walk_of_the_heap),
    };
    return cmocka_run_group_tests_name("agent/malloc_chunks", tests, NULL, NULL);
}
