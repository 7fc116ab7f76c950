// SPDX-License-Identifier: Apache-2.0
//
// The two ways in which `crashhook run` watches a program: from inside, by the
// preloaded handler, with our process standing in for the program; or from outside, by
// a tracer that is invisible to others, with the program in our own process.
#pragma once
#include "cli/session/program_kind.h"
#include "cli/session/session.h"

enum { RUN_NO_PERMISSION = 126, RUN_NO_COMMAND = 127 };

enum run_way {
    RUN_WAY_PRELOAD,
    RUN_WAY_TRACE,
    RUN_WAY_UNWATCHED, // both would break the program
};

// run_way_of is how `--via auto` watches program.
enum run_way run_way_of(const struct program *program);

// run_is_bound returns true if the program has to be this process itself. Something is
// set that exec keeps and fork does not: variables of systemd's that name this process
// or let it alone speak for the service, a signal at the end of its parent, a timer, a
// scheduling policy that ends with a fork, or another PID namespace for children
// (run_has_apart_children).
bool run_is_bound(void);
bool run_has_apart_children(void);

// run_rename makes the variables that name process from, our parent, name this one.
void run_rename(pid_t from);

// run_failed reports why command could not be executed, and returns the status that a
// shell would.
int run_failed(const char *command, int error);

// run_preloaded starts the program, passes signals on to it, and waits for its end and
// for the reports that were begun in the meantime. It dies of what the program died of,
// or returns its exit status. kills: one by SIGKILL is reported. keep_stderr: the end
// of its standard error is kept (run_preload.c).
int run_preloaded(const char **arguments, struct session *session, bool kills,
                  bool keep_stderr);

// run_in_place becomes the program, with the handler preloaded. kills: an agent that
// the handler starts reports one by SIGKILL. It returns only if the program cannot be
// executed.
int run_in_place(const char **arguments, const struct session *session, bool kills);

// run_check_spool has another process open the spool and print what is wrong with it:
// the agent could report that to nobody. traced: the start of a program waits for that,
// so a spool that does not answer at once is not waited for.
void run_check_spool(const struct session *session, bool traced);

// run_traced makes agent trace this process, which then becomes the program. It returns
// only if the program cannot be executed. kept is the environment of the tracer; the
// program's own is environ.
int run_traced(const char *agent, const char **arguments, char **kept);

// run_unwatched becomes the program, and returns only if that cannot be executed.
int run_unwatched(const char **arguments);
