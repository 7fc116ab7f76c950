// SPDX-License-Identifier: Apache-2.0
#include "cli/render/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { SILENT_MS = 1000, BETWEEN_MS = 100, LARGE_BYTES = 1 << 20 };

int64_t progress_now_ms(void)
{
    return (int64_t)clock_now_ms(CLOCK_MONOTONIC);
}

void progress_init(struct progress *progress)
{
    *progress = (struct progress){ .started_ms = progress_now_ms(),
                                   .terminal = isatty(STDERR_FILENO) != 0 };
}

void progress_show(struct progress *progress, const char *what, uint64_t done_bytes,
                   uint64_t size_bytes)
{
    int64_t now = progress_now_ms();
    bool news = done_bytes == 0 || now - progress->written_ms >= BETWEEN_MS;
    if (!progress->terminal || now - progress->started_ms < SILENT_MS || !news)
        return;
    fprintf(stderr, "\r\033[K%s", what);
    if (size_bytes >= LARGE_BYTES)
        fprintf(stderr, ", %.1f of %.1f MiB", (double)done_bytes / LARGE_BYTES,
                (double)size_bytes / LARGE_BYTES);
    progress->written_ms = now;
    progress->shown = true;
}

void progress_announce(struct progress *progress, const char *what)
{
    if (!progress->terminal)
        return;
    fprintf(stderr, "\r\033[K%s", what);
    progress->shown = true;
}

void progress_clear(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
