// SPDX-License-Identifier: Apache-2.0
//
// A report of a live process, which goes on unharmed.
//
// The process is stopped, read and let go before anything slow is done with what was
// read; no signal is sent to it and no system call of it fails. The report has no crash
// and no crashed thread.
#pragma once
#include <sys/types.h>

#include "agent/capture.h"

// attach_report stops process pid, appends its raw report to out, and to held, unless
// it is NULL, what values can be made of later (report/held_file.h), and lets it run
// on. CH_ERR_IO: it cannot be stopped, errno says why.
CH_CHECKED enum ch_status attach_report(pid_t pid, const struct settings *settings,
                                        const char *home, struct text *out,
                                        struct text *held);
