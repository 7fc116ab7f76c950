// SPDX-License-Identifier: Apache-2.0
//
// The memory around what the crashed thread's registers point to, where
// CRASHHOOK_MEMORY asks for it: whatever the program works on may be there, so nothing
// is by default.
//
// Runs of characters that look like secrets are masked as everywhere; bytes are shown
// as they are.
#pragma once
#include "agent/capture.h"
#include "report/json_writer.h"

// near_memory_write writes the member memory: of each register that points to memory
// other than code, 32 bytes before and 96 from there on, as far as they are there.
void near_memory_write(struct json_writer *w, const struct capture *capture);
