// SPDX-License-Identifier: Apache-2.0
//
// An address_map finds the innermost of many nested ranges at an address: the inlined
// call inside the inlined call inside the function, or the unit of an address.
//
// Ranges are added in any order and flattened once into sorted segments, each owned by
// the innermost range there; a lookup is one binary search. For ranges that overlap
// without nesting, as in damaged debug files, it gives one of their owners.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// ADDRESS_MAP_NONE owns the addresses that no range covers.
#define ADDRESS_MAP_NONE UINT32_MAX

struct address_range {
    uint64_t low;
    uint64_t high;  // one past the last address
    uint32_t depth; // nested ranges are deeper than those that enclose them
    uint32_t owner;
};

struct address_map {
    struct address_range *ranges; // until address_map_build
    size_t range_count;
    size_t range_capacity;
    uint64_t *starts; // of segments, ascending
    uint32_t *owners;
    size_t segment_count;
};

// address_map_deinit frees what map holds; a zeroed map is empty and ready for use.
void address_map_deinit(struct address_map *map);

// address_map_add adds one range; an empty one is ignored.
CH_CHECKED enum ch_status address_map_add(struct address_map *map,
                                          const struct address_range *range);

// address_map_build flattens the ranges added so far, and frees them. No range can be
// added afterwards.
CH_CHECKED enum ch_status address_map_build(struct address_map *map);

// address_map_find gives the owner of the innermost range at address, ADDRESS_MAP_NONE
// if there is none.
uint32_t address_map_find(const struct address_map *map, uint64_t address);
