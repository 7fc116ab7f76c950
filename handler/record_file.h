// SPDX-License-Identifier: Apache-2.0
//
// The record: what the handler writes into the spool itself when no agent has written a
// report. It is the request page once more, on disk, with what the agent would have
// read out of the process.
//
// A file is named crash-TIME-TID.record, both in hexadecimal, and appears by rename. It
// is a record_header and then chunks, in the byte order of the machine, up to the end
// of the file; whatever did not fit is missing from its end. The handler copies bytes
// and understands none of them: `crashhook list`, `upload` and `run` turn records into
// reports.
#pragma once
#include <stdint.h>

#include "handler/request_page.h"

#define RECORD_MAGIC UINT64_C(0x64726f6365726863) // "chrecord"
enum { RECORD_VERSION = 1 };

#define RECORD_PREFIX "crash-"
#define RECORD_SUFFIX ".record"

struct record_header {
    uint64_t magic;
    uint32_t version;
    uint32_t size; // of this struct
    int32_t pid;
    int32_t ppid;
    uint32_t uid;
    uint32_t reason;      // enum record_reason
    char thread_name[16]; // of the thread that crashed
    struct request_page page;
};

// Why there is no report of an agent.
enum record_reason {
    RECORD_NOT_STARTED = 1, // the agent is missing, or no process could be made
    RECORD_AGENT_GONE = 2,  // it ended without having written a report
    RECORD_AGENT_LATE = 3,  // it had not by the deadline
    RECORD_REFUSED = 4,     // starting it ended in a signal
};

enum record_kind {
    RECORD_VARIABLE = 1, // NAME=value and a NUL
    RECORD_EXECUTABLE,   // the path of the program
    RECORD_MAPS,         // /proc/self/maps
    RECORD_MEMORY,       // what is at address
    RECORD_AUXV,         // /proc/self/auxv
    RECORD_CONTEXT,      // the context page
};

struct record_chunk {
    uint32_t kind; // enum record_kind
    uint32_t size; // of what follows
    uint64_t address;
};
