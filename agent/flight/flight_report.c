// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "agent/facts/raw_write.h"
#include "agent/flight/flight_source.h"
#include "agent/live/capture.h"
#include "base/hex.h"
#include "shared/flight_state.h"

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
    if (capture_is_process(capture))
        return target_memory_copy(&capture->memory, address, to, size);
    return memory_read_part(&capture->reader, address, to, size);
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

// is_loaded returns true if the process has the image where the record says.
static bool is_loaded(const struct capture *capture, const struct flight_image *image)
{
    for (size_t i = 0; i < capture->images.count; i++) {
        const struct target_image *loaded = &capture->images.images[i];
        if (loaded->base != image->start)
            continue;
        if (image->build_id_size != 0 || loaded->build_id_size != 0)
            return image->build_id_size == loaded->build_id_size &&
                   memcmp(image->build_id, loaded->build_id, image->build_id_size) == 0;
        return strlen(image->path) == loaded->path_size &&
               memcmp(image->path, loaded->path, loaded->path_size) == 0;
    }
    return false;
}

// read_flight_images reads the images of the recorder's functions.
static void read_flight_images(struct flight_rings *rings)
{
    uint64_t count = rings->state.image_count < FLIGHT_IMAGES ? rings->state.image_count
                                                              : FLIGHT_IMAGES;
    size_t got = copy_memory(rings, rings->state.images, rings->images,
                             (size_t)count * sizeof(rings->images[0]));
    rings->image_count = got / sizeof(rings->images[0]);
    for (size_t i = 0; i < rings->image_count; i++) {
        struct flight_image *image = &rings->images[i];
        image->path[sizeof(image->path) - 1] = 0;
        if (image->build_id_size > sizeof(image->build_id))
            image->build_id_size = 0;
        if (!is_loaded(rings->capture, image))
            rings->unloaded[rings->unloaded_count++] = image;
    }
}

// find_unloaded gives the number from 1 on of the image of the function in a slot of
// the recorder's table, if that image was unloaded. 0: it was not, or is not known.
static uint64_t find_unloaded(const struct flight_rings *rings, uint64_t slot)
{
    uint64_t number = slot >> FLIGHT_ADDRESS_BITS;
    for (size_t i = 0; i < rings->unloaded_count; i++) {
        const struct flight_image *image = rings->unloaded[i];
        bool is_its = number != 0 ? image == &rings->images[number - 1]
                                  : slot >= image->start && slot < image->end;
        if (is_its)
            return i + 1;
    }
    return 0;
}

enum ch_status flight_rings_open(struct flight_rings *rings, struct capture *capture,
                                 struct flight_source *out)
{
    *rings = (struct flight_rings){ .capture = capture };
    enum ch_status status = find_state(rings);
    if (status == CH_OK)
        status = read_ring_list(rings);
    if (status == CH_OK)
        read_flight_images(rings);
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

enum {
    CRASHED_EVENTS = 1024, // of the crashed thread
    OTHER_EVENTS = 4096,   // of all others together
    OTHER_EVENTS_MAX = 256,
    OTHER_EVENTS_MIN = 16,
    OPEN_LISTED = 256, // innermost open calls listed per thread
    ADDRESSES = 16384, // slots of the hash table of functions to name
};

// An addresses is the set of functions written: a hash table by address, which has in
// its upper bits the number of an image that was unloaded, as in a slot of the
// recorder.
struct addresses {
    uint64_t *places;
    size_t count;
};

struct flight_report {
    struct capture *capture;
    struct json_writer *w;
    struct flight_source source;
    const struct flight_rings *rings; // NULL: the source is another one
    size_t first_image;
    struct flight_calls calls;
    struct addresses addresses;
};

#define ADDRESS_MASK ((UINT64_C(1) << FLIGHT_ADDRESS_BITS) - 1)

// note_address adds a function to those to be named, while the table is at most half
// full.
static void note_address(struct addresses *addresses, uint64_t address)
{
    size_t place = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 50);
    if (address == 0 || addresses->count >= ADDRESSES / 2)
        return;
    while (addresses->places[place] != 0 && addresses->places[place] != address)
        place = (place + 1) % ADDRESSES;
    addresses->count += addresses->places[place] == 0;
    addresses->places[place] = address;
}

// function_at gives the address of a function, with the number of its image from 1 on
// in the upper bits if that was unloaded.
static uint64_t function_at(const struct flight_report *report, uint32_t number)
{
    uint64_t slot = report->source.function(report->source.context, number);
    uint64_t image = report->rings != NULL && number >= FLIGHT_FIRST_ID
                         ? find_unloaded(report->rings, slot)
                         : 0;
    return (slot & ADDRESS_MASK) | image << FLIGHT_ADDRESS_BITS;
}

// write_unloaded writes which image a function is of, if that was unloaded. It returns
// the image, or NULL.
static const struct flight_image *write_unloaded(const struct flight_report *report,
                                                 uint64_t function)
{
    uint64_t number = function >> FLIGHT_ADDRESS_BITS;
    if (number == 0)
        return NULL;
    raw_write_count(report->w, "image", report->first_image + number - 1);
    return report->rings->unloaded[number - 1];
}

