// SPDX-License-Identifier: Apache-2.0
//
// A table of a report that is being packed (report_pack.h): rows of JSON, indexed by a
// hash.
//
// Rows whose hashes collide form a chain, the last one first. A search compares at most
// PACK_CANDIDATES rows, so that no input makes it slow.
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

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
json_int_t pack_table_first(const struct pack_table *table, uint64_t hash);

// pack_table_add appends row, of which it takes ownership, and returns its number;
// PACK_NONE: out of memory, and the caller still owns entry's values.
json_int_t pack_table_add(struct pack_table *table, struct pack_entry entry,
                          json_t *row);

// pack_table_deinit frees the table; a zeroed one needs an array for its rows.
void pack_table_deinit(struct pack_table *table);
