// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_rings.h"

#include <stdlib.h>
#include <string.h>

static enum ch_status read_ring_state(struct flight_rings *rings, uint64_t address)
{
    struct flight_state *state = &rings->state;
    enum ch_status status =
        memory_read(&rings->capture->reader, address, state, sizeof(*state));
    if (status != CH_OK)
        return status;
    if (state->magic != FLIGHT_MAGIC)
        return CH_ERR_MALFORMED;
    // A child made by a bare clone still has its parent's record.
    bool started = state->rings != 0;
    if (state->version != FLIGHT_VERSION || state->size != sizeof(*state) ||
        state->ring_size != sizeof(struct flight_ring) ||
        (started && state->pid != rings->capture->stop.pid))
        return CH_ERR_UNSUPPORTED;
    return CH_OK;
}

// copy_memory copies as much as there is. For a live process it bypasses the cache,
// which is meant for small reads.
static size_t copy_memory(const struct flight_rings *rings, uint64_t address, void *to,
                          size_t size)
{
    struct capture *capture = rings->capture;
    const struct memory_reader *reader = &capture->reader;
    size_t done = 0;
    if (capture_is_process(capture))
        return target_memory_copy(&capture->memory, address, to, size);
    while (done < size) {
        size_t got = reader->read(reader->source, address + done, (uint8_t *)to + done,
                                  size - done);
        if (got == 0 || got > size - done)
            break;
        done += got;
    }
    return done;
}

// find_state reads the recorder's state at the place that the handler or a note gives.
// A recorder that was never started has no rings.
static enum ch_status find_state(struct flight_rings *rings)
{
    struct capture *capture = rings->capture;
    uint64_t address;
    size_t at = 0;
    if (capture->crash != NULL && capture->crash->flight_state != 0)
        return read_ring_state(rings, capture->crash->flight_state);
    while (
        capture_next_place(capture, PLACE_FLIGHT, FLIGHT_STATE_BYTES, &at, &address)) {
        enum ch_status status = read_ring_state(rings, address);
        if (status != CH_OK || rings->state.rings != 0)
            return status;
    }
    return CH_ERR_NOT_FOUND;
}

static enum ch_status read_ring_list(struct flight_rings *rings)
{
    size_t count = rings->state.ring_count < FLIGHT_RINGS_MAX ? rings->state.ring_count
                                                              : FLIGHT_RINGS_MAX;
    size_t bytes = count * sizeof(struct flight_ring);
    rings->rings = calloc(count + 1, sizeof(struct flight_ring));
    rings->bytes = malloc(FLIGHT_RING_BYTES_MAX);
    if (rings->rings == NULL || rings->bytes == NULL)
        return CH_ERR_NO_MEMORY;
    if (copy_memory(rings, rings->state.rings, rings->rings, bytes) != bytes)
        return CH_ERR_FAULT;
    rings->count = count;
    return CH_OK;
}

static bool ring_thread_of(const void *context, size_t index, struct flight_thread *out)
{
    const struct flight_rings *rings = context;
    const struct flight_ring *ring = &rings->rings[index];
    if ((ring->state != FLIGHT_LIVE && ring->state != FLIGHT_ENDED) ||
        ring->opened == 0 || ring->blocks == 0 || ring->block_count < 2 ||
        ring->block_count > FLIGHT_BLOCKS_MAX || ring->tid <= 0)
        return false;
    *out = (struct flight_thread){ .tid = ring->tid,
                                   .dropped = ring->dropped,
                                   .wrapped = ring->opened > ring->block_count,
                                   .ended = ring->state == FLIGHT_ENDED };
    return true;
}

