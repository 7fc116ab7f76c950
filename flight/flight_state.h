// SPDX-License-Identifier: Apache-2.0
//
// What the recorder keeps in the program's memory, as the agent reads it there.
//
// A ring is one thread's: blocks of a fixed size, each a buffer of version 1 of XRay's
// flight data recorder format (docs/formats/fdr.md). The newest block is the one that
// `at` points into, the oldest is behind it. A block is wiped before it is used again,
// so it is a whole buffer or ends in zeros. Both sides are built from the same tree,
// and version says so. All addresses are the program's.
#pragma once
#include <stdint.h>

#define FLIGHT_MAGIC UINT64_C(0x746867696c666863) // "chflight"
#define FLIGHT_STATE_BYTES 80                     // of struct flight_state
enum {
    FLIGHT_VERSION = 2,
    FLIGHT_BLOCK_BYTES = 4096,
    FLIGHT_BLOCKS_MAX = 16384,
    FLIGHT_RINGS_MAX = 4096, // threads that are recorded at a time
    // XRay numbers functions from 1; those that -finstrument-functions names by address
    // are numbered from here, by their place in a table.
    FLIGHT_FIRST_ID = 0x08000000,
    FLIGHT_FUNCTIONS = 65536,
    FLIGHT_NO_ID = 0x0fffffff, // of a function that had no room in the table
};

enum flight_ring_state { FLIGHT_FREE, FLIGHT_CLAIMED, FLIGHT_LIVE, FLIGHT_ENDED };

struct flight_ring {
    uint64_t at;    // where the next record goes
    uint64_t limit; // the last place where a function's record may start
    uint64_t last_tsc;
    const uint32_t *cpu_now; // where the kernel says which processor this is
    uint32_t cpu;            // as the records so far say
    uint32_t busy;           // a record is being written; what comes in between is left
    uint64_t dropped;        // out and counted here
    uint32_t dropped_in_a_row;
    uint32_t block_count;
    uint64_t blocks;   // address of the first; 0: none yet
    uint64_t opened;   // how many blocks this thread has begun
    uint64_t ended_as; // of a thread that ended: the how manieth
    int32_t tid;
    uint32_t state;     // enum flight_ring_state
    uint64_t sync_tsc;  // read together with CLOCK_MONOTONIC, when the last block was
    uint64_t sync_ns;   // begun, another processor came or the thread had been quiet
    uint64_t unused[3]; // 128 bytes: threads share no cache line
};

struct flight_state {
    uint64_t magic;
    uint32_t version;
    uint32_t size;           // of this struct
    uint32_t ring_size;      // of struct flight_ring
    int32_t pid;             // whose threads these are
    uint64_t start_tsc;      // read together
    uint64_t start_ns;       // with CLOCK_MONOTONIC
    uint64_t rings;          // address of FLIGHT_RINGS_MAX of them
    uint32_t ring_count;     // of them used so far
    uint32_t threads_missed; // that found no free ring
    uint64_t functions;      // address of FLIGHT_FUNCTIONS addresses of functions
    uint64_t xray_functions; // address of those of XRay's numbers 1, 2, ...
    uint64_t xray_count;
};
