// SPDX-License-Identifier: Apache-2.0
//
// Stores the report of a core that the kernel hands over, or of a file.
//
// A core is made by whatever crashed, and the kernel starts its helper as root: so the
// core is received, read and named in a child process that is the user of the dying
// process, or one that owns nothing (confine.h) where that would be a gain: for a
// process of root's, and one that had changed its user or may not be dumped. The child
// has no capabilities, network, other programs or files to write, all before it has
// read a byte. Root does no more than to put the report that it gives back into the
// spool, unread. User: core.
#pragma once
#include "agent/core_capture.h"
#include "cli/session.h"

struct core_store {
    struct session *session; // its spool is open
    struct core_options options;
    const char *name; // of the core, for messages
    int fd;           // a core file, or a pipe
};

// core_store_report stores it. The result is a command's; where it fails it has said
// why.
int core_store_report(struct core_store *store);