// copy_blocks copies count blocks, oldest first, up to block newest. Where they wrap
// around the ring's end, they are two pieces of memory. What cannot be read is left
// zero.
static void copy_blocks(struct flight_rings *rings, const struct flight_ring *ring,
                        uint64_t newest, uint64_t count)
{
    uint64_t total = ring->block_count;
    uint64_t first = (newest + total + 1 - count) % total;
    uint64_t ahead = first + count <= total ? count : total - first;
    size_t size = (size_t)(count * FLIGHT_BLOCK_BYTES);
    size_t piece = (size_t)(ahead * FLIGHT_BLOCK_BYTES);
    memset(rings->bytes, 0, size);
    (void)copy_memory(rings, ring->blocks + first * FLIGHT_BLOCK_BYTES, rings->bytes,
                      piece);
    if (size != piece)
        (void)copy_memory(rings, ring->blocks, rings->bytes + piece, size - piece);
}

static enum ch_status read_ring(void *context, size_t index, struct flight_calls *calls,
                                uint64_t *dropped)
{
    static const struct fdr_header header = { .version = 1, .type = 1 };
    struct flight_rings *rings = context;
    const struct flight_ring *ring = &rings->rings[index];
    uint64_t total = ring->block_count;
    uint64_t newest = (ring->opened - 1) % total;
    uint64_t count = ring->opened < total ? ring->opened : total;
    if (count > FLIGHT_RING_BYTES_MAX / FLIGHT_BLOCK_BYTES)
        count = FLIGHT_RING_BYTES_MAX / FLIGHT_BLOCK_BYTES;
    copy_blocks(rings, ring, newest, count);
    // The newest block ends where its next record would be written.
    uint64_t written = ring->at - (ring->blocks + newest * FLIGHT_BLOCK_BYTES);
    enum ch_status status = CH_OK;
    for (uint64_t i = 0; status == CH_OK && i < count; i++) {
        bool open = i == count - 1 && written < FLIGHT_BLOCK_BYTES;
        status = flight_source_add(&header, rings->bytes + i * FLIGHT_BLOCK_BYTES,
                                   open ? (size_t)written : FLIGHT_BLOCK_BYTES, calls,
                                   dropped);
    }
    return status;
}

static uint64_t ring_function_of(const void *context, uint32_t number)
{
    const struct flight_rings *rings = context;
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

// set_clock sets the clock by which times are computed. For a live process it is this
// machine's. A core has only the last reading of the clock and the newest record, and
// times count from the latter.
static void set_clock(const struct flight_rings *rings, struct flight_source *out)
{
    struct flight_clock *clock = &out->clock;
    uint64_t newest = rings->state.start_tsc;
    *clock = (struct flight_clock){ .start_tsc = rings->state.start_tsc,
                                    .start_ns = rings->state.start_ns,
                                    .now_tsc = rings->state.start_tsc,
                                    .now_ns = rings->state.start_ns };
    if (capture_is_process(rings->capture)) {
        flight_clock_now(clock);
        out->zero_ns = (int64_t)clock->now_ns;
        return;
    }
    for (size_t i = 0; i < rings->count; i++) {
        const struct flight_ring *ring = &rings->rings[i];
        if (ring->last_tsc > newest)
            newest = ring->last_tsc;
        if (ring->sync_tsc <= clock->now_tsc)
            continue;
        clock->now_tsc = ring->sync_tsc;
        clock->now_ns = ring->sync_ns;
    }
    out->zero_ns = flight_clock_ns(clock, newest);
}

enum ch_status flight_rings_open(struct flight_rings *rings, struct capture *capture,
                                 struct flight_source *out)
{
    *rings = (struct flight_rings){ .capture = capture };
    enum ch_status status = find_state(rings);
    if (status == CH_OK)
        status = read_ring_list(rings);
    if (status != CH_OK) {
        flight_rings_close(rings);
        return status;
    }
    *out = (struct flight_source){ .context = rings,
                                   .count = rings->count,
                                   .threads_missed = rings->state.threads_missed,
                                   .thread = ring_thread_of,
                                   .read = read_ring,
                                   .function = ring_function_of };
    set_clock(rings, out);
    return CH_OK;
}

void flight_rings_close(struct flight_rings *rings)
{
    free(rings->rings);
    free(rings->bytes);
    *rings = (struct flight_rings){ 0 };
}
