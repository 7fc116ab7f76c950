// SPDX-License-Identifier: Apache-2.0
//
// What `crashhook run` says when a program into which it preloaded the handler was
// killed by a signal that counts as a crash, and there is no report. User: run.
#pragma once
#include "cli/session/session.h"

// unreported_has_report returns true if the session's spool has a report that began
// since_ms after 1970 or later.
bool unreported_has_report(const struct session *session, uint64_t since_ms);

// unreported_tell prints one line on stderr if neither the spool, nor a place that
// replaces it, has such a report: the reason, where it follows from the kind of program
// or from loaded, and what to do. loaded is false if the handler was not installed yet.
// status is as waitpid returns it. Returns true if there is no report.
bool unreported_tell(const struct session *session, const char *program, int status,
                     bool loaded, uint64_t since_ms);

// unreported_tell_exit says why an exit with a failure has no report, if the program
// has a sanitizer that may have caused it and of which the handler is not told.
void unreported_tell_exit(const struct session *session, const char *program,
                          int status, uint64_t since_ms);
