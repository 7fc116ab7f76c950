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
// without parsing it. User: core.
#pragma once
#include "agent/core/core_capture.h"
#include "cli/session/session.h"

struct core_store {
    struct session *session; // its spool is open
    struct core_options options;
    const char *name; // of the core, for messages
    int fd;           // a core file, or a pipe
};

// core_store_report stores the report. The result is a command's; it reports a failure
// itself.
int core_store_report(struct core_store *store);

// core_store_words says what is wrong with a core that could not be read; NULL: the
// fault is not the core's.
const char *core_store_words(enum ch_status status);
