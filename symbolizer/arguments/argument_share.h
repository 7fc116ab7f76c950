// SPDX-License-Identifier: Apache-2.0
//
// Values of the answer that are made once, however many frames have them.
//
// Threads that wait in one place have the same variables there, often with the same
// values. A value is known by the bytes that it is made from: the same bytes give the
// same value again, which nobody may change then. Such values take no more time or
// memory in the process that reads the answer, which has each of them once
// (report/json/tree_bytes.h).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/text.h"

struct argument_shared {
    uint64_t hash;
    size_t key; // its offset in the keys
    size_t size;
    json_t *value; // NULL: unused
};

// An argument_share holds a reference to each of its values; a zeroed one is empty.
struct argument_share {
    struct argument_shared *slots;
    size_t count;
    size_t room; // a power of two
    struct text keys;
    bool masked; // a text was masked in some value (argument_report.c)
};

void argument_share_deinit(struct argument_share *share);

// argument_share_find gives the value that was made from these bytes, as a new
// reference; NULL: there is none.
json_t *argument_share_find(const struct argument_share *share, const void *key,
                            size_t size);

// argument_share_add keeps a value that argument_share_find did not find. False: memory
// does not suffice.
bool argument_share_add(struct argument_share *share, const void *key, size_t size,
                        json_t *value);
