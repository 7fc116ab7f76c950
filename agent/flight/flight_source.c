// SPDX-License-Identifier: Apache-2.0
#include "agent/flight/flight_source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"
#include "formats/interchange/fdr.h"
#include "shared/counter.h"

enum ch_status flight_calls_init(struct flight_calls *calls, size_t kept)
{
    *calls = (struct flight_calls){ .kept = kept != 0 ? kept : 1 };
    calls->events = calloc(calls->kept, sizeof(*calls->events));
    return calls->events != NULL ? CH_OK : CH_ERR_NO_MEMORY;
}

void flight_calls_deinit(struct flight_calls *calls)
{
    free(calls->events);
    free(calls->open);
    *calls = (struct flight_calls){ 0 };
}

void flight_calls_clear(struct flight_calls *calls)
{
    calls->count = 0;
    calls->open_count = 0;
    calls->deeper = 0;
    calls->shallowest = 0;
    calls->cpu = 0;
}

static int64_t level_of(const struct flight_calls *calls)
{
    return calls->shallowest + (int64_t)(calls->open_count + calls->deeper);
}

static struct flight_event *place_of_call(const struct flight_calls *calls,
                                          uint64_t number)
{
    return &calls->events[number % calls->kept];
}

static enum ch_status push_call(struct flight_calls *calls,
                                const struct flight_event *entry)
{
    if (calls->open_count == FLIGHT_OPEN_MAX) {
        calls->deeper++;
        return CH_OK;
    }
    if (!array_reserve(&calls->open, &calls->open_capacity, calls->open_count,
                       sizeof(*calls->open)))
        return CH_ERR_NO_MEMORY;
    calls->open[calls->open_count++] = *entry;
    return CH_OK;
}

// pop_call closes the innermost open call of function, and the calls made from it.
// Where none is open, its entry was overwritten, and so were the entries of all calls
// open inside it.
static void pop_call(struct flight_calls *calls, uint32_t function)
{
    if (calls->deeper != 0) {
        calls->deeper--;
        return;
    }
    for (size_t i = calls->open_count; i > 0; i--) {
        if (calls->open[i - 1].function == function) {
            calls->open_count = i - 1;
            return;
        }
    }
    calls->open_count = 0;
    calls->shallowest--;
}

// note_call_argument attaches an argument to the entry just before it.
static void note_call_argument(struct flight_calls *calls, uint64_t argument)
{
    struct flight_event *last =
        calls->count != 0 ? place_of_call(calls, calls->count - 1) : NULL;
    if (last == NULL || last->action != FDR_ENTER_ARGS || last->has_argument)
        return; // a second argument, or without an entry
    last->argument = argument;
    last->has_argument = true;
    if (calls->deeper == 0 && calls->open_count != 0)
        calls->open[calls->open_count - 1] = *last;
}

static enum ch_status note_called_function(struct flight_calls *calls,
                                           const struct fdr_record *record)
{
    struct flight_event event = { .action = record->action,
                                  .function = record->function,
                                  .tsc = record->tsc,
                                  .cpu = calls->cpu };
    enum ch_status status = CH_OK;
    bool entry = record->action == FDR_ENTER || record->action == FDR_ENTER_ARGS;
    event.level = level_of(calls);
    if (entry) {
        status = push_call(calls, &event);
    } else {
        pop_call(calls, record->function);
        event.level = level_of(calls);
    }
    *place_of_call(calls, calls->count++) = event;
    return status;
}

enum ch_status flight_calls_add(struct flight_calls *calls,
                                const struct fdr_record *record)
{
    switch (record->kind) {
    case FDR_NEW_CPU:
        calls->cpu = record->cpu;
        return CH_OK;
    case FDR_CALL_ARGUMENT:
        note_call_argument(calls, record->argument);
        return CH_OK;
    case FDR_FUNCTION:
        return note_called_function(calls, record);
    default:
        return CH_OK;
    }
}

size_t flight_calls_listed(const struct flight_calls *calls)
{
    return calls->count < calls->kept ? (size_t)calls->count : calls->kept;
}

const struct flight_event *flight_calls_event(const struct flight_calls *calls,
                                              size_t index)
{
    return place_of_call(calls, calls->count - flight_calls_listed(calls) + index);
}

uint64_t flight_calls_depth(const struct flight_calls *calls,
                            const struct flight_event *event)
{
    return (uint64_t)(event->level - calls->shallowest);
}

void flight_clock_now(struct flight_clock *clock)
{
    clock->now_tsc = counter_read();
    clock->now_ns = counter_clock_ns();
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

enum ch_status flight_source_add(const struct fdr_header *header, const void *bytes,
                                 size_t size, struct flight_calls *calls,
                                 uint64_t *dropped)
{
    struct fdr_reader reader;
    struct fdr_record record;
    enum ch_status status;
    fdr_reader_init_buffer(&reader, header, bytes, size);
    while ((status = fdr_next_record(&reader, &record)) == CH_OK) {
        status = flight_calls_add(calls, &record);
        if (status != CH_OK)
            return status;
    }
    *dropped += status != CH_END;
    return CH_OK;
}
