// SPDX-License-Identifier: Apache-2.0
//
// The end of a program that `crashhook run` has preloaded into and that left nothing:
// it died by a signal that is a crash, and there is no report of it. User: run.
#pragma once
#include "cli/session.h"

// unreported_tell says so on stderr, with the reason where it can be told from the
// program and what can be done, unless the session's spool, or a place that stands in
// for it, has something that began since_ms after 1970 or later. status is as waitpid
// gives it.
void unreported_tell(const struct session *session, const char *program, int status,
                     uint64_t since_ms);
