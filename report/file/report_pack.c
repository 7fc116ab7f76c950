// SPDX-License-Identifier: Apache-2.0
//
// How it works: pack_members copies the members of the report; pack_threads replaces
// the backtrace of each thread by the number of a stack, and its values by a list.
//
//   pack_backtrace -> make_stack -> pack_frames: splits the frames into runs (one place
//   in the code: the calls inlined there and the function) -> pack_run -> pack_place
//   and pack_run_values
//
// Four tables find what was packed before (struct pack): places, stacks, backtraces and
// runs. The last two are keyed by the address of the JSON value, because threads of an
// open report share equal backtraces and frames: most threads need no comparison of
// frames.
//
// Invariants: the report is not changed, and packed shares its values. A search
// compares at most PACK_CANDIDATES rows, so a row may be written twice but the time is
// bounded. Memory shortage is reported by PACK_NONE or -1, and report_pack then returns
// NULL.
#include "report/file/report_pack.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/file/report_shape.h"
#include "report/file/report_tree.h"

// The variables of frames in a report that is being packed (report_pack.h): what all
// threads have in common goes to their place, and each thread keeps its values.

// pack_run is one place in a backtrace: the calls inlined there, then the function.
struct pack_run {
    const json_t *frames;
    size_t begin;
    size_t end;
};

// A table of a report that is being packed (report_pack.h): rows of JSON, indexed by a
// hash.
//
// Rows whose hashes collide form a chain, the last one first. A search compares at most
// PACK_CANDIDATES rows, so that no input makes it slow.

enum { PACK_CHAINS = 1 << 13, PACK_CANDIDATES = 16, PACK_NONE = -1 };

struct pack_table {
    json_t *rows;
    struct pack_entry {
        uint64_t hash;
        json_int_t before;  // the entry before it in its chain, or PACK_NONE
        const json_t *from; // what the row was made from: an array, or a backtrace
        size_t begin;       // first index in the array, and the one after the last
        size_t end;
        json_t *values; // owned; of a backtrace or a run: the values of its threads
    } * entries;
    size_t capacity;
    uint32_t chains[PACK_CHAINS]; // the last entry of each, plus one; 0: empty
};

// pack_table_first is the last entry of the chain of this hash, whose hash may differ.
static json_int_t pack_table_first(const struct pack_table *table, uint64_t hash)
{
    return (json_int_t)table->chains[hash % PACK_CHAINS] - 1;
}

// pack_table_deinit frees the table; a zeroed one needs an array for its rows.
static void pack_table_deinit(struct pack_table *table)
{
    for (size_t i = 0; i < json_array_size(table->rows); i++)
        json_decref(table->entries[i].values);
    json_decref(table->rows);
    free(table->entries);
}

// pack_table_add appends row, of which it takes ownership, and returns its number;
// PACK_NONE: out of memory, and the caller still owns entry's values.
static json_int_t pack_table_add(struct pack_table *table, struct pack_entry entry,
                                 json_t *row)
{
    size_t count = json_array_size(table->rows);
    if (!array_reserve(&table->entries, &table->capacity, count, sizeof(entry))) {
        json_decref(row);
        return PACK_NONE;
    }
    entry.before = pack_table_first(table, entry.hash);
    if (json_array_append_new(table->rows, row) != 0)
        return PACK_NONE;
    table->entries[count] = entry;
    table->chains[entry.hash % PACK_CHAINS] = (uint32_t)count + 1;
    return (json_int_t)count;
}

// pack_is_same compares scalars; an array or object is equal only to itself.
static bool pack_is_same(const json_t *a, const json_t *b)
{
    if (a == b)
        return true;
    if (a == NULL || b == NULL || json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_string(a))
        return json_string_length(a) == json_string_length(b) &&
               memcmp(json_string_value(a), json_string_value(b),
                      json_string_length(a)) == 0;
    if (json_is_integer(a))
        return json_integer_value(a) == json_integer_value(b);
    return false; // true, false and null are singletons
}

