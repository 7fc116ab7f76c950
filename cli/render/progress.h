// SPDX-License-Identifier: Apache-2.0
//
// A line on the terminal that shows how far something is, once it takes longer than a
// second; nothing if stderr is not a terminal. Users: upload, symbols upload.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct progress {
    int64_t started_ms;
    int64_t written_ms;
    bool terminal;
    bool shown;
};

// progress_init starts to measure that second.
void progress_init(struct progress *progress);

// progress_show shows what is being done and, if it is large, how much of it is done.
void progress_show(struct progress *progress, const char *what, uint64_t done_bytes,
                   uint64_t size_bytes);

// progress_announce shows at once something that takes long and whose progress is not
// known.
void progress_announce(struct progress *progress, const char *what);

// progress_clear removes the line, before other lines are written.
void progress_clear(struct progress *progress);

// progress_now_ms is the time on CLOCK_MONOTONIC.
int64_t progress_now_ms(void);
