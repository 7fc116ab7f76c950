// SPDX-License-Identifier: Apache-2.0
//
// Rings in this process's own memory, read as those of another: what the agent believes
// of them when they are not what the recorder writes.
#include "agent/flight/flight_report.h"

#include <stdlib.h>
#include <unistd.h>

#include "support/bytes.h"
#include "support/test.h"

enum { BLOCKS = 2 };

// A recorder's memory with one ring, of which one block is begun.
struct memory {
    struct flight_state state;
    struct flight_ring ring;
    uint64_t functions[1];
    uint8_t blocks[BLOCKS * FLIGHT_BLOCK_BYTES];
};

static struct target_crash crash;
static struct capture capture;

static int setup(void **state)
{
    capture.crash = &crash;
    capture.stop.pid = getpid();
    if (target_memory_init(&capture.memory, getpid()) != CH_OK)
        return -1;
    capture.reader = target_memory_reader(&capture.memory);
    *state = calloc(1, sizeof(struct memory));
    return *state != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    target_memory_deinit(&capture.memory);
    return 0;
}

// build fills memory with a ring that has an entry of function 1 and an exit.
static void build(struct memory *memory)
{
    static const uint8_t block[] = {
        0x01, 0x2a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // new-buffer: thread 42
        0x09, 0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // wall-clock
        0x05, 0x00, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // new-cpu: tsc 9
        0x10, 0x00, 0, 0, 1, 0, 0, 0,                         // enter 1
        0x12, 0x00, 0, 0, 1, 0, 0, 0,                         // exit 1
    };
    *memory = (struct memory){
        .state = { .magic = FLIGHT_MAGIC,
                   .version = FLIGHT_VERSION,
                   .size = sizeof(struct flight_state),
                   .ring_size = sizeof(struct flight_ring),
                   .pid = getpid(),
                   .rings = (uintptr_t)&memory->ring,
                   .ring_count = 1,
                   .xray_functions = (uintptr_t)memory->functions,
                   .xray_count = 1 },
        .ring = { .at = (uintptr_t)memory->blocks + sizeof(block),
                  .blocks = (uintptr_t)memory->blocks,
                  .block_count = BLOCKS,
                  .opened = 1,
                  .tid = 42,
                  .state = FLIGHT_LIVE },
        .functions = { 0x401000 },
    };
    memcpy(memory->blocks, block, sizeof(block));
    crash.flight_state = (uintptr_t)&memory->state;
}

// What was read of the first ring; events is SIZE_MAX where nothing was.
struct reading {
    enum ch_status status;
    size_t events;
    uint64_t function;
};

static struct reading read_all(void)
{
    struct reading reading = { .events = SIZE_MAX };
    struct flight_rings rings;
    struct flight_source source;
    struct flight_thread thread;
    struct flight_calls calls;
    uint64_t dropped = 0;
    // What was cached is of the test before.
    target_memory_deinit(&capture.memory);
    (void)!target_memory_init(&capture.memory, getpid());
    reading.status = flight_rings_open(&rings, &capture, &source);
    if (reading.status != CH_OK)
        return reading;
    if (source.count != 0 && source.thread(source.context, 0, &thread) &&
        flight_calls_init(&calls, 8) == CH_OK) {
        reading.status = source.read(source.context, 0, &calls, &dropped);
        reading.events = flight_calls_listed(&calls);
        reading.function = source.function(source.context, 1);
        flight_calls_deinit(&calls);
    }
    flight_rings_close(&rings);
    return reading;
}

static void flight_rings_give_the_threads_calls(void **state)
{
    build(*state);
    struct reading reading = read_all();
    assert_int_equal(reading.status, CH_OK);
    assert_int_equal(reading.events, 2);
    assert_int_equal(reading.function, 0x401000);
}

static void flight_rings_of_another_process_are_refused(void **state)
{
    struct memory *memory = *state;
    build(memory);
    memory->state.pid++;
    assert_int_equal(read_all().status, CH_ERR_UNSUPPORTED);
    build(memory);
    memory->state.magic++;
    assert_int_equal(read_all().status, CH_ERR_MALFORMED);
    crash.flight_state = 8;
    assert_int_equal(read_all().status, CH_ERR_FAULT);
    crash.flight_state = 0;
    assert_int_equal(read_all().status, CH_ERR_NOT_FOUND);
}

