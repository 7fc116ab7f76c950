// SPDX-License-Identifier: Apache-2.0
#include "report/grouping/report_in_app.h"

#include <stdio.h>
#include <string.h>

#include "report/file/report_tree.h"
#include "report/file/seen_frames.h"
#include "report/summary/crash_kind.h"
#include "report/summary/crash_words.h"

static bool is_executable(const json_t *report, const char *path)
{
    const char *executable =
        report_string(json_object_get(report, "process"), "executable");
    return path != NULL && executable != NULL && strcmp(path, executable) == 0;
}

// is_static_program returns true if the report has no image but the executable and the
// kernel's.
static bool is_static_program(const json_t *report)
{
    const json_t *images = json_object_get(report, "images");
    for (size_t i = 0; i < json_array_size(images); i++) {
        const char *path = report_string(json_array_get(images, i), "path");
        if (path == NULL || (path[0] != '[' && strncmp(path, "linux-vdso", 10) != 0 &&
                             !is_executable(report, path)))
            return false;
    }
    return json_array_size(images) != 0;
}

static const char *package_name(const json_t *image)
{
    const json_t *package = json_object_get(image, "package");
    // A package of dpkg's database says who packed the file, not whose program it is
    // of.
    return report_string(package, "source") == NULL ? report_string(package, "name")
                                                    : NULL;
}

// program_package is the package of the executable, or NULL. A program that only has
// the package note of the C library has it by the start files that it was linked with:
// those of Debian 13 for other processors have one.
static const char *program_package(const json_t *report)
{
    const json_t *images = json_object_get(report, "images");
    const char *program = NULL;
    const char *library = NULL;
    for (size_t i = 0; i < json_array_size(images); i++) {
        const json_t *image = json_array_get(images, i);
        const char *path = report_string(image, "path");
        if (is_executable(report, path))
            program = package_name(image);
        else if (path != NULL && strstr(path, "/libc.so.") != NULL)
            library = package_name(image);
    }
    bool linked = program != NULL && library != NULL && strcmp(program, library) == 0;
    return linked ? NULL : program;
}

// may_be_runtime returns true if a frame that a source of its own has named may be a
// part of the runtime, as it has no file. Functions that are built into V8 have none.
static bool may_be_runtime(const json_t *frame)
{
    const char *language = report_string(frame, "language");
    return report_string(frame, "source") != NULL &&
           report_string(frame, "file") == NULL &&
           (language == NULL || strcmp(language, "javascript") == 0);
}

// take_said_rule takes the verdict of the sender, by the rule that it names.
static void take_said_rule(const json_t *frame, const char *rule,
                           struct in_app_verdict *out)
{
    static const char reports[] = "reports ";
    static const char starts[] = "starts ";
    *out = (struct in_app_verdict){
        .in_app = !report_flag(frame, "system"),
        .reports = strncmp(rule, reports, sizeof(reports) - 1) == 0,
        .starts = strncmp(rule, starts, sizeof(starts) - 1) == 0,
    };
    (void)snprintf(out->rule, sizeof(out->rule), "%.90s", rule);
}

void report_in_app_judge(const json_t *report, const json_t *frame, const char *scoped,
                         struct in_app_verdict *out)
{
    const json_t *image = report_image(report, frame);
    const char *path = report_string(image, "path");
    const char *package = package_name(image);
    const char *rule = report_string(frame, "rule");
    const struct in_app_frame facts = {
        .image = path != NULL ? path : report_string(image, "name"),
        .package = package,
        .program_package = package != NULL ? program_package(report) : NULL,
        .build_id = report_string(image, "build_id"),
        .function = report_string(frame, "function"),
        .scoped = scoped,
        .raw_name = report_string(frame, "raw_name"),
        .file = report_frame_file(frame),
        .executable = is_executable(report, path),
        .is_static = is_static_program(report),
    };
    // The image is the interpreter's, and says nothing of a frame that it ran.
    const struct in_app_frame interpreted = { .file = facts.file };
    const bool runs = report_frame_is_interpreted(frame);
    const struct in_app_frame *judged = runs ? &interpreted : &facts;
    if (rule != NULL && !in_app_judge_by_user(judged, out)) {
        take_said_rule(frame, rule, out);
        return;
    }
    if (rule == NULL)
        in_app_judge(judged, out);
    if ((runs && facts.function == NULL) || may_be_runtime(frame))
        out->in_app = false;
}

static void mark_frame(const json_t *report, json_t *frame)
{
    struct in_app_verdict verdict;
    const bool known =
        report_string(frame, "function") != NULL || report_image(report, frame) != NULL;
    if (!report_frame_is_code(frame) || !known)
        return;
    report_in_app_judge(report, frame, NULL, &verdict);
    (void)json_object_set_new(frame, "system", json_boolean(!verdict.in_app));
    if (verdict.rule[0] != 0)
        (void)json_object_set_new(frame, "rule", json_string(verdict.rule));
    else
        (void)json_object_del(frame, "rule");
}

// returns_from_signal returns true if a signal's handler returns to the frame at index,
// which has no name: the one after it was interrupted, not left by a call. Go has such
// code of its own, and no debug information of it.
static bool returns_from_signal(const json_t *frames, size_t index)
{
    const char *next = report_string(json_array_get(frames, index + 1), "kind");
    return next != NULL && strcmp(next, "pc") == 0;
}

// foreign_place returns what code that has no name is where no function of the
// program's is: what it jumped to, or what a signal's handler returns to. NULL:
// neither.
static const char *foreign_place(const json_t *report, const json_t *frames,
                                 size_t index)
{
    const json_t *frame = json_array_get(frames, index);
    if (!report_frame_is_code(frame) || report_string(frame, "function") != NULL)
        return NULL;
    if (index == 0 && frames == report_frames(report_crashed_thread(report)) &&
        crash_words_is_in_data(json_object_get(report, "crash")))
        return "data";
    return returns_from_signal(frames, index) ? "returns from a signal" : NULL;
}

// mark_stacks marks the frames of threads, or of what has a stack as they have.
static void mark_stacks(json_t *report, const char *list, struct seen_frames *marked)
{
    const json_t *threads = json_object_get(report, list);
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *frames = report_frames(json_array_get(threads, i));
        for (size_t k = 0; k < json_array_size(frames); k++) {
            json_t *frame = json_array_get(frames, k);
            const json_t **slot = seen_frames_slot(marked, frame);
            if (*slot == frame)
                continue;
            mark_frame(report, frame);
            const char *rule = foreign_place(report, frames, k);
            if (rule != NULL) {
                (void)json_object_set_new(frame, "system", json_true());
                (void)json_object_set_new(frame, "rule", json_string(rule));
            }
            *slot = frame;
        }
    }
}

void report_in_app_mark(json_t *report)
{
    struct seen_frames marked = { 0 };
    const json_t *said = report_exception_stack(report);
    for (size_t i = 0; i < json_array_size(said); i++)
        mark_frame(report, json_array_get(said, i));
    mark_stacks(report, "threads", &marked);
    mark_stacks(report, "goroutines", &marked);
}

bool report_frame_is_system(const json_t *report, const json_t *frame)
{
    struct in_app_verdict verdict;
    if (!report_frame_is_code(frame) || (report_string(frame, "function") == NULL &&
                                         report_image(report, frame) == NULL))
        return false;
    report_in_app_judge(report, frame, NULL, &verdict);
    return !verdict.in_app;
}
