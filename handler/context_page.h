// SPDX-License-Identifier: Apache-2.0
//
// The context page: what the program says of itself while it runs (tags, breadcrumbs,
// data, files to attach), laid out so that it can be read at any moment from outside.
//
// The program writes without locks; the agent copies the page out of the crashed
// process, or finds it in the handler's record. A slot counts only while its sequence
// number says so: whoever writes one makes the number odd (of a breadcrumb: 0) first
// and valid last, so that a crash in the middle costs that slot and no other. Every
// string is read within its array, terminated or not.
#pragma once
#include <stdint.h>

#define CONTEXT_MAGIC UINT64_C(0x74786574746e6f63) // "conttext"
enum { CONTEXT_VERSION = 1 };

enum {
    CONTEXT_TAGS = 32,
    CONTEXT_DATA = 16,
    CONTEXT_ATTACHMENTS = 8,
    CONTEXT_BREADCRUMBS = 128,
    CONTEXT_NAME_BYTES = 36,
};

// A tag, or where it is longer, a piece of data. sequence: 0 unused, odd being written.
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
    uint32_t tail_bytes; // how much of the file's end is wanted
    char path[512];
};

// sequence: 0 unused or being written, else one more than its number.
struct context_breadcrumb {
    uint64_t sequence;
    uint64_t realtime_ns;
    char message[240];
};

struct context_page {
    uint64_t magic;
    uint32_t version;
    uint32_t size;        // of this struct
    uint64_t breadcrumbs; // written so far; the last CONTEXT_BREADCRUMBS are kept
    struct context_tag tags[CONTEXT_TAGS];
    struct context_datum data[CONTEXT_DATA];
    struct context_attachment attachments[CONTEXT_ATTACHMENTS];
    struct context_breadcrumb trail[CONTEXT_BREADCRUMBS];
};
