// SPDX-License-Identifier: Apache-2.0
//
// The record: what the handler itself writes into the spool when no agent has made a
// report. It is the request page on disk, with what the agent would have read from the
// process.
//
// A file is named crash-TIME-TID.record, both in hexadecimal, and appears by rename. It
// is a record_header followed by chunks, in the machine's byte order, to the end of the
// file; what did not fit is missing at the end. The handler copies bytes and interprets
// none: `crashhook list`, `upload` and `run` turn records into reports.
//
// A liveness record (RECORD_ALIVE) has the same layout and is memory: a memfd that the
// program fills at its start and maps the context page of, and that its supervisor
// holds, so that it outlives the program (handler/prepare/liveness_record.h). It has a
// fixed size and is sealed against any other; RECORD_END marks the end of its chunks.
// The context page begins at a multiple of the page size, after a RECORD_FILLER. The
// flight recorder appends its rings (flight/ring_file.h). The supervisor copies the
// record into the spool as life-START-PID.record, START being the clock tick in which
// the process began, and holds flock on that file while it lives
// (agent/daemon/liveness.h).
#pragma once
#include <stdint.h>

#include "shared/request_page.h"

#define RECORD_MAGIC UINT64_C(0x64726f6365726863) // "chrecord"
enum { RECORD_VERSION = 1 };

#define RECORD_PREFIX "crash-"
#define RECORD_LIVENESS_PREFIX "life-"
#define RECORD_SUFFIX ".record"

struct record_header {
    uint64_t magic;
    uint32_t version;
    uint32_t size; // of this struct
    int32_t pid;
    int32_t ppid;
    uint32_t uid;
    uint32_t reason;      // enum record_reason
    char thread_name[16]; // the crashed thread's
    struct request_page page;
};

// A record_reason is why no agent made a report.
enum record_reason {
    RECORD_NOT_STARTED = 1, // the agent is missing, or no process could be made
    RECORD_AGENT_GONE = 2,  // it ended without having written a report
    RECORD_AGENT_LATE = 3,  // it had written none by the deadline
    RECORD_REFUSED = 4,     // starting it raised a signal
    RECORD_ALIVE = 5,       // none: the program lives. page.crash_realtime_ns is START
    RECORD_CUT_OFF = 6,     // the program ended in another way before it was written
};

// LIVENESS_NAME is the memfd's name, as /proc/PID/maps shows it after "/memfd:".
#define LIVENESS_NAME "crashhook-life"

// LIVENESS_VARIABLE tells the program that `crashhook run` starts where its liveness
// record is: "/proc/PID/fd/N". Until the program fills the record, its header has a
// magic number and the program's pid, and is otherwise zero. A program in
// the place of run gets its own number instead, and its children are not supervised.
#define LIVENESS_VARIABLE "CRASHHOOK_LIVENESS"

enum {
    LIVENESS_BYTES = 48 << 20, // of a liveness record; what is not used takes no memory
    LIVENESS_LEAST_BYTES = 256 << 10, // where RLIMIT_FSIZE allows no more
};

enum record_kind {
    RECORD_FILLER = 0,
    RECORD_VARIABLE = 1, // NAME=value and a NUL
    RECORD_EXECUTABLE,   // the path of the program
    RECORD_MAPS,         // /proc/self/maps
    RECORD_MEMORY,       // the bytes at address
    RECORD_AUXV,         // /proc/self/auxv
    RECORD_CONTEXT,      // the context page
    RECORD_FLIGHT,       // memory that begins with the flight recorder's state
    RECORD_END,          // the record ends before this chunk
};

struct record_chunk {
    uint32_t kind; // enum record_kind
    uint32_t size; // of what follows
    uint64_t address;
};
