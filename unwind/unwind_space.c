// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_space.h"

#include <stdlib.h>

#include "unwind/space_parts.h"

enum ch_status unwind_space_create(const struct unwind_arch *arch,
                                   const struct memory_reader *memory,
                                   const struct unwind_image *images, size_t count,
                                   struct unwind_space **out)
{
    struct unwind_space *space = calloc(1, sizeof(*space));
    if (space == NULL)
        return CH_ERR_NO_MEMORY;

    *space = (struct unwind_space){
        .arch = arch, .memory = memory, .images = images, .count = count
    };
    enum ch_status status =
        rule_cache_create(arch, memory, images, count, &space->rules);
    if (status != CH_OK) {
        unwind_space_destroy(space);
        return status;
    }
    space->known_steps = known_steps_create(arch, memory);
    *out = space;
    return CH_OK;
}

void unwind_space_destroy(struct unwind_space *space)
{
    if (space == NULL)
        return;
    libunwind_walk_destroy(space->libunwind);
    libunwind_images_destroy(space->libunwind_images);
    rule_cache_destroy(space->rules);
    free(space->known_steps);
    free(space);
}

void unwind_space_set_code(struct unwind_space *space, unwind_code_fn *code,
                           void *context)
{
    space->code = code;
    space->code_context = context;
}

void unwind_space_set_leave(struct unwind_space *space, unwind_leave_fn *leave,
                            void *context)
{
    space->leave = leave;
    space->leave_context = context;
}

void unwind_space_set_debug_frames(struct unwind_space *space,
                                   unwind_debug_frame_fn *find, void *context)
{
    rule_cache_set_debug_frames(space->rules, find, context);
}

void unwind_space_set_sections(struct unwind_space *space, unwind_sections_fn *find,
                               void *context)
{
    rule_cache_set_sections(space->rules, find, context);
}

bool unwind_space_is_code(void *context, uint64_t address)
{
    struct unwind_space *space = context;
    // Multiplicative hashing: the top 9 bits index UNWIND_CODE_PLACES places, and 0
    // marks an empty one. Only addresses of code are kept.
    uint64_t *known =
        &space->known_code[(address * UINT64_C(0x9e3779b97f4a7c15)) >> 55];
    if (*known == address && address != 0)
        return true;
    bool code = space->code != NULL
                    ? space->code(space->code_context, address)
                    : image_search(space->images, space->count, address) != NULL;
    if (code)
        *known = address;
    return code;
}
