// SPDX-License-Identifier: Apache-2.0
//
// The table of watched objects, as handler and agent share it. The request page has its
// address, or without a handler the place note (place_note.h); their versions cover the
// table as well.
//
// A slot's state changes by compare-and-swap, so a crash in the middle of a call leaves
// a slot that is marked so. Nothing points out of the table: it contains names and
// types.
#pragma once
#include <stdint.h>

// WATCH_TABLE_BYTES is the size of the table.
#define WATCH_TABLE_BYTES 12800
enum { WATCH_COUNT = 64, WATCH_NAME_SIZE = 48, WATCH_TYPE_SIZE = 120 };

// A watch_state is a slot's phase, in the low bits of its state; the bits above are a
// number that differs for each use of the slot. Only a slot that is ready has valid
// contents.
enum watch_state { WATCH_FREE, WATCH_CHANGING, WATCH_READY, WATCH_STATE_MASK };

struct watch_slot {
    uint32_t state;
    uint32_t unused;
    uint64_t address; // of the object
    uint64_t size;
    uint64_t caller; // an address in the calling code, whose image has the type
    char name[WATCH_NAME_SIZE];
    char type[WATCH_TYPE_SIZE];
};
