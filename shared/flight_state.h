// SPDX-License-Identifier: Apache-2.0
//
// The recorder's data in the program's memory, as the agent reads it there.
//
// A ring belongs to one thread: blocks of a fixed size, each a buffer of version 1 of
// XRay's flight data recorder format (docs/formats/fdr.md). The newest block is the one
// that `at` points into; the block after it is the oldest. A block is zeroed before it
// is reused, so it is either a complete buffer or ends in zeros. Recorder and agent are
// built from the same tree, which version verifies. All addresses are the program's.
#pragma once
#include <stdint.h>

#define FLIGHT_MAGIC UINT64_C(0x746867696c666863) // "chflight"
#define FLIGHT_STATE_BYTES 96                     // of struct flight_state
enum {
    FLIGHT_VERSION = 3,
    FLIGHT_BLOCK_BYTES = 4096,
    FLIGHT_BLOCKS_MAX = 16384,
    FLIGHT_RINGS_MAX = 4096, // threads recorded at the same time
    // XRay numbers functions from 1. Functions that -finstrument-functions identifies
    // by address are numbered from here, by their index in a table.
    FLIGHT_FIRST_ID = 0x08000000,
    FLIGHT_FUNCTIONS = 65536,
    FLIGHT_NO_ID = 0x0fffffff, // of a function that did not fit the table
    // A slot of the table has a function's address in its lower 56 bits. If other code
    // was loaded at that address since, the upper 8 have the number of the function's
    // image, from 1 on.
    FLIGHT_ADDRESS_BITS = 56,
    FLIGHT_IMAGES = 64,
    FLIGHT_BUILD_ID_BYTES = 36,
    FLIGHT_PATH_BYTES = 256,
};

// A flight_image is a library whose functions are in the table, so that they have names
// after the library was unloaded.
struct flight_image {
    uint64_t start; // addresses
    uint64_t end;
    uint32_t build_id_size; // 0: it has none, or a longer one
    uint8_t build_id[FLIGHT_BUILD_ID_BYTES];
    char path[FLIGHT_PATH_BYTES];
};

enum flight_ring_state { FLIGHT_FREE, FLIGHT_CLAIMED, FLIGHT_LIVE, FLIGHT_ENDED };

struct flight_ring {
    uint64_t at;    // address of the next record
    uint64_t limit; // last address where a function's record may start
    uint64_t last_tsc;
    const uint32_t *cpu_now; // where the kernel says which processor this is
    uint32_t cpu;            // as recorded so far
    uint32_t busy;           // a record is being written; records that interrupt it
    uint64_t dropped;        // are dropped and counted here
    uint32_t dropped_in_a_row;
    uint32_t block_count;
    uint64_t blocks;   // address of the first one; 0: none yet
    uint64_t opened;   // the number of blocks this thread has begun
    uint64_t ended_as; // of a thread that ended: its number in order of ending
    int32_t tid;
    uint32_t state;     // enum flight_ring_state
    uint64_t sync_tsc;  // read together with CLOCK_MONOTONIC when the last block
    uint64_t sync_ns;   // was begun, the processor changed or the thread had paused
    uint64_t unused[3]; // 128 bytes: threads share no cache line
};

struct flight_state {
    uint64_t magic;
    uint32_t version;
    uint32_t size;           // of this struct
    uint32_t ring_size;      // of struct flight_ring
    int32_t pid;             // the process whose threads these are
    uint64_t start_tsc;      // read together
    uint64_t start_ns;       // with CLOCK_MONOTONIC
    uint64_t rings;          // address of FLIGHT_RINGS_MAX of them
    uint32_t ring_count;     // the number of them that were ever used
    uint32_t threads_missed; // the number of threads that found no free ring
    uint64_t functions;      // address of FLIGHT_FUNCTIONS addresses of functions
    uint64_t xray_functions; // address of the table of XRay's functions 1, 2, ...
    uint64_t xray_count;
    uint64_t images;      // address of FLIGHT_IMAGES images of those functions
    uint64_t image_count; // of them in use
};
