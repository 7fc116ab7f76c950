// SPDX-License-Identifier: Apache-2.0
//
// The table of watched objects, as handler and agent share it. The request page says
// where it is, and without a handler place_note.h; their versions count for the table
// as well.
//
// A slot's state changes by compare-and-swap, so a crash in the middle of a call leaves
// a slot that says so. Nothing points out of the table: names and types are in it.
#pragma once
#include <stdint.h>

// WATCH_TABLE_BYTES is the size of the table.
#define WATCH_TABLE_BYTES 12800
enum { WATCH_COUNT = 64, WATCH_NAME_SIZE = 48, WATCH_TYPE_SIZE = 120 };

// What a slot's state says in its low bits; above them is a number that is another for
// each use of the slot. Only a slot that is ready means anything.
enum watch_state { WATCH_FREE, WATCH_CHANGING, WATCH_READY, WATCH_STATE_MASK };

struct watch_slot {
    uint32_t state;
    uint32_t unused;
    uint64_t address; // of the object
    uint64_t size;
    uint64_t caller; // an address in the code that asked: whose image has the type
    char name[WATCH_NAME_SIZE];
    char type[WATCH_TYPE_SIZE];
};
