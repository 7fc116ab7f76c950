// SPDX-License-Identifier: Apache-2.0
//
// The memory around what the crashed thread's registers point to, where
// CRASHHOOK_MEMORY asks for it. Any of the program's data may be there, so the default
// is to show none.
//
// Runs of characters that look like secrets are masked as everywhere; other bytes are
// shown as they are.
#pragma once
#include "agent/live/capture.h"
#include "report/json/json_writer.h"

// near_memory_write writes the member memory: for each register that points to memory
// other than code, 32 bytes before it and 96 from there on, as far as they are mapped.
void near_memory_write(struct json_writer *w, const struct capture *capture);
