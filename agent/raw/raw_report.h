// SPDX-License-Identifier: Apache-2.0
//
// The raw report: a capture as JSON, revision 0, written while the process is held.
//
// It is streamed thread by thread as the stacks are unwound, so memory use does not
// grow with its size. It is self-contained: names are added later, here or on another
// machine, from the addresses and the images it has.
#pragma once
#include "agent/live/capture.h"
#include "report/file/report_id.h"

// raw_report_write unwinds every thread of capture and writes the report to fd, or
// appends it to out where fd is -1. CH_ERR_IO: a write failed; errno is set.
CH_CHECKED enum ch_status raw_report_write(struct capture *capture,
                                           const char id[static REPORT_ID_SIZE], int fd,
                                           struct text *out);
