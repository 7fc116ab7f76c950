// SPDX-License-Identifier: Apache-2.0
//
// bench_unwind PID HOW: stops a process, unwinds all its threads and resumes it, as the
// agent does: it keeps as many frames as a report does. Prints threads, frames,
// milliseconds from the start to all frames found, and the part of those, in
// microseconds, after the images were known.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/live/capture.h"
#include "unwind/backtrace_limit.h"
#include "unwind/unwind.h"

// What a report keeps of a stack by default.
enum { LIMIT = 64, TOP = 16 };

static bool keep(void *context, const struct unwind_frame *frames, size_t count,
                 const struct unwind_state *state)
{
    (void)state;
    return backtrace_limit_add_many(context, frames, count);
}

static enum setting_unwind how_of(const char *name)
{
    static const char *const names[] = { "auto",  "fast", "precise",  "sframe",
                                         "dwarf", "fp",   "libunwind" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0)
            return (enum setting_unwind)i;
    }
    return SETTING_UNWIND_AUTO;
}

static size_t unwind_all(struct capture *capture, struct unwind_space *space,
                         enum setting_unwind how, size_t *out_frames)
{
    struct backtrace_limit kept;
    size_t threads = 0;
    *out_frames = 0;
    backtrace_limit_init(&kept, LIMIT, TOP);
    for (size_t i = 0; i < capture->stop.count; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        const struct target_mapping *stack =
            images_mapping(&capture->images, thread->registers.value[UNWIND_SP]);
        if (thread->state != STOP_STOPPED || stack == NULL)
            continue;
        target_memory_set_stack(&capture->memory, stack->start, stack->end);
        backtrace_limit_set(&kept, LIMIT, TOP);
        (void)unwind_walk_frames(space, &thread->registers, how, keep, &kept);
        *out_frames += kept.total;
        threads++;
    }
    backtrace_limit_deinit(&kept);
    return threads;
}

int main(int argc, char **argv)
{
    struct settings settings = { .timeout_ms = 10000 };
    struct capture capture = { .settings = &settings };
    size_t frames;
    struct unwind_space *space;
    if (argc != 3)
        return 2;
    uint64_t begin = capture_clock_us();
    if (capture_take(&capture, (pid_t)strtol(argv[1], NULL, 10)) != CH_OK)
        return 1;
    uint64_t stopped = capture_clock_us();
    if (unwind_space_create(unwind_arch_native(), &capture.reader,
                            capture.images.unwind, capture.images.count,
                            &space) != CH_OK)
        return 1;
    unwind_space_set_code(space, images_is_code, &capture.images);
    size_t threads = unwind_all(&capture, space, how_of(argv[2]), &frames);
    uint64_t end = capture_clock_us();
    capture_release(&capture);
    printf("%zu %zu %.3f %lu\n", threads, frames, (double)(end - begin) / 1000,
           end - stopped);
    return 0;
}
