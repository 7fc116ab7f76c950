// SPDX-License-Identifier: Apache-2.0
//
// The handler's request as the agent receives it: the channel identifies the process,
// and that process's memory says what happened.
#pragma once
#include "agent/live/capture.h"
#include "shared/request_page.h"

struct agent_request {
    pid_t pid;
    struct target_crash crash;
    bool live;    // no crash: the process requests a report of itself
    bool careful; // pages that nobody may supply are left out
    bool seized;  // this process has seized threads before it became the agent
    uint64_t deadline_monotonic_ns;
};

// request_expect has the next request_receive take a request of this caller alone, as
// the kernel names it: a process that shares the socket of an agent that waits must not
// have it stop another one.
struct ucred;
void request_expect(const struct ucred *caller);

// request_receive waits on channel for the handler's message and reads the request page
// whose address it has. CH_END: the handler has exited. CH_ERR_MALFORMED: this is not a
// request, or one of another version, or it names a process other than its caller.
// CH_ERR_FAULT: the process's memory cannot be read.
CH_CHECKED enum ch_status request_receive(int channel, struct agent_request *out);

// request_crash fills out from the page's description of the crash of thread tid.
void request_crash(const struct request_page *page, pid_t tid,
                   struct target_crash *out);

// request_written reports to the handler that the report is in the spool.
void request_written(int channel);

// request_why reports to the handler why there is no report, and what can be done.
void request_why(int channel, const char *why);

// request_is_cut_off returns true if the handler is no longer there for an answer,
// although it waits for one: its process has ended, or has executed another program.
bool request_is_cut_off(int channel);

// request_release reports to the handler that the process may die, and closes the
// channel. reported: it also reports what request_written does.
void request_release(int channel, bool reported);
