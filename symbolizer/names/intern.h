// SPDX-License-Identifier: Apache-2.0
//
// An intern is a growing run of bytes that stores each record once: adding a record
// again gives the offset it has. The sections of a symbol cache are interned, so that a
// name that a thousand units share is written once.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

struct intern_slot {
    uint64_t hash;
    uint32_t offset;
    uint32_t size; // 0: the slot is free
};

struct intern {
    struct text bytes; // the records, one after the other
    struct intern_slot *slots;
    size_t slot_count; // a power of two
    size_t count;
};

// intern_add stores the offset of the record of size bytes, at least one. CH_ERR_LIMIT:
// the offset would exceed 32 bits.
CH_CHECKED enum ch_status intern_add(struct intern *set, const void *record,
                                     size_t size, uint32_t *out);

// intern_deinit frees what set holds; a zeroed one is empty.
void intern_deinit(struct intern *set);
