// SPDX-License-Identifier: Apache-2.0
//
// What the node agent knows beyond single reports: a line for each entry that it saw,
// and how many each user and program had this minute. Both are files in the spool's
// folder, used by several processes at a time.
//
// The ledger has a line of JSON for each entry, appended by one write. A full one is
// renamed, so that there are at most two of NODE_LEDGER_BYTES. The table of rates is
// mapped memory without a lock: a process that is stopped or killed holds up nobody.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/spool/spool.h"

#define NODE_LEDGER_FILE "deaths.jsonl"
#define NODE_LEDGER_OLD "deaths-1.jsonl"
enum { NODE_LEDGER_BYTES = 4 << 20 };

// A node_entry is a line of the ledger. Strings are NULL where there is nothing to say.
struct node_entry {
    pid_t pid;
    uid_t uid;
    int signal; // 0: not known
    const char *program;
    const char *report; // its id
    const char *why;    // there is no report
    const char *fix;    // a command, or what to change
    const char *core;   // the file with its core, in the spool
    bool core_is_cut;   // it is not whole
    uint64_t held_ms;   // how long the process was held for its core; 0: it was not
    uint64_t
        rejected; // crashes of that user or program that this line stands for; 0: one
};

// node_ledger_add appends a line. A ledger that cannot be written is no failure: the
// report matters more.
void node_ledger_add(const struct spool *spool, const struct node_entry *entry);

// node_ledger_read reads the lines of both files that are not older than since_ms (of
// CLOCK_REALTIME), oldest first.
json_t *node_ledger_read(const struct spool *spool, uint64_t since_ms);

struct node_rates {
    uint64_t *words; // NULL: nothing is limited
    uint32_t limit;  // of a user's crashes in a minute
};

// node_rates_open maps the spool's table, which all agents share, and creates it where
// it is missing. spool NULL: a table of this process alone.
void node_rates_open(const struct spool *spool, uint32_t limit, struct node_rates *out);
void node_rates_close(struct node_rates *rates);

// node_rates_take counts a crash of a program of a user, and returns 0 if it may be
// reported. Otherwise it returns how many of them this minute were not.
uint64_t node_rates_take(struct node_rates *rates, uid_t user, const char *program);
