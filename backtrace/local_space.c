// SPDX-License-Identifier: Apache-2.0
#include "backtrace/local_space.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backtrace/image_list.h"
#include "images/link_map.h"

// If more threads than this capture at once, the others create spaces and free them.
enum { SLOTS = 8 };

// A space keeps memory for at most this many frames.
enum { KEPT_FRAMES = 4096 };

static _Atomic(struct local_space *) slots[SLOTS];

static int count_changes(struct dl_phdr_info *info, size_t size, void *out)
{
    uint64_t *generation = out;
    (void)size;
    *generation = (uint64_t)info->dlpi_adds + (uint64_t)info->dlpi_subs;
    return 1;
}

// generation_now changes whenever an object is loaded or unloaded.
static uint64_t generation_now(void)
{
    uint64_t generation = 0;
    dl_iterate_phdr(count_changes, &generation);
    return generation;
}

static void destroy_local_space(struct local_space *space)
{
    unwind_space_destroy(space->unwind);
    crashhook_images_release(space->images);
    local_memory_deinit(&space->memory);
    images_deinit(&space->target);
    backtrace_limit_deinit(&space->frames);
    free(space);
}

static enum ch_status read_own_images(struct local_space *space)
{
    // The main thread may have exited; its /proc/PID/maps is then empty.
    pid_t tid = (pid_t)syscall(SYS_gettid);
    enum ch_status status = images_read(&space->target, tid, &space->reader);
    if (status != CH_OK && status != CH_ERR_LIMIT)
        return status;
    // A static program has no such list; its images were found by the mappings.
    if (link_map_read(&space->target, tid, &space->reader) == CH_ERR_NO_MEMORY)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < space->target.count; i++)
        space->any_sframe |= space->target.images[i].sframe_size != 0;
    status = images_list_for_unwinder(&space->target);
    if (status == CH_OK)
        status = image_list_from_target(&space->target, &space->images);
    return status;
}

static enum ch_status make_local_space(uint64_t generation, struct local_space **out)
{
    struct local_space *space = calloc(1, sizeof(*space));
    if (space == NULL)
        return CH_ERR_NO_MEMORY;
    space->generation = generation;
    space->reader = local_memory_reader(&space->memory);
    enum ch_status status = read_own_images(space);
    if (status == CH_OK)
        status = unwind_space_create(unwind_arch_native(), &space->reader,
                                     space->target.unwind, space->target.count,
                                     &space->unwind);
    if (status != CH_OK) {
        destroy_local_space(space);
        return status;
    }
    space->memory.images = &space->target;
    unwind_space_set_code(space->unwind, images_is_code, &space->target);
    *out = space;
    return CH_OK;
}

enum ch_status local_space_take(struct local_space **out)
{
    uint64_t generation = generation_now();
    for (size_t i = 0; i < SLOTS; i++) {
        if (atomic_load_explicit(&slots[i], memory_order_relaxed) == NULL)
            continue;
        struct local_space *space = atomic_exchange(&slots[i], NULL);
        if (space != NULL && space->generation == generation) {
            *out = space;
            return CH_OK;
        }
        if (space != NULL)
            destroy_local_space(space);
    }
    return make_local_space(generation, out);
}

void local_space_give_back(struct local_space *space)
{
    if (space->frames.capacity > KEPT_FRAMES)
        backtrace_limit_deinit(&space->frames);
    for (size_t i = 0; i < SLOTS; i++) {
        struct local_space *none = NULL;
        if (atomic_compare_exchange_strong(&slots[i], &none, space))
            return;
    }
    destroy_local_space(space);
}
