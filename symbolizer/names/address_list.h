// SPDX-License-Identifier: Apache-2.0
//
// An address_list is a growing array of addresses, sorted once: every address at which
// the names in an image may change, collected from everything that was read of it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct address_list {
    uint64_t *items;
    size_t count;
    size_t capacity;
};

// address_list_add appends one address.
CH_CHECKED enum ch_status address_list_add(struct address_list *list, uint64_t address);

// address_list_sort sorts the addresses and removes duplicates.
void address_list_sort(struct address_list *list);

// address_list_deinit frees what list holds; a zeroed one is empty.
void address_list_deinit(struct address_list *list);
