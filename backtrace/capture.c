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

enum { FRAMES_AT_ONCE = 256 };

// capture_all passes the frames of a walk on to `frames`, and where it ends.
static void capture_all(struct local_walk *walk, struct capture_frames *frames)
{
    uint64_t addresses[FRAMES_AT_ONCE];
    uint64_t left = CRASHHOOK_FRAMES_MAX;
    size_t count = 1;
    addresses[0] = walk->pc;
    while (count != 0 && left != 0) {
        for (size_t i = 0; i < count; i++) {
            const struct unwind_frame frame = {
                .address = addresses[i],
                .kind = walk->is_interrupted ? UNWIND_KIND_PC : UNWIND_KIND_RA,
            };
            if (!capture_frames_keep(frames, &frame, NULL))
                return;
        }
        left -= count;
        count = local_walk_next(walk, addresses,
                                left < FRAMES_AT_ONCE ? (size_t)left : FRAMES_AT_ONCE);
    }
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
    struct backtrace_limit kept = { .limit = 0 };
    struct capture_frames frames = { .kept = &kept, .skip = wanted.offset };
    capture_frames_begin(&frames, &wanted);
    local_walk_begin(&walk, &registers,
                     options != NULL ? options->algorithm : CRASHHOOK_UNWIND_AUTO);
    local_walk_to_caller(&walk, __builtin_frame_address(0),
                         (uintptr_t)__builtin_dwarf_cfa());
    capture_all(&walk, &frames);
    local_walk_finish(&walk);
    status = stored_from_walk(&kept, images, out);
    backtrace_limit_deinit(&kept);
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