// pack_is_variable_list is true if the member of a frame is a list of variables, whose
// values differ from thread to thread.
static bool pack_is_variable_list(const char *key, const json_t *value)
{
    if (json_array_size(value) == 0 ||
        report_table_find(report_table_lists, REPORT_TABLE_LISTS, key) ==
            REPORT_TABLE_LISTS)
        return false;
    for (size_t i = 0; i < json_array_size(value); i++) {
        // An element is split into what its place has and what differs.
        const json_t *element = json_array_get(value, i);
        if (!json_is_object(element) || json_object_get(element, "varies") != NULL ||
            json_object_get(element, "list") != NULL ||
            json_object_get(element, "inlined") != NULL)
            return false;
    }
    return true;
}

static bool member_varies(const char *key)
{
    return report_table_find(report_table_varying, REPORT_TABLE_VARYING, key) !=
           REPORT_TABLE_VARYING;
}

// pack_run_frame is a frame of the run, which the report owns.
static json_t *pack_run_frame(const struct pack_run *run, size_t index)
{
    return json_array_get(run->frames, run->begin + index);
}

// pack_variable is a variable of a frame: which frame of its place, in which list.
struct pack_variable {
    json_t *element;
    size_t inlined; // SIZE_MAX: the function itself
    const char *list;
};

// describes_variable is true if a row of a place's variables is this variable, and all
// members except the values are equal.
static bool describes_variable(const json_t *row, const struct pack_variable *variable)
{
    const json_t *inlined = json_object_get(row, "inlined");
    const char *list = report_string(row, "list");
    const json_t *varying = json_object_get(row, "varies");
    size_t own = 0;
    size_t different = 0;
    const char *key;
    json_t *value;
    if (strcmp(list != NULL ? list : report_table_lists[0], variable->list) != 0 ||
        (inlined != NULL ? (size_t)json_integer_value(inlined) : SIZE_MAX) !=
            variable->inlined)
        return false;
    json_object_foreach(variable->element, key, value)
    {
        if (member_varies(key)) {
            const char *expected =
                json_string_value(json_array_get(varying, different++));
            if (expected == NULL || strcmp(expected, key) != 0)
                return false;
            continue;
        }
        own++;
        if (!pack_is_same(json_object_get(row, key), value))
            return false;
    }
    size_t added = (list != NULL) + (inlined != NULL) + (varying != NULL);
    return different == json_array_size(varying) &&
           own + added == json_object_size(row);
}

// describe_variable makes the row of a variable.
static json_t *describe_variable(const struct pack_variable *variable)
{
    json_t *row = json_object();
    json_t *varying = json_array();
    int failed = row == NULL || varying == NULL;
    const char *key;
    json_t *value;
    json_object_foreach(variable->element, key, value)
    {
        failed |= member_varies(key) ? json_array_append_new(varying, json_string(key))
                                     : json_object_set(row, key, value);
    }
    if (json_array_size(varying) != 0)
        failed |= json_object_set(row, "varies", varying);
    if (variable->list != report_table_lists[0])
        failed |= json_object_set_new(row, "list", json_string(variable->list));
    if (variable->inlined != SIZE_MAX)
        failed |= json_object_set_new(row, "inlined",
                                      json_integer((json_int_t)variable->inlined));
    json_decref(varying);
    if (failed == 0)
        return row;
    json_decref(row);
    return NULL;
}

// variable_number is the index of the variable in its place, or PACK_NONE. It is likely
// to be guess.
static json_int_t variable_number(json_t *place, const struct pack_variable *variable,
                                  size_t guess)
{
    json_t *rows = json_object_get(place, "variables");
    size_t count = json_array_size(rows);
    // The first rows are those of the place's first threads, and fit most other
    // threads. No two of them are of the same variable.
    size_t looked_at = PACK_CANDIDATES * PACK_CANDIDATES;
    looked_at = count < looked_at ? count : looked_at;
    if (guess < looked_at && describes_variable(json_array_get(rows, guess), variable))
        return (json_int_t)guess;
    for (size_t i = 0; i < looked_at; i++)
        if (i != guess && describes_variable(json_array_get(rows, i), variable))
            return (json_int_t)i;
    if (rows == NULL) {
        rows = json_array();
        if (json_object_set_new(place, "variables", rows) != 0)
            return PACK_NONE;
    }
    return json_array_append_new(rows, describe_variable(variable)) == 0
               ? (json_int_t)count
               : PACK_NONE;
}

