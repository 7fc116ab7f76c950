// SPDX-License-Identifier: Apache-2.0
//
// The context page: what the program records of itself while it runs (tags,
// breadcrumbs, data, files to attach), laid out so that it can be read from outside at
// any moment.
//
// The program writes it without locks; the agent copies the page from the crashed
// process, or finds it in the handler's record. A slot is valid only while its sequence
// number says so: a writer first makes the number odd (for a breadcrumb, 0) and at the
// end valid again, so that a crash in between costs that slot only. Every string is
// bounded by its array, terminated or not.
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
