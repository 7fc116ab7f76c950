// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_sampled_heap.h"

#include <jansson.h>

#include "shared/place_note.h"
#include "support/bytes.h"
#include "support/fake_memory.h"
#include "support/test.h"

enum {
    POOL = 0x10000,
    LIVE = 0x1000000,
    BASE = 0x40000000,
    PAGE = 4096,
    SLOTS = 2,
    POOL_BYTES = SLOTS * (HEAP_SLOT_BYTES + PAGE) + 2 * PAGE,
};

// The pool's state and its blocks are next to each other, so that tests can cut them.
struct pool {
    struct heap_state state;
    struct heap_block blocks[SLOTS];
};

static struct heap_live live[HEAP_LIVE_PLACES];

static struct heap_event event_at(uint64_t realtime_ns)
{
    return (struct heap_event){
        .realtime_ns = realtime_ns,
        .tid = 11,
        .cbf_size = 4,
        .origin = HEAP_BY_NEW,
        .cbf = { 0x02, 0x28, 0x55, 0x00 }, // 64 bits, ra =0x55, end
    };
}

// sampled_pool has a live block of 48 bytes and a free one.
static struct pool sampled_pool(uint64_t live_address)
{
    return (struct pool){
        .state = { .mode = POOL_SAMPLE,
                   .slots = SLOTS,
                   .base = BASE,
                   .bytes = POOL_BYTES,
                   .trap = BASE + POOL_BYTES - PAGE,
                   .blocks = POOL + offsetof(struct pool, blocks),
                   .page_bytes = PAGE,
                   .rate = 5000,
                   .live = live_address,
                   .live_lost = 1 },
        .blocks = { { .status = HEAP_LIVE, .size = 48, .allocated = event_at(3000000) },
                    { .status = HEAP_FREED,
                      .size = 100,
                      .allocated = event_at(1000000) } },
    };
}

// written gives the report's member for a crash, or NULL where it is no JSON. The
// tables are as large as those of a process, and size bytes of the pool are there.
static json_t *written(const uint8_t *pool, size_t size)
{
    static struct raw_threads threads;
    const struct fake_region regions[] = { { POOL, pool, size },
                                           { LIVE, live, sizeof(live) } };
    struct fake_memory memory = { .regions = regions, .region_count = 2 };
    const struct settings settings = { .images = IMAGES_ALL };
    const struct target_crash crash = { .realtime_ns = 5000000 };
    struct target_image image = { .end = UINT64_MAX };
    image.places[PLACE_HEAP] =
        (struct image_place){ POOL, PLACE_NOTE_VERSION, HEAP_STATE_BYTES };
    struct capture capture = { .settings = &settings,
                               .crash = &crash,
                               .tier = "core",
                               .reader = fake_memory_reader(&memory),
                               .images = { .images = &image, .count = 1 } };
    size_t number = 0;
    threads.capture = &capture;
    threads.image_number = &number;
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_object(&w);
    raw_sampled_heap_write(&threads, &w);
    json_write_end(&w, '}');
    json_t *out = json_writer_finish(&w) == CH_OK
                      ? json_loadb(w.text.bytes, w.text.size, 0, NULL)
                      : NULL;
    json_writer_deinit(&w);
    return out;
}

static void live_samples_of_slots_and_table_are_added_up_by_stack(void **unused)
{
    (void)unused;
    const struct pool pool = sampled_pool(LIVE);
    memset(live, 0, sizeof(live));
    live[0] = (struct heap_live){ 0x5000, 16, event_at(2000000) };
    live[1] = (struct heap_live){ HEAP_LIVE_BUSY, 16, event_at(2000000) };
    live[HEAP_LIVE_PLACES - 1] = (struct heap_live){ .address = 0x6000, .size = 7 };
    json_auto_t *seen = written((const uint8_t *)&pool, sizeof(pool));
    json_auto_t *wanted =
        json_pack("{s{sssisi s[{sisisisi s{ss}}{sisisi}]}}", "heap", "mode", "sample",
                  "rate", 5000, "lost", 1, "stacks", "count", 2, "bytes", 64,
                  "spread_bytes", 50, "oldest_ms", 3, "backtrace", "cbf",
                  "AihVAA==", "count", 1, "bytes", 7, "spread_bytes", 7);
    assert_non_null(wanted);
    assert_true(json_equal(seen, wanted));
}

static void samples_that_cannot_be_are_left_out(void **unused)
{
    (void)unused;
    const struct pool pool = sampled_pool(LIVE);
    memset(live, 0, sizeof(live));
    live[0] = (struct heap_live){ 0x5000, UINT64_C(1) << 48, event_at(2000000) };
    live[1] = (struct heap_live){ 0x5000, 16, event_at(2000000) };
    live[1].allocated.cbf_size = HEAP_CBF_BYTES + 1;
    live[2] = (struct heap_live){ 0x5000, 16, event_at(2000000) };
    live[2].allocated.origin = HEAP_ORIGINS;
    json_auto_t *seen = written((const uint8_t *)&pool, sizeof(pool));
    const json_t *stacks = json_object_get(json_object_get(seen, "heap"), "stacks");
    assert_int_equal(json_array_size(stacks), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_array_get(stacks, 0), "count")), 1);
}

static int visit(const uint8_t *bytes, size_t size, void *context)
{
    (void)context;
    json_auto_t *seen = written(bytes, size);
    return seen == NULL;
}

static void damaged_pools_leave_the_report_readable(void **unused)
{
    (void)unused;
    const struct pool pool = sampled_pool(0);
    const uint8_t *bytes = (const uint8_t *)&pool;
    memset(live, 0xff, sizeof(live));
    assert_int_equal(bytes_cut_everywhere(bytes, sizeof(pool), visit, NULL), 0);
    assert_int_equal(bytes_flip_every_bit(bytes, sizeof(pool), visit, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_samples_of_slots_and_table_are_added_up_by_stack),
        cmocka_unit_test(samples_that_cannot_be_are_left_out),
        cmocka_unit_test(damaged_pools_leave_the_report_readable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