// write_flight_function writes what is known of an event's function.
static void write_flight_function(struct flight_report *report,
                                  const struct flight_event *event)
{
    uint64_t function = function_at(report, event->function);
    if (function != 0)
        raw_write_address(report->w, "address", function & ADDRESS_MASK);
    if (event->function < FLIGHT_FIRST_ID)
        raw_write_count(report->w, "id", event->function);
    (void)write_unloaded(report, function);
    note_address(&report->addresses, function);
}

// zero_of is the time that events are relative to: that of the crash, if known.
static uint64_t zero_of(const struct flight_report *report)
{
    const struct target_crash *crash = report->capture->crash;
    return crash != NULL && crash->monotonic_ns != 0 ? crash->monotonic_ns
                                                     : (uint64_t)report->source.zero_ns;
}

static void write_flight_time(struct flight_report *report,
                              const struct flight_event *event)
{
    int64_t ns = flight_clock_ns(&report->source.clock, event->tsc);
    json_write_key(report->w, "t_ns");
    json_write_int(report->w, (int64_t)((uint64_t)ns - zero_of(report)));
    raw_write_count(report->w, "depth", flight_calls_depth(&report->calls, event));
}

static void write_flight_arguments(struct json_writer *w,
                                   const struct flight_event *event)
{
    if (!event->has_argument)
        return;
    json_write_key(w, "arguments");
    json_write_array(w);
    json_write_hex(w, event->argument);
    json_write_end(w, ']');
}

