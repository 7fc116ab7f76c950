// SPDX-License-Identifier: Apache-2.0
//
// bench_unwind PID HOW: stops a process, unwinds all its threads and resumes it, as the
// agent does. Prints threads, frames, milliseconds from the start to all frames in
// memory, and the part of those, in microseconds, after the images were known.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/capture.h"
#include "base/array.h"
#include "unwind/unwind.h"

struct frames {
    struct unwind_frame *frames;
    size_t count;
    size_t capacity;
};

static bool keep(void *context, const struct unwind_frame *frames, size_t count,
                 const struct unwind_state *state)
{
    (void)state;
    struct frames *all = context;
    if (!array_reserve_many(&all->frames, &all->capacity, all->count, count,
                            sizeof(*frames)))
        return false;
    memcpy(all->frames + all->count, frames, count * sizeof(*frames));
    all->count += count;
    return true;
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
                         enum setting_unwind how, struct frames *all)
{
    size_t threads = 0;
    for (size_t i = 0; i < capture->stop.count; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        const struct target_mapping *stack =
            images_mapping(&capture->images, thread->registers.value[UNWIND_SP]);
        if (thread->state != STOP_STOPPED || stack == NULL)
            continue;
        target_memory_set_stack(&capture->memory, stack->start, stack->end);
        (void)unwind_walk_frames(space, &thread->registers, how, keep, all);
        threads++;
    }
    return threads;
}

int main(int argc, char **argv)
{
    struct settings settings = { .timeout_ms = 10000 };
    struct capture capture = { .settings = &settings };
    struct frames all = { 0 };
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
    size_t threads = unwind_all(&capture, space, how_of(argv[2]), &all);
    uint64_t end = capture_clock_us();
    capture_release(&capture);
    printf("%zu %zu %.3f %lu\n", threads, all.count, (double)(end - begin) / 1000,
           end - stopped);
    return 0;
}