// tell_by_note has a note say where the state is, and no handler.
static void tell_by_note(struct memory *memory, struct target_image *image)
{
    *image = (struct target_image){ .base = (uintptr_t)memory,
                                    .end = (uintptr_t)(memory + 1) };
    image->places[PLACE_FLIGHT] =
        (struct image_place){ .address = (uintptr_t)&memory->state,
                              .version = PLACE_NOTE_VERSION,
                              .size = sizeof(memory->state) };
    capture.images.images = image;
    capture.images.count = 1;
    capture.problem_count = 0;
    crash.flight_state = 0;
}

static void flight_rings_are_found_by_a_note_where_no_handler_tells(void **state)
{
    struct memory *memory = *state;
    struct target_image image;
    build(memory);
    tell_by_note(memory, &image);
    capture.crash = NULL;
    struct reading found = read_all();
    memory->state.rings = 0;
    memory->state.pid = 0;
    struct reading unstarted = read_all();
    image.places[PLACE_FLIGHT].size++;
    struct reading other = read_all();
    capture.images.count = 0;
    capture.crash = &crash;

    assert_int_equal(found.status, CH_OK);
    assert_int_equal(found.events, 2);
    assert_int_equal(unstarted.status, CH_ERR_NOT_FOUND);
    assert_int_equal(other.status, CH_ERR_NOT_FOUND);
    assert_int_equal(capture.problem_count, 1);
}

static void flight_rings_of_a_core_are_timed_by_what_it_has(void **state)
{
    struct memory *memory = *state;
    struct target_image image;
    struct flight_rings rings;
    struct flight_source source;
    build(memory);
    tell_by_note(memory, &image);
    memory->state.start_tsc = 1000;
    memory->state.start_ns = 500;
    memory->ring.sync_tsc = 5000; // two ticks a nanosecond
    memory->ring.sync_ns = 2500;
    memory->ring.last_tsc = 9000;
    capture.tier = "record";
    enum ch_status status = flight_rings_open(&rings, &capture, &source);
    if (status == CH_OK)
        flight_rings_close(&rings);
    capture.tier = NULL;
    capture.images.count = 0;

    assert_int_equal(status, CH_OK);
    assert_int_equal(flight_clock_frequency(&source.clock), 2000000000);
    assert_int_equal(source.zero_ns, 4500);
}

static void flight_rings_that_are_not_there_have_no_calls(void **state)
{
    struct memory *memory = *state;
    build(memory);
    memory->ring.blocks = 4096;
    assert_int_equal(read_all().events, 0);
    build(memory);
    memory->state.rings = 4096;
    assert_int_equal(read_all().status, CH_ERR_FAULT);
}

// Whatever the crash did to the recorder's own memory, reading it ends and is bounded.
static void flight_rings_survive_every_flipped_bit(void **state)
{
    struct memory *memory = *state;
    uint8_t *bytes = (uint8_t *)memory;
    size_t size = offsetof(struct memory, blocks) + 64;
    size_t wild = 0;
    for (size_t bit = 0; bit < size * 8; bit++) {
        build(memory);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct reading reading = read_all();
        wild +=
            reading.status == CH_OK && reading.events != SIZE_MAX && reading.events > 8;
    }
    assert_int_equal(wild, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flight_rings_give_the_threads_calls),
        cmocka_unit_test(flight_rings_of_another_process_are_refused),
        cmocka_unit_test(flight_rings_are_found_by_a_note_where_no_handler_tells),
        cmocka_unit_test(flight_rings_of_a_core_are_timed_by_what_it_has),
        cmocka_unit_test(flight_rings_that_are_not_there_have_no_calls),
        cmocka_unit_test(flight_rings_survive_every_flipped_bit),
    };
    return cmocka_run_group_tests_name("agent/flight_rings", tests, setup, teardown);
}