static void write_events(struct flight_report *report, size_t limit)
{
    struct json_writer *w = report->w;
    size_t count = flight_calls_listed(&report->calls);
    uint32_t cpu = UINT32_MAX;
    json_write_key(w, "events");
    json_write_array(w);
    for (size_t i = count < limit ? 0 : count - limit; i < count; i++) {
        const struct flight_event *event = flight_calls_event(&report->calls, i);
        json_write_object(w);
        json_write_key(w, "action");
        json_write_plain(w, fdr_action_name(event->action));
        write_flight_function(report, event);
        write_flight_time(report, event);
        write_flight_arguments(w, event);
        if (event->cpu != cpu) // written only where it changes
            raw_write_count(w, "cpu", event->cpu);
        cpu = event->cpu;
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

// write_open_calls writes the calls that had not returned, outermost first: once by
// address, which the free phase replaces by names, and once with all that is known of
// each.
static void write_open_calls(struct flight_report *report)
{
    struct json_writer *w = report->w;
    const struct flight_calls *calls = &report->calls;
    size_t first =
        calls->open_count < OPEN_LISTED ? 0 : calls->open_count - OPEN_LISTED;
    json_write_key(w, "open_calls");
    json_write_array(w);
    for (size_t i = first; i < calls->open_count; i++)
        json_write_hex(w, function_at(report, calls->open[i].function) & ADDRESS_MASK);
    json_write_end(w, ']');
    json_write_key(w, "open");
    json_write_array(w);
    for (size_t i = first; i < calls->open_count; i++) {
        json_write_object(w);
        write_flight_function(report, &calls->open[i]);
        write_flight_time(report, &calls->open[i]);
        write_flight_arguments(w, &calls->open[i]);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
    if (first != 0 || calls->deeper != 0)
        raw_write_count(w, "open_omitted", first + calls->deeper);
}

static const char *source_name(const struct flight_report *report,
                               const struct flight_thread *thread)
{
    size_t listed = flight_calls_listed(&report->calls);
    if (thread->source != NULL)
        return thread->source;
    bool xray =
        listed != 0 &&
        flight_calls_event(&report->calls, listed - 1)->function < FLIGHT_FIRST_ID;
    return xray ? "xray-handler" : "finstrument";
}

static void write_flight_thread(struct flight_report *report, size_t index,
                                const struct flight_thread *thread, size_t limit)
{
    struct json_writer *w = report->w;
    uint64_t dropped = thread->dropped;
    flight_calls_clear(&report->calls);
    if (report->source.read(report->source.context, index, &report->calls, &dropped) !=
        CH_OK)
        capture_problem(report->capture, "flight", "out of memory", 0);
    json_write_object(w);
    raw_write_count(w, "tid", (uint64_t)thread->tid);
    json_write_key(w, "source");
    json_write_plain(w, source_name(report, thread));
    raw_write_count(w, "dropped", dropped);
    json_write_key(w, "wrapped");
    json_write_bool(w, thread->wrapped);
    json_write_key(w, "ended");
    json_write_bool(w, thread->ended);
    write_events(report, limit);
    write_open_calls(report);
    json_write_end(w, '}');
}

static bool is_crashed(const struct flight_report *report,
                       const struct flight_thread *thread)
{
    const struct target_crash *crash = report->capture->crash;
    return crash != NULL && thread->tid == crash->tid && !thread->ended;
}

// write_these writes either the crashed thread or all others.
static void write_these(struct flight_report *report, bool crashed, size_t limit)
{
    const struct flight_source *source = &report->source;
    for (size_t i = 0; i < source->count; i++) {
        struct flight_thread thread;
        if (source->thread(source->context, i, &thread) &&
            is_crashed(report, &thread) == crashed)
            write_flight_thread(report, i, &thread, limit);
    }
}

static void write_threads(struct flight_report *report)
{
    struct json_writer *w = report->w;
    size_t others = report->source.count;
    size_t limit = others != 0 ? OTHER_EVENTS / others : 0;
    limit = limit > OTHER_EVENTS_MAX ? OTHER_EVENTS_MAX : limit;
    limit = limit < OTHER_EVENTS_MIN ? OTHER_EVENTS_MIN : limit;
    json_write_key(w, "threads");
    json_write_array(w);
    write_these(report, true, CRASHED_EVENTS);
    write_these(report, false, limit);
    json_write_end(w, ']');
}

// write_functions lists the functions to be named in the form of a backtrace, so that
// the free phase names them as it names one.
static void write_functions(struct flight_report *report)
{
    struct json_writer *w = report->w;
    json_write_key(w, "functions");
    json_write_object(w);
    json_write_key(w, "frames");
    json_write_array(w);
    for (size_t i = 0; i < ADDRESSES; i++) {
        uint64_t function = report->addresses.places[i];
        if (function == 0)
            continue;
        json_write_object(w);
        json_write_key(w, "kind");
        json_write_plain(w, "pc");
        raw_write_address(w, "address", function & ADDRESS_MASK);
        const struct flight_image *image = write_unloaded(report, function);
        if (image != NULL)
            raw_write_address(w, "image_offset",
                              (function & ADDRESS_MASK) - image->start);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
    json_write_end(w, '}');
}

static enum ch_status write_flight_source(struct flight_report *report)
{
    struct json_writer *w = report->w;
    report->addresses.places = calloc(ADDRESSES, sizeof(uint64_t));
    enum ch_status status = report->addresses.places != NULL ? CH_OK : CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        status = flight_calls_init(&report->calls, CRASHED_EVENTS);
    if (status == CH_OK) {
        json_write_key(w, "flight");
        json_write_object(w);
        raw_write_count(w, "cycles_per_second",
                        flight_clock_frequency(&report->source.clock));
        raw_write_count(w, "threads_missed", report->source.threads_missed);
        write_threads(report);
        write_functions(report);
        json_write_end(w, '}');
        flight_calls_deinit(&report->calls);
    }
    free(report->addresses.places);
    return status;
}

// write_scanned looks for XRay's own recorder, which a program without ours may use. It
// does so only in a crashed process where a flight record was asked for.
static enum ch_status write_scanned(struct flight_report *report)
{
    struct flight_scan scan;
    const struct capture *capture = report->capture;
    if (capture->settings->flight_bytes == 0 || capture->crash == NULL ||
        !capture_is_process(capture))
        return CH_OK;
    enum ch_status status = flight_scan_open(&scan, report->capture, &report->source);
    if (status == CH_ERR_NOT_FOUND)
        return CH_OK;
    if (status != CH_OK)
        return status;
    status = write_flight_source(report);
    flight_scan_close(&scan);
    return status;
}

static enum ch_status write_recorded(struct flight_report *report)
{
    struct flight_rings rings;
    enum ch_status status = flight_rings_open(&rings, report->capture, &report->source);
    if (status != CH_OK)
        return status;
    report->rings = &rings;
    status = write_flight_source(report);
    report->rings = NULL;
    flight_rings_close(&rings);
    return status;
}

// flight_image_write writes an image without code: it is not in memory any more.
static void flight_image_write(struct json_writer *w, const struct capture *capture,
                               const struct flight_image *image)
{
    char build_id[2 * FLIGHT_BUILD_ID_BYTES + 1];
    const char *slash = strrchr(image->path, '/');
    json_write_object(w);
    json_write_key(w, "name");
    json_write_string(w, slash != NULL ? slash + 1 : image->path);
    raw_write_path(w, capture, "path", image->path, strlen(image->path));
    hex_encode(image->build_id, image->build_id_size, build_id);
    raw_write_string(w, "build_id", build_id);
    raw_write_address(w, "base", image->start);
    raw_write_address(w, "end_of_text", image->start);
    json_write_key(w, "unloaded");
    json_write_bool(w, true);
    json_write_end(w, '}');
}

void flight_images_write(struct json_writer *w, struct capture *capture)
{
    struct flight_rings rings = { .capture = capture };
    if (find_state(&rings) != CH_OK)
        return;
    read_flight_images(&rings);
    for (size_t i = 0; i < rings.unloaded_count; i++)
        flight_image_write(w, capture, rings.unloaded[i]);
}

void flight_report_write(struct json_writer *w, struct capture *capture,
                         size_t first_image)
{
    struct flight_report report = { .capture = capture,
                                    .w = w,
                                    .first_image = first_image };
    enum ch_status status = write_recorded(&report);
    if (status == CH_ERR_NOT_FOUND)
        status = write_scanned(&report);
    if (status != CH_OK)
        capture_problem(capture, "flight", ch_status_name(status), 0);
}
