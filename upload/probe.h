// SPDX-License-Identifier: Apache-2.0
//
// Asking a target whether it is there, before any report depends on it.
//
// Nothing is sent but a question: a collector has a page for it, other targets are
// asked for their front page, where any answer shows that the way there is open.
#pragma once
#include <stddef.h>

#include "base/status.h"
#include "upload/target.h"

// probe_target asks target, for a few seconds at most, and writes to why how it went
// ("answers", or the reason why not). CH_ERR_IO: it does not answer.
CH_CHECKED enum ch_status probe_target(const struct target *target, char *why,
                                       size_t size);
