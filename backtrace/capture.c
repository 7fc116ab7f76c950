// SPDX-License-Identifier: Apache-2.0
//
// Backtraces of the calling thread, and of exceptions thrown.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "backtrace/capture_options.h"
#include "backtrace/local_images.h"
#include "backtrace/local_walk.h"
#include "backtrace/stored.h"
#include "shared/throw_ring.h"

enum { FRAMES_AT_ONCE = STORED_ADDRESSES_MAX };

// A batch is the next frames of a walk.
struct batch {
    size_t count;
    bool has_all; // the walk has ended
    uint64_t addresses[FRAMES_AT_ONCE];
    uint8_t kinds[FRAMES_AT_ONCE]; // enum unwind_kind
};

// batch_fill appends frames to batch until it is full or the walk ends.
static void batch_fill(struct local_walk *walk, struct batch *batch)
{
    while (batch->count != FRAMES_AT_ONCE && !batch->has_all) {
        size_t count = local_walk_next(walk, batch->addresses + batch->count,
                                       FRAMES_AT_ONCE - batch->count);
        memset(batch->kinds + batch->count,
               walk->is_interrupted ? UNWIND_KIND_PC : UNWIND_KIND_RA, count);
        batch->count += count;
        batch->has_all = count == 0;
    }
}

// capture_all passes the frames of batch and of the rest of the walk on to `frames`.
static void capture_all(struct local_walk *walk, struct batch *batch,
                        struct capture_frames *frames)
{
    uint64_t left = CRASHHOOK_FRAMES_MAX;
    for (;;) {
        for (size_t i = 0; i < batch->count; i++, left--) {
            const struct unwind_frame frame = { .address = batch->addresses[i],
                                                .kind = batch->kinds[i] };
            if (left == 0 || !capture_frames_keep(frames, &frame, NULL))
                return;
        }
        if (batch->has_all)
            return;
        batch->count = 0;
        batch_fill(walk, batch);
    }
}

// capture_long applies the limits, for which it allocates. On success it takes the
// caller's reference to images.
static enum ch_status capture_long(struct local_walk *walk, struct batch *batch,
                                   const struct capture_options *wanted,
                                   struct crashhook_images *images,
                                   struct crashhook_backtrace **out)
{
    struct backtrace_limit kept = { .limit = 0 };
    struct capture_frames frames = { .kept = &kept, .skip = wanted->offset };
    capture_frames_begin(&frames, wanted);
    capture_all(walk, batch, &frames);
    enum ch_status status = stored_from_walk(&kept, images, out);
    backtrace_limit_deinit(&kept);
    if (status == CH_OK)
        crashhook_images_release(images);
    return status;
}

__attribute__((noinline)) int
crashhook_backtrace_capture(const struct crashhook_capture_options *options,
                            struct crashhook_backtrace **out)
{
    struct unwind_registers registers;
    struct capture_options wanted;
    struct crashhook_images *images;
    struct local_walk walk;
    enum ch_status status = capture_options_read(options, &wanted);
    if (status == CH_OK)
        status = local_images_take(&images);
    if (status != CH_OK)
        return stored_errno(status);
    local_walk_here(&registers);
    local_walk_begin(&walk, &registers,
                     options != NULL ? options->algorithm : CRASHHOOK_UNWIND_AUTO);
    local_walk_to_caller(&walk, __builtin_frame_address(0),
                         (uintptr_t)__builtin_dwarf_cfa());
    struct batch batch;
    batch.addresses[0] = walk.pc;
    batch.kinds[0] = walk.is_interrupted ? UNWIND_KIND_PC : UNWIND_KIND_RA;
    batch.count = 1;
    batch.has_all = false;
    batch_fill(&walk, &batch);
    if (batch.has_all && batch.count <= wanted.limit && batch.count > wanted.offset)
        status = stored_from_addresses(batch.addresses + wanted.offset,
                                       batch.kinds + wanted.offset,
                                       batch.count - wanted.offset, images, out);
    else
        status = capture_long(&walk, &batch, &wanted, images, out);
    local_walk_finish(&walk);
    if (status != CH_OK)
        crashhook_images_release(images);
    return stored_errno(status);
}

int crashhook_images_capture(struct crashhook_images **out)
{
    return stored_errno(local_images_take(out));
}

int crashhook_backtrace_from_exception(const void *object,
                                       struct crashhook_backtrace **out)
{
    uint8_t cbf[THROW_CBF_BYTES];
    throws_find_function *find;
    // The library is preloaded or linked, or it is not there.
    void *found = dlsym(RTLD_DEFAULT, "crashhook_throws_find");
    memcpy(&find, &found, sizeof(find));
    size_t size = find != NULL ? find(object, cbf) : 0;
    return size != 0 ? crashhook_backtrace_from_cbf(cbf, size, NULL, out) : ENOENT;
}
