// SPDX-License-Identifier: Apache-2.0
//
// The pool of guarded allocations in memory that is the input: the block of a fault,
// whose address is the last word, and the live samples.
#include "agent/messages/heap_fault.h"
#include "agent/raw/raw_sampled_heap.h"
#include "fuzz/fuzz.h"
#include "shared/place_note.h"
#include "support/fake_memory.h"

// Tables are read in pieces that are there as a whole, so memory goes on after the
// input: TABLE_BYTES of zeros.
enum { STATE = 0x10000, INPUT_BYTES_MAX = 64 << 10, TABLE_BYTES = 16 << 10 };

static void write_samples(const struct memory_reader *reader)
{
    static struct raw_threads threads;
    const struct settings settings = { .images = IMAGES_ALL };
    const struct target_crash crash = { .realtime_ns = UINT64_MAX };
    struct target_image image = { .end = UINT64_MAX };
    image.places[PLACE_HEAP] =
        (struct image_place){ STATE, PLACE_NOTE_VERSION, HEAP_STATE_BYTES };
    struct capture capture = { .settings = &settings,
                               .crash = &crash,
                               .tier = "core",
                               .reader = *reader,
                               .images = { .images = &image, .count = 1 } };
    size_t number = 0;
    threads.capture = &capture;
    threads.image_number = &number;
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_object(&w);
    raw_sampled_heap_write(&threads, &w);
    json_write_end(&w, '}');
    (void)!json_writer_finish(&w);
    json_writer_deinit(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static uint8_t present[INPUT_BYTES_MAX + TABLE_BYTES];
    static struct heap_fault found;
    struct crash_heap facts;
    if (size > INPUT_BYTES_MAX)
        return 0;
    memset(present, 0, sizeof(present));
    memcpy(present, bytes, size);
    const struct fake_region region = { STATE, present, sizeof(present) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    uint64_t address = 0;
    if (size >= sizeof(address))
        memcpy(&address, bytes + size - sizeof(address), sizeof(address));
    heap_fault_read(&reader, STATE, address, &found);
    heap_fault_facts(&found, UINT64_MAX, &facts);
    write_samples(&reader);
    return 0;
}
