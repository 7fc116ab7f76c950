// SPDX-License-Identifier: Apache-2.0
//
// The context page: what the program records of itself while it runs (tags,
// breadcrumbs, data, files to attach), laid out so that it can be read from outside at
// any moment.
//
// The program writes it without locks; the agent copies the page from the crashed
// process, or finds it in the handler's record. Where the program's end is to be told
// whatever ends it (CRASHHOOK_KILLS), the page is a part of a file in the spool, which
// outlives the process (life.h). A slot is valid only while its sequence
// number says so: a writer first makes the number odd (for a breadcrumb, 0) and at the
// end valid again, so that a crash in between costs that slot only. Every string is
// bounded by its array, terminated or not.
#pragma once
#include <stdint.h>

#define CONTEXT_MAGIC UINT64_C(0x74786574746e6f63) // "conttext"
enum { CONTEXT_VERSION = 2 };

enum {
    CONTEXT_TAGS = 32,
    CONTEXT_DATA = 16,
    CONTEXT_ATTACHMENTS = 8,
    CONTEXT_BREADCRUMBS = 128,
    CONTEXT_NAME_BYTES = 36,
    LIFE_SAMPLES = 96,
};

// A context_tag is a short value by name; context_datum is a longer one. sequence: 0
// unused, odd being written.
struct context_tag {
    uint32_t sequence;
    char name[CONTEXT_NAME_BYTES];
    char value[128];
};

struct context_datum {
    uint32_t sequence;
    char name[CONTEXT_NAME_BYTES];
    char value[1024];
};

struct context_attachment {
    uint32_t sequence;
    uint32_t tail_bytes; // how many bytes of the file's end to attach
    char path[512];
};

// A context_breadcrumb is one message. sequence: 0 unused or being written, else one
// more than the message's number.
struct context_breadcrumb {
    uint64_t sequence;
    uint64_t realtime_ns;
    char message[240];
};

// A life_sample is the memory that the process used at a moment.
struct life_sample {
    uint64_t realtime_ns; // 0: none
    uint64_t rss_bytes;
    uint64_t cgroup_bytes; // of all in its cgroup; 0: not known
};

// A context_life is what is known of the program's life outside of its crashes. The
// program itself writes `ended` alone, its keeper, a process that outlives it, the
// rest.
struct context_life {
    uint32_t ended;       // 1: by an exit, or a crash that is reported
    int32_t asked_signal; // the last deadly signal that it was sent; 0: none
    int32_t asked_by;     // pid of who sent that
    int32_t keeper;       // the keeper's pid; 0: none
    uint64_t asked_realtime_ns;
    uint64_t keeper_start; // when that began, in clock ticks as in a life's name
    uint64_t limit_bytes;  // of memory, of its cgroup; 0: not known
    uint64_t samples;      // written so far; the last LIFE_SAMPLES are kept
    struct life_sample sample[LIFE_SAMPLES];
};

struct context_page {
    uint64_t magic;
    uint32_t version;
    uint32_t size;        // of this struct
    uint64_t breadcrumbs; // written so far; the last CONTEXT_BREADCRUMBS are kept
    uint64_t session;     // of a process whose start was counted; 0: it was not
    struct context_tag tags[CONTEXT_TAGS];
    struct context_datum data[CONTEXT_DATA];
    struct context_attachment attachments[CONTEXT_ATTACHMENTS];
    struct context_breadcrumb trail[CONTEXT_BREADCRUMBS];
    struct context_life life;
};
