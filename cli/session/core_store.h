// SPDX-License-Identifier: Apache-2.0
//
// Stores the report of a core that the kernel passes on, or of a file.
//
// A core is made by whatever crashed, and the kernel starts its helper as root. So the
// core is received, read and named in a child process that runs as the user of the
// dying process, or as a user that owns nothing (confine.h) where the former would be a
// gain of rights: for a process of root, and for one that changed its user or may not
// be dumped. The child drops capabilities, network, other programs and writing of files
// before it reads a byte. Root only writes the report that it returns to the spool,
// without parsing it.
//
// Where the kernel holds the process (agent/core/dumped_process.h), the child reads the
// notes of the core and the memory of the process, and closes the stream as soon as the
// raw report is made: the process then ends, and names are added after that. A stream
// that is still open at hold_ms is closed by a signal. Variables CRASHHOOK_* of such a
// process apply, if its user is the one that set them: the report then goes to the
// spool that they name, written and sent as that user. Users: core, node.
#pragma once
#include <stdbool.h>

#include "agent/core/core_capture.h"
#include "cli/session/session.h"
#include "report/file/report_id.h"

// A core_passing passes on the rest of a stream of which the start was copied to the
// file head, in a process of its own. It returns when it has read all that it wants;
// false: that is not the whole core.
typedef bool core_passing(void *context, int stream, int head);

struct core_store {
    struct session *session; // its spool is open
    struct core_options options;
    const char *name;    // of the core, for messages
    int fd;              // a core file, a pipe or a socket; closed, but for its number
    unsigned hold_ms;    // the process is held for that long at most; 0: it is not held
    uint64_t core_bytes; // a small core of at most that many is stored; 0: none
    core_passing *pass;  // NULL: nobody wants the rest of the stream
    void *pass_context;
    unsigned pass_s; // it is ended after that many seconds
    // Both run in the child, which has given up its rights, and may be NULL: whether
    // the process may be reported, and what else is known of its surroundings.
    bool (*admits)(const void *context);
    json_t *(*describe)(const void *context);
    const void *child_context;
    bool stays_here;         // the report goes to the session's spool in any case
    char id[REPORT_ID_SIZE]; // set: of the report
    bool passed_whole;       // set: what pass returned
    uint64_t held_ms;        // set: how long the process was held for pass
    int signal;              // set: that a held process died by; 0: not known
    const char *why_not;     // set: why a held process has no report; NULL: it has one
};

// core_store_report stores the report. The result is a command's; it reports a failure
// itself.
int core_store_report(struct core_store *store);

// core_store_unreadable finds out what is wrong with a core that could not be read;
// NULL: the fault is not the core's.
const char *core_store_unreadable(enum ch_status status);

// core_store_fill_descriptors opens the standard descriptors. The kernel starts its
// helper with the core as stdin alone; files that are opened later must not become
// stdout or stderr. Messages go to the kernel's log.
void core_store_fill_descriptors(void);

// core_store_mask_home has the home of the process's user masked, as options->home, if
// the process is known, otherwise the caller's: the kernel runs its helper as root.
void core_store_mask_home(struct core_options *options,
                          const struct settings *settings);
