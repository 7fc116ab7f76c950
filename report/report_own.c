// SPDX-License-Identifier: Apache-2.0
#include "report/report_own.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "report/report_tree.h"

// MARKED_MAX is a power of two. MARKED_TRIES is how many slots a frame may stand in:
// with one alone, two frames of every thread's stack that fall on it would be judged
// anew for each thread.
enum { MARKED_MAX = 1024, MARKED_TRIES = 8 };

static bool is_executable(const json_t *report, const char *path)
{
    const char *executable =
        report_string(json_object_get(report, "process"), "executable");
    return path != NULL && executable != NULL && strcmp(path, executable) == 0;
}

void report_own_judge(const json_t *report, const json_t *frame,
                      struct own_verdict *out)
{
    static const char reports[] = "reports ";
    const json_t *image = report_image(report, frame);
    const char *path = report_string(image, "path");
    const char *rule = report_string(frame, "rule");
    const struct own_frame facts = {
        .image = path != NULL ? path : report_string(image, "name"),
        .package = report_string(json_object_get(image, "package"), "name"),
        .build_id = report_string(image, "build_id"),
        .function = report_string(frame, "function"),
        .raw_name = report_string(frame, "raw_name"),
        .file = report_string(frame, "file"),
        .executable = is_executable(report, path),
    };
    own_judge(&facts, out);
    if (rule == NULL || out->by_user)
        return;
    out->own = !report_flag(frame, "system");
    out->reports = strncmp(rule, reports, sizeof(reports) - 1) == 0;
    (void)snprintf(out->rule, sizeof(out->rule), "%.90s", rule);
}

static void mark_frame(const json_t *report, json_t *frame)
{
    struct own_verdict verdict;
    const bool known =
        report_string(frame, "function") != NULL || report_image(report, frame) != NULL;
    if (!report_frame_is_code(frame) || !known)
        return;
    report_own_judge(report, frame, &verdict);
    (void)json_object_set_new(frame, "system", json_boolean(!verdict.own));
    if (verdict.rule[0] != 0)
        (void)json_object_set_new(frame, "rule", json_string(verdict.rule));
    else
        (void)json_object_del(frame, "rule");
}

// was_marked says whether frame is among the frames that were marked, and adds it.
static bool was_marked(const json_t *marked[static MARKED_MAX], const json_t *frame)
{
    // Fibonacci hashing: the factor is 2^64 divided by the golden ratio.
    size_t first = (size_t)(((uint64_t)(uintptr_t)frame * 0x9e3779b97f4a7c15) >> 32);
    for (size_t i = 0; i < MARKED_TRIES; i++) {
        const json_t **slot = &marked[(first + i) % MARKED_MAX];
        if (*slot == frame)
            return true;
        if (*slot == NULL || i == MARKED_TRIES - 1) {
            *slot = frame;
            return false;
        }
    }
    return false;
}

void report_own_mark(json_t *report)
{
    // Threads share frames, so most of them were marked before.
    const json_t *marked[MARKED_MAX] = { NULL };
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = report_frames(json_array_get(threads, i));
        for (size_t k = 0; k < json_array_size(frames); k++) {
            json_t *frame = json_array_get(frames, k);
            if (!was_marked(marked, frame))
                mark_frame(report, frame);
        }
    }
}

bool report_frame_is_system(const json_t *report, const json_t *frame)
{
    struct own_verdict verdict;
    if (!report_frame_is_code(frame) || (report_string(frame, "function") == NULL &&
                                         report_image(report, frame) == NULL))
        return false;
    report_own_judge(report, frame, &verdict);
    return !verdict.own;
}
