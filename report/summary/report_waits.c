// SPDX-License-Identifier: Apache-2.0
#include "report/summary/report_waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/file/report_tree.h"
#include "report/summary/wait_cycle.h"

// A sentence names this many threads of a deadlock; the list has them all. More waits
// than a report of ours has are somebody else's.
enum { NAMED_MAX = 6, WAITS_READ_MAX = 4096 };

json_t *report_waits(const json_t *report)
{
    json_t *waits = json_object_get(json_object_get(report, "crash"), "waits");
    if (!json_is_array(waits))
        waits = json_object_get(report, "waits");
    return json_is_array(waits) ? waits : NULL;
}

const json_t *report_wait_thread(const json_t *report, const json_t *wait)
{
    const json_t *threads = json_object_get(report, "threads");
    int64_t tid = report_integer(wait, "tid", 0);
    for (size_t i = 0; i < json_array_size(threads); i++)
        if (report_integer(json_array_get(threads, i), "tid", -1) == tid)
            return json_array_get(threads, i);
    return NULL;
}

static bool waits_for(const json_t *wait, const char *object)
{
    const char *is = report_string(wait, "object");
    return is != NULL && strcmp(is, object) == 0;
}

// append_wait_object appends the lock's name, or its kind and where it is.
static void append_wait_object(const json_t *wait, struct text *out)
{
    static const char *const words[][2] = {
        { "mutex", "the mutex at " },         { "rwlock", "the read-write lock at " },
        { "condition", "the condition at " }, { "semaphore", "the semaphore at " },
        { "barrier", "the barrier at " },     { "thread", "the end of a thread, at " },
    };
    const char *name = report_string(wait, "name");
    const char *address = report_string(wait, "address");
    const char *kind = "a futex at ";
    if (name != NULL) {
        text_append_string(out, name);
        return;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (waits_for(wait, words[i][0]))
            kind = words[i][1];
    text_append_string(out, kind);
    text_append_string(out, address != NULL ? address : "an unknown place");
}

void report_wait_append(const json_t *wait, struct text *out)
{
    int64_t owner = report_integer(wait, "owner", 0);
    int64_t ended = report_integer(wait, "owner_ended", 0);
    if (waits_for(wait, "thread") && owner != 0) {
        text_appendf(out, "waits for the end of thread %" PRId64, owner);
    } else {
        text_append_string(out, "waits for ");
        append_wait_object(wait, out);
        if (owner != 0 && owner == report_integer(wait, "tid", 0))
            text_append_string(out, ", which it holds itself");
        else if (owner != 0)
            text_appendf(out, ", which thread %" PRId64 " holds", owner);
        else if (ended != 0)
            text_appendf(out, ", which thread %" PRId64 " held when it ended", ended);
    }
    if (report_flag(wait, "timeout"))
        text_append_string(out, ", with a timeout");
}

static void append_wait_thread(const json_t *report, const json_t *wait,
                               struct text *out)
{
    const char *name = report_string(report_wait_thread(report, wait), "name");
    text_appendf(out, "thread %" PRId64, report_integer(wait, "tid", 0));
    if (name != NULL && *name != 0)
        text_appendf(out, " '%s'", name);
}

// append_deadlock words a circle of waits, of which the first count are listed: what
// the first thread holds is what the last one waits for.
static void append_deadlock(const json_t *report, const json_t *waits,
                            const size_t *listed, size_t count, size_t length,
                            struct text *out)
{
    const json_t *first = json_array_get(waits, listed[0]);
    const json_t *last = json_array_get(waits, listed[count - 1]);
    text_append_string(out, "Deadlock: ");
    append_wait_thread(report, first, out);
    text_append_string(out, " ");
    bool holds = length > 1 && length == count && !waits_for(last, "thread");
    if (holds) {
        text_append_string(out, "holds ");
        append_wait_object(last, out);
        text_append_string(out, " and ");
    }
    report_wait_append(first, out);
    // What the last one waits for has been said, unless it is the first one's end.
    for (size_t i = 1; i < count - holds; i++) {
        const json_t *wait = json_array_get(waits, listed[i]);
        text_appendf(out, "; thread %" PRId64 " ", report_integer(wait, "tid", 0));
        report_wait_append(wait, out);
    }
    if (length > count)
        text_appendf(out, "; and %zu more threads", length - count);
}

bool report_deadlock(const json_t *report, struct text *out)
{
    const json_t *waits = report_waits(report);
    size_t count = json_array_size(waits);
    size_t listed[NAMED_MAX];
    if (count == 0 || count > WAITS_READ_MAX)
        return false;
    struct wait_edge *edges = calloc(count, sizeof(*edges));
    if (edges == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const json_t *wait = json_array_get(waits, i);
        edges[i] = (struct wait_edge){
            .tid = (int32_t)report_integer(wait, "tid", 0),
            .owner = (int32_t)report_integer(wait, "owner", 0),
            .timed = report_flag(wait, "timeout"),
        };
    }
    size_t length = wait_cycle(edges, count, listed, NAMED_MAX);
    free(edges);
    for (size_t i = 0; i < count && length == 0; i++) {
        const json_t *wait = json_array_get(waits, i);
        length = report_integer(wait, "owner_ended", 0) != 0 &&
                 !report_flag(wait, "timeout");
        listed[0] = i;
    }
    if (length != 0)
        append_deadlock(report, waits, listed, length < NAMED_MAX ? length : NAMED_MAX,
                        length, out);
    return length != 0;
}
