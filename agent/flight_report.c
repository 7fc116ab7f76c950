// SPDX-License-Identifier: Apache-2.0
#include "agent/flight_report.h"

#include <stdlib.h>

#include "agent/flight_rings.h"

enum {
    CRASHED_EVENTS = 1024, // of the thread that crashed
    OTHER_EVENTS = 4096,   // of all others together
    OTHER_EVENTS_MAX = 256,
    OTHER_EVENTS_MIN = 16,
    OPEN_LISTED = 256, // open calls of a thread, the innermost
    ADDRESSES = 16384, // places for functions that are named
};

// The functions that were written, each once: a table by address.
struct addresses {
    uint64_t *places;
    size_t count;
};

struct flight_report {
    struct capture *capture;
    struct json_writer *w;
    struct flight_rings rings;
    struct flight_calls calls;
    struct addresses addresses;
    size_t others; // threads besides the crashed one
};

// note_address adds a function to those to be named, while there is room.
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

static void write_member(struct json_writer *w, const char *key, uint64_t value)
{
    json_write_key(w, key);
    json_write_uint(w, value);
}

static void write_hex_member(struct json_writer *w, const char *key, uint64_t value)
{
    json_write_key(w, key);
    json_write_hex(w, value);
}

// write_function writes what is known of an event's function.
static void write_function(struct flight_report *report,
                           const struct flight_event *event)
{
    uint64_t address = flight_rings_function(&report->rings, event->function);
    if (address != 0)
        write_hex_member(report->w, "address", address);
    if (event->function < FLIGHT_FIRST_ID)
        write_member(report->w, "id", event->function);
    note_address(&report->addresses, address);
}

static void write_time(struct flight_report *report, const struct flight_event *event)
{
    const struct target_crash *crash = report->capture->crash;
    int64_t ns = flight_clock_ns(&report->rings.clock, event->tsc);
    json_write_key(report->w, "t_ns");
    json_write_int(report->w, ns - (int64_t)crash->monotonic_ns);
    write_member(report->w, "depth", flight_calls_depth(&report->calls, event));
}

static void write_arguments(struct json_writer *w, const struct flight_event *event)
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
        write_function(report, event);
        write_time(report, event);
        write_arguments(w, event);
        if (event->cpu != cpu) // said where it changes
            write_member(w, "cpu", event->cpu);
        cpu = event->cpu;
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

// write_open writes the calls that had not returned, outermost first: by address, which
// the free phase replaces by names, and with what else is known of each.
static void write_open(struct flight_report *report)
{
    struct json_writer *w = report->w;
    const struct flight_calls *calls = &report->calls;
    size_t first =
        calls->open_count < OPEN_LISTED ? 0 : calls->open_count - OPEN_LISTED;
    json_write_key(w, "open_calls");
    json_write_array(w);
    for (size_t i = first; i < calls->open_count; i++)
        json_write_hex(w,
                       flight_rings_function(&report->rings, calls->open[i].function));
    json_write_end(w, ']');
    json_write_key(w, "open");
    json_write_array(w);
    for (size_t i = first; i < calls->open_count; i++) {
        json_write_object(w);
        write_function(report, &calls->open[i]);
        write_time(report, &calls->open[i]);
        write_arguments(w, &calls->open[i]);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
    if (first != 0 || calls->deeper != 0)
        write_member(w, "open_omitted", first + calls->deeper);
}

static void write_thread(struct flight_report *report, size_t index, size_t limit)
{
    struct json_writer *w = report->w;
    const struct flight_ring *ring = &report->rings.rings[index];
    flight_calls_clear(&report->calls);
    if (flight_rings_read(&report->rings, index, &report->calls) != CH_OK)
        capture_problem(report->capture, "flight", "out of memory", ring->blocks);
    size_t listed = flight_calls_listed(&report->calls);
    bool xray =
        listed != 0 &&
        flight_calls_event(&report->calls, listed - 1)->function < FLIGHT_FIRST_ID;
    json_write_object(w);
    write_member(w, "tid", (uint64_t)ring->tid);
    json_write_key(w, "source");
    json_write_plain(w, xray ? "xray-handler" : "finstrument");
    write_member(w, "dropped", ring->dropped);
    json_write_key(w, "wrapped");
    json_write_bool(w, ring->opened > ring->block_count);
    json_write_key(w, "ended");
    json_write_bool(w, ring->state == FLIGHT_ENDED);
    write_events(report, limit);
    write_open(report);
    json_write_end(w, '}');
}

static bool is_crashed(const struct flight_report *report, size_t index)
{
    const struct flight_ring *ring = &report->rings.rings[index];
    return ring->tid == report->capture->crash->tid && ring->state == FLIGHT_LIVE;
}

static void write_threads(struct flight_report *report)
{
    struct json_writer *w = report->w;
    const struct flight_rings *rings = &report->rings;
    size_t limit = report->others != 0 ? OTHER_EVENTS / report->others : 0;
    limit = limit > OTHER_EVENTS_MAX ? OTHER_EVENTS_MAX : limit;
    limit = limit < OTHER_EVENTS_MIN ? OTHER_EVENTS_MIN : limit;
    json_write_key(w, "threads");
    json_write_array(w);
    for (size_t i = 0; i < rings->count; i++) {
        if (flight_rings_has(rings, i) && is_crashed(report, i))
            write_thread(report, i, CRASHED_EVENTS);
    }
    for (size_t i = 0; i < rings->count; i++) {
        if (flight_rings_has(rings, i) && !is_crashed(report, i))
            write_thread(report, i, limit);
    }
    json_write_end(w, ']');
}

// write_functions lists what is to be named in the form of a backtrace, so that it is
// named as one.
static void write_functions(struct flight_report *report)
{
    struct json_writer *w = report->w;
    json_write_key(w, "functions");
    json_write_object(w);
    json_write_key(w, "frames");
    json_write_array(w);
    for (size_t i = 0; i < ADDRESSES; i++) {
        uint64_t address = report->addresses.places[i];
        if (address == 0)
            continue;
        json_write_object(w);
        json_write_key(w, "kind");
        json_write_plain(w, "pc");
        write_hex_member(w, "address", address);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
    json_write_end(w, '}');
}

static void write_report(struct flight_report *report)
{
    struct json_writer *w = report->w;
    const struct flight_rings *rings = &report->rings;
    for (size_t i = 0; i < rings->count; i++)
        report->others += flight_rings_has(rings, i) && !is_crashed(report, i);
    json_write_key(w, "flight");
    json_write_object(w);
    write_member(w, "cycles_per_second", flight_clock_frequency(&rings->clock));
    write_member(w, "threads_missed", rings->state.threads_missed);
    write_threads(report);
    write_functions(report);
    json_write_end(w, '}');
}

void flight_report_write(struct json_writer *w, struct capture *capture)
{
    struct flight_report report = { .capture = capture, .w = w };
    enum ch_status status = flight_rings_open(&report.rings, capture);
    if (status == CH_ERR_NOT_FOUND)
        return;
    if (status == CH_OK)
        status = flight_calls_init(&report.calls, CRASHED_EVENTS);
    report.addresses.places = calloc(ADDRESSES, sizeof(uint64_t));
    if (status == CH_OK && report.addresses.places == NULL)
        status = CH_ERR_NO_MEMORY;
    if (status == CH_OK)
        write_report(&report);
    else
        capture_problem(capture, "flight", ch_status_name(status), 0);
    free(report.addresses.places);
    flight_calls_deinit(&report.calls);
    flight_rings_close(&report.rings);
}
