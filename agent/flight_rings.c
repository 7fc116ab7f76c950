// SPDX-License-Identifier: Apache-2.0
#include "agent/flight_rings.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t read_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

static void read_clock(struct flight_rings *rings)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    rings->clock = (struct flight_clock){
        .start_tsc = rings->state.start_tsc,
        .start_ns = rings->state.start_ns,
        .now_tsc = read_counter(),
        .now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
    };
}

static enum ch_status read_state(struct flight_rings *rings, uint64_t address)
{
    struct flight_state *state = &rings->state;
    enum ch_status status =
        memory_read(&rings->capture->reader, address, state, sizeof(*state));
    if (status != CH_OK)
        return status;
    if (state->magic != FLIGHT_MAGIC)
        return CH_ERR_MALFORMED;
    // A child that was made by a bare clone has what its parent recorded.
    if (state->version != FLIGHT_VERSION || state->size != sizeof(*state) ||
        state->ring_size != sizeof(struct flight_ring) ||
        state->pid != rings->capture->stop.pid)
        return CH_ERR_UNSUPPORTED;
    return CH_OK;
}

static enum ch_status read_list(struct flight_rings *rings)
{
    size_t count = rings->state.ring_count < FLIGHT_RINGS_MAX ? rings->state.ring_count
                                                              : FLIGHT_RINGS_MAX;
    size_t bytes = count * sizeof(struct flight_ring);
    rings->rings = calloc(count + 1, sizeof(struct flight_ring));
    rings->bytes = malloc(FLIGHT_RING_BYTES_MAX);
    if (rings->rings == NULL || rings->bytes == NULL)
        return CH_ERR_NO_MEMORY;
    size_t got = target_memory_copy(&rings->capture->memory, rings->state.rings,
                                    rings->rings, bytes);
    if (got != bytes)
        return CH_ERR_FAULT;
    rings->count = count;
    return CH_OK;
}

enum ch_status flight_rings_open(struct flight_rings *rings, struct capture *capture)
{
    *rings = (struct flight_rings){ .capture = capture };
    if (capture->crash == NULL || capture->crash->flight_state == 0)
        return CH_ERR_NOT_FOUND;
    enum ch_status status = read_state(rings, capture->crash->flight_state);
    if (status == CH_OK)
        status = read_list(rings);
    if (status != CH_OK) {
        flight_rings_close(rings);
        return status;
    }
    read_clock(rings);
    return CH_OK;
}

void flight_rings_close(struct flight_rings *rings)
{
    free(rings->rings);
    free(rings->bytes);
    *rings = (struct flight_rings){ 0 };
}

bool flight_rings_has(const struct flight_rings *rings, size_t index)
{
    const struct flight_ring *ring = &rings->rings[index];
    return (ring->state == FLIGHT_LIVE || ring->state == FLIGHT_ENDED) &&
           ring->opened != 0 && ring->blocks != 0 && ring->block_count >= 2 &&
           ring->block_count <= FLIGHT_BLOCKS_MAX && ring->tid > 0;
}

// read_block adds the records of one block of size bytes. What is damaged in it ends
// it, and is counted as dropped.
static enum ch_status read_block(struct flight_ring *ring, const uint8_t *bytes,
                                 size_t size, struct flight_calls *calls)
{
    static const struct fdr_header header = { .version = 1, .type = 1 };
    struct fdr_reader reader;
    struct fdr_record record;
    enum ch_status status;
    fdr_reader_init_buffer(&reader, &header, bytes, size);
    while ((status = fdr_next_record(&reader, &record)) == CH_OK) {
        status = flight_calls_add(calls, &record);
        if (status != CH_OK)
            return status;
    }
    if (status != CH_END)
        ring->dropped++;
    return CH_OK;
}

// copy_blocks copies count blocks, of which the last is block newest, oldest first; it
// is two pieces of memory where they go around the ring's end. What cannot be read is
// zeros.
static void copy_blocks(struct flight_rings *rings, const struct flight_ring *ring,
                        uint64_t newest, uint64_t count)
{
    struct target_memory *memory = &rings->capture->memory;
    uint64_t total = ring->block_count;
    uint64_t first = (newest + total + 1 - count) % total;
    uint64_t ahead = first + count <= total ? count : total - first;
    size_t size = (size_t)(count * FLIGHT_BLOCK_BYTES);
    size_t piece = (size_t)(ahead * FLIGHT_BLOCK_BYTES);
    memset(rings->bytes, 0, size);
    (void)target_memory_copy(memory, ring->blocks + first * FLIGHT_BLOCK_BYTES,
                             rings->bytes, piece);
    if (size != piece)
        (void)target_memory_copy(memory, ring->blocks, rings->bytes + piece,
                                 size - piece);
}

enum ch_status flight_rings_read(struct flight_rings *rings, size_t index,
                                 struct flight_calls *calls)
{
    struct flight_ring *ring = &rings->rings[index];
    uint64_t total = ring->block_count;
    uint64_t newest = (ring->opened - 1) % total;
    uint64_t count = ring->opened < total ? ring->opened : total;
    if (count > FLIGHT_RING_BYTES_MAX / FLIGHT_BLOCK_BYTES)
        count = FLIGHT_RING_BYTES_MAX / FLIGHT_BLOCK_BYTES;
    copy_blocks(rings, ring, newest, count);
    // The newest ends where its next record would be written.
    uint64_t written = ring->at - (ring->blocks + newest * FLIGHT_BLOCK_BYTES);
    enum ch_status status = CH_OK;
    for (uint64_t i = 0; status == CH_OK && i < count; i++) {
        bool open = i == count - 1 && written < FLIGHT_BLOCK_BYTES;
        status = read_block(ring, rings->bytes + i * FLIGHT_BLOCK_BYTES,
                            open ? (size_t)written : FLIGHT_BLOCK_BYTES, calls);
    }
    return status;
}

uint64_t flight_rings_function(const struct flight_rings *rings, uint32_t number)
{
    const struct flight_state *state = &rings->state;
    uint64_t table = state->xray_functions;
    uint64_t index = number - UINT32_C(1);
    uint64_t count = state->xray_count;
    uint64_t address = 0;
    if (number >= FLIGHT_FIRST_ID) {
        table = state->functions;
        index = number - FLIGHT_FIRST_ID;
        count = FLIGHT_FUNCTIONS;
    }
    if (number == 0 || table == 0 || index >= count ||
        memory_read_word(&rings->capture->reader, table + index * sizeof(uint64_t),
                         &address) != CH_OK)
        return 0;
    return address;
}

int64_t flight_clock_ns(const struct flight_clock *clock, uint64_t tsc)
{
    uint64_t ticks = clock->now_tsc - clock->start_tsc;
    __int128 back = (int64_t)(tsc - clock->now_tsc);
    __int128 span = (int64_t)(clock->now_ns - clock->start_ns);
    if (ticks == 0 || (int64_t)ticks < 0)
        return (int64_t)clock->now_ns;
    return (int64_t)((__int128)clock->now_ns + back * span / (int64_t)ticks);
}

uint64_t flight_clock_frequency(const struct flight_clock *clock)
{
    uint64_t ns = clock->now_ns - clock->start_ns;
    unsigned __int128 ticks = clock->now_tsc - clock->start_tsc;
    return ns != 0 ? (uint64_t)(ticks * 1000000000u / ns) : 0;
}
