// SPDX-License-Identifier: Apache-2.0
#include "report/summary/memory_words.h"

#include <inttypes.h>

#include "report/file/report_tree.h"

enum { BARS = 32, HEIGHTS = 8 };

static int64_t sample_bytes(const json_t *samples, size_t index, const char *key)
{
    int64_t bytes = report_integer(json_array_get(samples, index), key, 0);
    return bytes > 0 ? bytes : 0;
}

static int64_t most_bytes(const json_t *samples, const char *key)
{
    int64_t most = 0;
    for (size_t i = 0; i < json_array_size(samples); i++) {
        int64_t bytes = sample_bytes(samples, i, key);
        most = bytes > most ? bytes : most;
    }
    return most;
}

// append_bars draws at most BARS of the samples, the last of them always.
static void append_bars(const json_t *samples, int64_t most, struct text *out)
{
    static const char *const bars[HEIGHTS] = { "\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588" };
    size_t count = json_array_size(samples);
    size_t first = count > BARS ? count - BARS : 0;
    for (size_t i = first; i < count && most > 0; i++) {
        int64_t bytes = sample_bytes(samples, i, "rss_bytes");
        size_t height = (size_t)(bytes / (most / HEIGHTS + 1));
        text_append_string(out, bars[height < HEIGHTS ? height : HEIGHTS - 1]);
    }
}

bool memory_words_append(const json_t *report, struct text *out)
{
    const json_t *samples =
        json_object_get(json_object_get(report, "process"), "memory");
    size_t count = json_array_size(samples);
    if (count == 0)
        return false;
    int64_t most = most_bytes(samples, "rss_bytes");
    int64_t group = most_bytes(samples, "cgroup_bytes");
    int64_t span_ms = report_integer(json_array_get(samples, 0), "before_ms", 0);
    text_appendf(out, "%" PRId64 " to %" PRId64 " MB, at most %" PRId64 " MB",
                 sample_bytes(samples, 0, "rss_bytes") >> 20,
                 sample_bytes(samples, count - 1, "rss_bytes") >> 20, most >> 20);
    if (group != 0)
        text_appendf(out, ", its cgroup %" PRId64 " MB", group >> 20);
    text_appendf(out, ", in the last %" PRId64 ".%" PRId64 " s ", span_ms / 1000,
                 span_ms % 1000 / 100);
    append_bars(samples, most, out);
    return true;
}
