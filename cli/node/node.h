// SPDX-License-Identifier: Apache-2.0
//
// The parts of `crashhook node`, which reports every program of a machine that dies by
// a signal, whether it uses crashhook or not (docs/node.md). The kernel hands it each
// dying process: by a pipe to a process of its own (node_report.c), or by a connection
// to one socket (node_listen.c). node_install.c has the kernel do so.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/system/rights.h"
#include "cli/session/command.h"
#include "cli/session/session.h"
#include "report/spool/spool.h"

#define NODE_SPOOL "/var/lib/crashhook"
#define NODE_STATE "/var/lib/crashhook-node"

// NODE_HOLD_MS is how long a process is held at most.
// NODE_PASS_S is how long a core is passed on at most.
enum { NODE_HOLD_MS = 10000, NODE_RATE = 60, NODE_WORKERS = 16, NODE_PASS_S = 600 };

// A node_core is the core that is kept next to a report.
enum node_core { NODE_CORE_NONE, NODE_CORE_SMALL, NODE_CORE_FULL };

// What the node agent knows beyond single reports: a line for each entry that it saw,
// and how many each user and program had this minute. Both are files in the spool's
// folder, used by several processes at a time.
//
// The ledger has a line of JSON for each entry, appended by one write. A full one is
// renamed, so that there are at most two of NODE_LEDGER_BYTES. The table of rates is
// mapped memory without a lock: a process that is stopped or killed holds up nobody.

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

struct node {
    struct session session; // its spool is open
    struct node_rates rates;
    unsigned hold_ms;
    enum node_core core;
    uint64_t core_bytes;    // a core has at most
    const char *namespaces; // node_container_is_admitted; NULL: all
    bool then;              // what core_pattern was before gets the core, too
    const char *root;       // for tests: the folder that stands for /; NULL: none
};

// node_report reports the process that the kernel holds while it streams the core to
// fd, and adds a line to the ledger. It returns a command's result.
int node_report(struct node *node, pid_t pid, int fd);

// node_is_over_rate counts the process against the rates. True: it may not be reported,
// and the ledger has that.
bool node_is_over_rate(struct node *node, pid_t pid);

// node_listen serves the socket at path, or the one that systemd passes on, until it is
// killed.
int node_listen(struct node *node, const char *path);

// node_watch adds the terminations of which no core reaches the agent to the ledger,
// until it gets SIGTERM.
int node_watch(struct node *node);

// node_tell_systemd sends a state of the service to systemd.
void node_tell_systemd(const char *state);

// A node_then is what core_pattern was before, and what it sees of the process.
struct node_then {
    const struct node *node;
    pid_t pid;
    struct rights rights;
    uint64_t limit_bytes; // RLIMIT_CORE
    int folder;           // its working folder
    int root;
    const int *signal; // that it died by
    char comm[32];
};

// node_then_prepare reads and opens what is needed of the process while it is held.
void node_then_prepare(struct node_then *then);

// node_then passes on the core, whose start is in the file head (-1: none was read) and
// whose rest comes from stream, to what core_pattern was before. It is a core_passing.
bool node_then(void *context, int stream, int head);

// node_copy_start copies the file head, from its beginning, to the descriptor to, and
// returns how much that was; node_copy_rest copies the stream. False: to took no more.
uint64_t node_copy_start(int head, int to);
bool node_copy_rest(int stream, int to);

// A node_full_core is where the whole core of a report is kept.
struct node_full_core {
    const struct node *node;
    const char *id; // the report's
};

// node_full_core_keep writes the core, compressed by zstd where that program is, to the
// spool. It is a core_passing.
bool node_full_core_keep(void *context, int stream, int head);

// node_core_name writes the name of the core next to report id. False: it has none.
bool node_core_name(const struct node *node, const char *id, char *out, size_t size);

// node_install, node_remove and node_status are `crashhook node install` and so on.
int node_install(const struct options *options);
int node_remove(const struct options *options);
int node_status(const struct options *options);

// node_is_installed returns true if core_pattern leads to the node agent.
bool node_is_installed(const char *root);

// node_before writes what a setting of the kernel was before the installation, such as
// core_pattern. False: it is not known.
bool node_before(const char *root, const char *name, char *out, size_t size);