// pack_variable appends a thread's values of one variable to values, and advances the
// guess which one is next: they have an order.
static int pack_variable(json_t *place, const struct pack_variable *variable,
                         size_t *guess, json_t *values)
{
    json_int_t number = variable_number(place, variable, *guess);
    *guess = (size_t)number + 1;
    json_t *one = json_array();
    int failed = number == PACK_NONE;
    failed |= json_array_append_new(one, json_integer(number));
    const char *key;
    json_t *value;
    json_object_foreach(variable->element, key, value)
    {
        if (member_varies(key))
            failed |= json_array_append(one, value);
    }
    return failed | json_array_append_new(values, one);
}

// pack_run_values appends the values of a run's frames to values, and to place what
// they describe and it does not have yet. It returns 0, or -1: out of memory.
static int pack_run_values(const struct pack_run *run, json_t *place, json_t *values)
{
    size_t count = run->end - run->begin;
    size_t guess = 0;
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        json_t *frame = pack_run_frame(run, i);
        for (size_t k = 0; k < REPORT_TABLE_LISTS; k++) {
            const json_t *list = json_object_get(frame, report_table_lists[k]);
            if (list == NULL || !pack_is_variable_list(report_table_lists[k], list))
                continue;
            for (size_t j = 0; j < json_array_size(list); j++) {
                const struct pack_variable variable = {
                    .element = json_array_get(list, j),
                    .inlined = i + 1 < count ? i : SIZE_MAX,
                    .list = report_table_lists[k],
                };
                failed |= pack_variable(place, &variable, &guess, values);
            }
        }
    }
    return failed;
}

struct pack {
    struct pack_table places;
    struct pack_table stacks;
    struct pack_table backtraces; // of the tree; a row is the number of its stack
    struct pack_table runs; // whose frames are shared; a row is the number of its place
};

