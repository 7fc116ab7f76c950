// SPDX-License-Identifier: Apache-2.0
//
// Replaces libunwind_step.c and libunwind_peek.c in a build without libunwind: every
// function that can fail returns that it is not supported.
#include "unwind/libunwind_peek.h"
#include "unwind/libunwind_step.h"

enum ch_status libunwind_images_create(const struct memory_reader *memory,
                                       const struct unwind_image *images, size_t count,
                                       struct libunwind_images **out)
{
    (void)memory;
    (void)images;
    (void)count;
    (void)out;
    return CH_ERR_UNSUPPORTED;
}

void libunwind_images_destroy(struct libunwind_images *images)
{
    (void)images;
}

enum ch_status libunwind_walk_create(struct libunwind_images *images,
                                     struct libunwind_walk **out)
{
    (void)images;
    (void)out;
    return CH_ERR_UNSUPPORTED;
}

void libunwind_walk_destroy(struct libunwind_walk *walk)
{
    (void)walk;
}

enum ch_status libunwind_walk_begin(struct libunwind_walk *walk,
                                    const struct unwind_registers *registers,
                                    bool exact)
{
    (void)walk;
    (void)registers;
    (void)exact;
    return CH_ERR_UNSUPPORTED;
}

enum ch_status libunwind_walk_registers(struct libunwind_walk *walk,
                                        struct unwind_registers *out)
{
    (void)walk;
    (void)out;
    return CH_ERR_UNSUPPORTED;
}

bool libunwind_walk_in_signal(struct libunwind_walk *walk)
{
    (void)walk;
    return false;
}

enum ch_status libunwind_walk_step(struct libunwind_walk *walk)
{
    (void)walk;
    return CH_ERR_UNSUPPORTED;
}

enum ch_status libunwind_peek_create(pid_t tid, struct libunwind_peek **out)
{
    (void)tid;
    (void)out;
    return CH_ERR_UNSUPPORTED;
}

void libunwind_peek_destroy(struct libunwind_peek *peek)
{
    (void)peek;
}

ssize_t libunwind_peek_read(struct libunwind_peek *peek, uint64_t address, void *to,
                            size_t length)
{
    (void)peek;
    (void)address;
    (void)to;
    (void)length;
    return -1;
}
