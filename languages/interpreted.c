// SPDX-License-Identifier: Apache-2.0
#include "languages/interpreted.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/settings/settings.h"
#include "base/sorted.h"

void interpreted_deinit(struct interpreted *table)
{
    free(table->frames);
    free(table->runs);
    free(table->groups);
    *table = (struct interpreted){ 0 };
}

enum ch_status interpreted_add(struct interpreted *table,
                               struct interpreted_frame frame)
{
    if (table->frame_count >= UINT32_MAX ||
        !array_reserve(&table->frames, &table->frame_capacity, table->frame_count,
                       sizeof(frame)))
        return CH_ERR_NO_MEMORY;
    table->frames[table->frame_count++] = frame;
    return CH_OK;
}

static uint32_t run_begin(const struct interpreted *table)
{
    if (table->run_count == 0)
        return 0;
    const struct interpreted_run *last = &table->runs[table->run_count - 1];
    return last->first + last->count;
}

// leave_middle_out keeps the inner frames and the outermost of a long run.
static void leave_middle_out(struct interpreted *table, struct interpreted_run *run)
{
    uint32_t limit = table->limit;
    uint32_t top = table->top < limit ? table->top : 0;
    if (limit == 0 || limit == SETTING_NO_LIMIT || run->count <= limit)
        return;
    struct interpreted_frame *first = table->frames + run->first;
    memmove(first + limit - top, first + run->count - top, top * sizeof(*first));
    run->gap = limit - top;
    run->omitted = run->count - limit;
    run->count = limit;
}

enum ch_status interpreted_end_run(struct interpreted *table, uint64_t stack,
                                   uint64_t thread)
{
    struct interpreted_run run = { .stack = stack,
                                   .thread = thread,
                                   .first = run_begin(table) };
    run.count = (uint32_t)table->frame_count - run.first;
    if (run.count == 0)
        return CH_OK;
    if (!array_reserve(&table->runs, &table->run_capacity, table->run_count,
                       sizeof(run)))
        return CH_ERR_NO_MEMORY;
    leave_middle_out(table, &run);
    table->frame_count = run.first + run.count;
    table->runs[table->run_count++] = run;
    return CH_OK;
}

void interpreted_drop_run(struct interpreted *table)
{
    table->frame_count = run_begin(table);
}

static int by_stack(const void *left, const void *right)
{
    const struct interpreted_run *a = left;
    const struct interpreted_run *b = right;
    if (a->stack != b->stack)
        return a->stack < b->stack ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

void interpreted_sort(struct interpreted *table)
{
    if (table->run_count > 1)
        qsort(table->runs, table->run_count, sizeof(table->runs[0]), by_stack);
}

static uint64_t hash_frames(const struct interpreted *table,
                            const struct interpreted_run *run)
{
    uint64_t hash = run->omitted;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct interpreted_frame *frame = &table->frames[run->first + i];
        hash = (hash ^ frame->code) * 0x9e3779b97f4a7c15;
        hash = (hash ^ (uint32_t)frame->offset) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool frames_equal(const struct interpreted *table,
                         const struct interpreted_run *a,
                         const struct interpreted_run *b)
{
    if (a->owner != b->owner || a->count != b->count || a->omitted != b->omitted ||
        a->gap != b->gap)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        const struct interpreted_frame *left = &table->frames[a->first + i];
        const struct interpreted_frame *right = &table->frames[b->first + i];
        if (left->code != right->code || left->offset != right->offset)
            return false;
    }
    return true;
}

// intern_group gives the number of the group with these frames.
static uint32_t intern_group(struct interpreted *table,
                             const struct interpreted_run *run)
{
    struct interpreted_group group = { .run = *run, .hash = hash_frames(table, run) };
    uint32_t *bucket = &table->buckets[group.hash % INTERPRETED_BUCKETS];
    for (uint32_t i = *bucket; i != INTERPRETED_NONE; i = table->groups[i].next)
        if (table->groups[i].hash == group.hash &&
            frames_equal(table, run, &table->groups[i].run))
            return i;
    size_t number = table->group_count != 0 ? table->group_count : 1;
    if (!array_reserve(&table->groups, &table->group_capacity, number, sizeof(group)))
        return INTERPRETED_NONE;
    group.next = *bucket;
    table->groups[number] = group;
    table->group_count = number + 1;
    *bucket = (uint32_t)number;
    return *bucket;
}

// join_runs makes one run of several by copying their frames to the end.
static bool join_runs(struct interpreted *table, const struct interpreted_run *runs,
                      size_t count, struct interpreted_run *out)
{
    *out = (struct interpreted_run){ .stack = runs->stack,
                                     .first = (uint32_t)table->frame_count };
    for (size_t i = 0; i < count; i++) {
        const struct interpreted_run *run = &runs[i];
        if (run->omitted != 0 && out->omitted == 0)
            out->gap = out->count + run->gap;
        out->omitted += run->omitted;
        for (uint32_t k = 0; k < run->count; k++)
            if (interpreted_add(table, table->frames[run->first + k]) != CH_OK)
                return false;
        out->count += run->count;
    }
    return true;
}

// first_run is the index of the first run at low or after it.
static size_t first_run(const struct interpreted *table, uint64_t low)
{
    return SORTED_BEFORE(table->runs, table->run_count, stack, low);
}

uint32_t interpreted_find(struct interpreted *table, uint64_t low, uint64_t high,
                          uint64_t *thread)
{
    size_t begin = first_run(table, low);
    size_t end = begin;
    if (begin == table->run_count ||
        (*thread != 0 && table->runs[begin].thread != *thread))
        return INTERPRETED_NONE;
    struct interpreted_run run = table->runs[begin];
    while (end < table->run_count && table->runs[end].stack < high &&
           table->runs[end].thread == run.thread)
        end++;
    if (begin == end)
        return INTERPRETED_NONE;
    *thread = run.thread;
    if (end - begin > 1 && !join_runs(table, &table->runs[begin], end - begin, &run))
        return INTERPRETED_NONE;
    return intern_group(table, &run);
}

uint32_t interpreted_end_group(struct interpreted *table, size_t first,
                               enum interpreted_owner owner)
{
    size_t groups = table->group_count;
    const struct interpreted_run run = {
        .owner = owner,
        .first = (uint32_t)first,
        .count = (uint32_t)(table->frame_count - first),
    };
    uint32_t group = run.count != 0 ? intern_group(table, &run) : INTERPRETED_NONE;
    if (table->group_count == groups)
        table->frame_count = first; // an equal group is stored
    return group;
}

uint32_t interpreted_find_call(struct interpreted *table, uint64_t stack, size_t call,
                               uint64_t *thread)
{
    size_t at = first_run(table, stack);
    if (call >= table->run_count - at || table->runs[at + call].stack != stack)
        return INTERPRETED_NONE;
    *thread = table->runs[at + call].thread;
    return intern_group(table, &table->runs[at + call]);
}