static uint64_t pack_hash(uint64_t hash, const char *text)
{
    for (; text != NULL && *text != 0; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
    return hash ^ hash >> 32;
}

static uint64_t pack_hash_of(const json_t *value)
{
    uint64_t hash = ((uint64_t)(uintptr_t)value >> 4) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

// skip_lists advances an iterator to the next member that belongs to the place itself.
static void *skip_lists(json_t *frame, void *at)
{
    while (at != NULL &&
           pack_is_variable_list(json_object_iter_key(at), json_object_iter_value(at)))
        at = json_object_iter_next(frame, at);
    return at;
}

// frames_match compares two frames except for their values. Frames that were made in
// the same way have their members in the same order.
static bool frames_match(json_t *a, json_t *b)
{
    if (a == b)
        return true;
    void *at_a = skip_lists(a, json_object_iter(a));
    void *at_b = skip_lists(b, json_object_iter(b));
    while (at_a != NULL && at_b != NULL) {
        if (strcmp(json_object_iter_key(at_a), json_object_iter_key(at_b)) != 0 ||
            !pack_is_same(json_object_iter_value(at_a), json_object_iter_value(at_b)))
            return false;
        at_a = skip_lists(a, json_object_iter_next(a, at_a));
        at_b = skip_lists(b, json_object_iter_next(b, at_b));
    }
    return at_a == at_b;
}

static json_t *run_function(const struct pack_run *run)
{
    return json_array_get(run->frames, run->end - 1);
}

static bool shares_place(const json_t *a, const json_t *b)
{
    for (size_t i = 0; i < REPORT_TABLE_REPEATED; i++)
        if (!pack_is_same(json_object_get(a, report_table_repeated[i]),
                          json_object_get(b, report_table_repeated[i])))
            return false;
    return true;
}

// pack_find_run is the run that begins at frame number begin.
static struct pack_run pack_find_run(const json_t *frames, size_t begin)
{
    size_t end = begin;
    while (end + 1 < json_array_size(frames)) {
        const json_t *frame = json_array_get(frames, end);
        if (!report_flag(frame, "inline") ||
            !shares_place(frame, json_array_get(frames, end + 1)))
            break;
        end++;
    }
    return (struct pack_run){ .frames = frames, .begin = begin, .end = end + 1 };
}

static bool runs_match(const struct pack_run *a, const struct pack_entry *b)
{
    if (a->end - a->begin != b->end - b->begin)
        return false;
    for (size_t i = 0; i < a->end - a->begin; i++)
        if (!frames_match(pack_run_frame(a, i), json_array_get(b->from, b->begin + i)))
            return false;
    return true;
}

// place_members copies the members of a frame to place, without its values; for an
// inlined call also without the members that its place has.
static int place_members(json_t *place, json_t *frame, bool inlined)
{
    const char *key;
    json_t *value;
    int failed = place == NULL;
    json_object_foreach(frame, key, value)
    {
        bool repeated = report_table_find(report_table_repeated, REPORT_TABLE_REPEATED,
                                          key) != REPORT_TABLE_REPEATED;
        bool ours = strcmp(key, "inlined") == 0 || strcmp(key, "variables") == 0;
        if (!pack_is_variable_list(key, value) && !ours && !(inlined && repeated))
            failed |= json_object_set(place, key, value);
    }
    return failed;
}

static json_t *pack_make_place(const struct pack_run *run)
{
    size_t calls = run->end - run->begin - 1;
    json_t *place = json_object();
    int failed = place_members(place, run_function(run), false);
    json_t *inlined = calls != 0 ? json_array() : NULL;
    for (size_t i = 0; i < calls; i++) {
        json_t *call = json_object();
        failed |= place_members(call, pack_run_frame(run, i), true);
        failed |= json_array_append_new(inlined, call);
    }
    if (calls != 0)
        failed |= json_object_set_new(place, "inlined", inlined);
    if (failed == 0)
        return place;
    json_decref(place);
    return NULL;
}

// pack_place is the number of the place of a run, or PACK_NONE.
static json_int_t pack_place(struct pack *pack, const struct pack_run *run)
{
    struct pack_table *places = &pack->places;
    const json_t *function = run_function(run);
    uint64_t hash = pack_hash(0xcbf29ce484222325, report_string(function, "address"));
    hash = pack_hash(hash, report_string(function, "kind"));
    json_int_t at = pack_table_first(places, hash);
    for (int i = 0; at != PACK_NONE && i < PACK_CANDIDATES; i++) {
        const struct pack_entry *entry = &places->entries[at];
        if (entry->hash == hash && runs_match(run, entry))
            return at;
        at = entry->before;
    }
    json_t *place = pack_make_place(run);
    const struct pack_entry entry = {
        .hash = hash, .from = run->frames, .begin = run->begin, .end = run->end
    };
    return place != NULL ? pack_table_add(places, entry, place) : PACK_NONE;
}

// pack_new_run gives the number of a run's place, or PACK_NONE, and its values.
static json_int_t pack_new_run(struct pack *pack, const struct pack_run *run,
                               size_t position, json_t **out_values)
{
    json_int_t number = pack_place(pack, run);
    if (number == PACK_NONE)
        return PACK_NONE;
    json_t *values = json_array();
    int failed = json_array_append_new(values, json_integer((json_int_t)position));
    failed |=
        pack_run_values(run, json_array_get(pack->places.rows, (size_t)number), values);
    if (failed == 0) {
        *out_values = values;
        return number;
    }
    json_decref(values);
    return PACK_NONE;
}

// has_frames returns true if the frames of a run are those of an entry, and not only
// equal to them.
static bool has_frames(const struct pack_run *run, const struct pack_entry *entry)
{
    size_t count = run->end - run->begin;
    bool same = count == entry->end - entry->begin;
    for (size_t i = 0; same && i < count; i++)
        same = pack_run_frame(run, i) == json_array_get(entry->from, entry->begin + i);
    return same;
}

// find_packed_run is the entry of a run that several threads share, at the same
// position in their stacks, or NULL.
static const struct pack_entry *find_packed_run(const struct pack *pack,
                                                const struct pack_run *run,
                                                size_t position, uint64_t hash)
{
    json_int_t at = pack_table_first(&pack->runs, hash);
    for (int i = 0; at != PACK_NONE && i < PACK_CANDIDATES; i++) {
        const struct pack_entry *entry = &pack->runs.entries[at];
        const json_t *known = json_array_get(entry->values, 0);
        if (has_frames(run, entry) && (size_t)json_integer_value(known) == position)
            return entry;
        at = entry->before;
    }
    return NULL;
}

// keep_packed_run keeps what a run was packed to, if other threads may have its frames.
static int keep_packed_run(struct pack *pack, const struct pack_run *run, uint64_t hash,
                           json_int_t number, json_t *values)
{
    const struct pack_entry entry = { .hash = hash,
                                      .from = run->frames,
                                      .begin = run->begin,
                                      .end = run->end,
                                      .values = values };
    if (run_function(run)->refcount == 1)
        return 0;
    if (pack_table_add(&pack->runs, entry, json_integer(number)) == PACK_NONE)
        return -1;
    (void)json_incref(values);
    return 0;
}

// pack_run appends the number of a run's place to elements, and its values to all.
static int pack_run(struct pack *pack, const struct pack_run *run, json_t *elements,
                    json_t *all)
{
    size_t position = json_array_size(elements);
    uint64_t hash = pack_hash_of(run_function(run)) ^ position;
    const struct pack_entry *known = find_packed_run(pack, run, position, hash);
    json_t *values = NULL;
    json_int_t number;
    int failed = 0;
    if (known != NULL) {
        values = json_incref(known->values);
        number = json_integer_value(
            json_array_get(pack->runs.rows, (size_t)(known - pack->runs.entries)));
    } else {
        number = pack_new_run(pack, run, position, &values);
        if (number == PACK_NONE)
            return -1;
        failed = keep_packed_run(pack, run, hash, number, values);
    }
    if (json_array_size(values) > 1)
        failed |= json_array_append(all, values);
    json_decref(values);
    return failed | json_array_append_new(elements, json_integer(number));
}

// pack_frames fills elements, and the values of all frames of a backtrace.
static int pack_frames(struct pack *pack, const json_t *frames, json_t *elements,
                       json_t *values)
{
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < json_array_size(frames);) {
        json_t *frame = json_array_get(frames, i);
        if (!report_frame_is_code(frame)) {
            failed = json_array_append(elements, frame);
            i++;
            continue;
        }
        const struct pack_run run = pack_find_run(frames, i);
        failed = pack_run(pack, &run, elements, values);
        i = run.end;
    }
    return failed;
}

static bool elements_match(const json_t *a, const json_t *b)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!pack_is_same(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

// stacks_match compares all members of two stacks; all except the frames are scalars.
static bool stacks_match(json_t *a, const json_t *b)
{
    const char *key;
    json_t *value;
    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach(a, key, value)
    {
        const json_t *other = json_object_get(b, key);
        if (strcmp(key, "frames") == 0 ? !elements_match(value, other)
                                       : !pack_is_same(value, other))
            return false;
    }
    return true;
}

static uint64_t hash_packed_stack(const json_t *stack)
{
    const json_t *elements = json_object_get(stack, "frames");
    uint64_t hash = pack_hash(0xcbf29ce484222325, report_string(stack, "ended"));
    for (size_t i = 0; i < json_array_size(elements); i++) {
        uint64_t number = (uint64_t)json_integer_value(json_array_get(elements, i));
        hash = (hash ^ number) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
    }
    return hash;
}

// stack_number is the number of an equal stack, or of this one, of which it takes
// ownership; PACK_NONE: out of memory.
static json_int_t stack_number(struct pack *pack, json_t *stack)
{
    struct pack_table *stacks = &pack->stacks;
    const struct pack_entry entry = { .hash = hash_packed_stack(stack) };
    json_int_t at = pack_table_first(stacks, entry.hash);
    for (int i = 0; at != PACK_NONE && i < PACK_CANDIDATES; i++) {
        if (stacks->entries[at].hash == entry.hash &&
            stacks_match(stack, json_array_get(stacks->rows, (size_t)at))) {
            json_decref(stack);
            return at;
        }
        at = stacks->entries[at].before;
    }
    return pack_table_add(stacks, entry, stack);
}

// make_stack makes the stack of a backtrace that was not packed before. NULL: out of
// memory.
static json_t *make_stack(struct pack *pack, json_t *backtrace, json_t *values)
{
    json_t *stack = json_copy(backtrace);
    json_t *elements = json_array();
    int failed =
        pack_frames(pack, json_object_get(backtrace, "frames"), elements, values);
    failed |= json_object_set_new(stack, "frames", elements);
    if (failed == 0)
        return stack;
    json_decref(stack);
    return NULL;
}

// find_backtrace is the entry of a backtrace that several threads share, or NULL.
static struct pack_entry *find_backtrace(struct pack *pack, const json_t *backtrace,
                                         uint64_t hash)
{
    struct pack_table *known = &pack->backtraces;
    json_int_t at = pack_table_first(known, hash);
    for (int i = 0; at != PACK_NONE && i < PACK_CANDIDATES; i++) {
        if (known->entries[at].from == backtrace)
            return &known->entries[at];
        at = known->entries[at].before;
    }
    return NULL;
}

// pack_backtrace packs a backtrace, or finds the result of an earlier call: out_values
// is borrowed.
static json_int_t pack_backtrace(struct pack *pack, json_t *backtrace,
                                 json_t **out_values)
{
    uint64_t hash = pack_hash_of(backtrace);
    const struct pack_entry *known = find_backtrace(pack, backtrace, hash);
    if (known == NULL) {
        json_t *values = json_array();
        json_t *stack = make_stack(pack, backtrace, values);
        json_int_t number = stack != NULL ? stack_number(pack, stack) : PACK_NONE;
        const struct pack_entry entry = { .hash = hash,
                                          .from = backtrace,
                                          .values = values };
        json_int_t added =
            number != PACK_NONE
                ? pack_table_add(&pack->backtraces, entry, json_integer(number))
                : PACK_NONE;
        if (added == PACK_NONE) {
            json_decref(values);
            return PACK_NONE;
        }
        known = &pack->backtraces.entries[added];
    }
    *out_values = known->values;
    return json_integer_value(json_array_get(
        pack->backtraces.rows, (size_t)(known - pack->backtraces.entries)));
}

static json_t *pack_thread(struct pack *pack, json_t *thread)
{
    json_t *backtrace = json_object_get(thread, "backtrace");
    json_t *values = NULL;
    json_t *packed = json_copy(thread);
    int failed = packed == NULL;
    (void)json_object_del(packed, "stack");
    (void)json_object_del(packed, "values");
    if (!json_is_array(json_object_get(backtrace, "frames")))
        return packed;
    (void)json_object_del(packed, "backtrace");
    json_int_t number = pack_backtrace(pack, backtrace, &values);
    failed |= number == PACK_NONE;
    failed |= json_object_set_new(packed, "stack", json_integer(number));
    if (json_array_size(values) != 0)
        failed |= json_object_set(packed, "values", values);
    if (failed == 0)
        return packed;
    json_decref(packed);
    return NULL;
}

static json_t *pack_threads(struct pack *pack, const json_t *threads)
{
    json_t *packed = json_array();
    for (size_t i = 0; i < json_array_size(threads); i++) {
        json_t *thread = pack_thread(pack, json_array_get(threads, i));
        if (json_array_append_new(packed, thread) != 0) {
            json_decref(packed);
            return NULL;
        }
    }
    return packed;
}

// pack_members copies the members of a report to packed; the tables follow the threads.
static int pack_members(struct pack *pack, const json_t *report, json_t *packed)
{
    const char *key;
    json_t *value;
    int failed = packed == NULL;
    json_object_foreach((json_t *)(uintptr_t)report, key, value)
    {
        // What has the name of a table in a file of version 1 is none.
        if (strcmp(key, "stacks") == 0 || strcmp(key, "places") == 0)
            continue;
        if (strcmp(key, "goroutines") == 0) {
            failed |= json_object_set_new(packed, key, pack_threads(pack, value));
            continue;
        }
        if (strcmp(key, "threads") != 0) {
            failed |= json_object_set(packed, key, value);
            continue;
        }
        failed |= json_object_set_new(packed, key, pack_threads(pack, value));
        failed |= json_object_set(packed, "stacks", pack->stacks.rows);
        failed |= json_object_set(packed, "places", pack->places.rows);
    }
    return failed |
           json_object_set_new(packed, "schema", json_string(REPORT_TABLE_SCHEMA));
}

json_t *report_pack(const json_t *report)
{
    struct pack *pack = calloc(1, sizeof(*pack));
    if (pack == NULL)
        return NULL;
    pack->places.rows = json_array();
    pack->stacks.rows = json_array();
    pack->backtraces.rows = json_array();
    pack->runs.rows = json_array();
    json_t *packed = json_object();
    if (pack->places.rows == NULL || pack->stacks.rows == NULL ||
        pack->backtraces.rows == NULL || pack->runs.rows == NULL ||
        pack_members(pack, report, packed) != 0) {
        json_decref(packed);
        packed = NULL;
    }
    pack_table_deinit(&pack->places);
    pack_table_deinit(&pack->stacks);
    pack_table_deinit(&pack->backtraces);
    pack_table_deinit(&pack->runs);
    free(pack);
    return packed;
}
