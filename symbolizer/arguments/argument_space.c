// SPDX-License-Identifier: Apache-2.0
#include "symbolizer/arguments/argument_space.h"

#include <stdlib.h>
#include <string.h>

// space_read_memory is a memory_read_fn. It reads held memory, and otherwise the file
// of an opened image, except for what the program may have overwritten.
static size_t space_read_memory(void *source, uint64_t address, void *to, size_t length)
{
    const struct argument_space *space = source;
    size_t size = space->held->read(space->held->source, address, to, length);
    const struct unwind_image *unwind =
        size == 0 ? image_search(space->unwind, space->from->count, address) : NULL;
    if (unwind == NULL)
        return size;
    const struct argument_image *image =
        &space->images[space->image_of[unwind - space->unwind]];
    const uint8_t *bytes =
        argument_image_bytes(image, address - image->bias, false, &size);
    if (bytes == NULL)
        return 0;
    size = size < length ? size : length;
    memcpy(to, bytes, size);
    return size;
}

// placed is an image in the order of addresses.
struct placed {
    uint64_t start;
    size_t image;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *one = a;
    const struct placed *other = b;
    return (one->start > other->start) - (one->start < other->start);
}

// place_images lists the images for the unwinder.
static enum ch_status place_images(struct argument_space *space)
{
    size_t count = space->from->count;
    struct placed *placed = calloc(count + 1, sizeof(*placed));
    if (placed == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++)
        placed[i] = (struct placed){ space->from->items[i].base, i };
    qsort(placed, count, sizeof(*placed), compare_placed);
    for (size_t i = 0; i < count; i++) {
        const struct report_image *image = &space->from->items[placed[i].image];
        space->unwind[i] =
            (struct unwind_image){ .start = image->base, .end = image->end_of_text };
        space->image_of[i] = placed[i].image;
        space->unwind_of[placed[i].image] = i;
    }
    free(placed);
    return CH_OK;
}

enum ch_status argument_space_init(struct argument_space *space,
                                   const struct report_images *from,
                                   const struct memory_reader *held,
                                   const struct symbolizer_options *options)
{
    size_t count = from->count + 1;
    *space = (struct argument_space){
        .from = from,
        .options = options,
        .held = held,
        .images = calloc(count, sizeof(*space->images)),
        .memory = { .read = space_read_memory, .source = space },
        .unwind = calloc(count, sizeof(*space->unwind)),
        .image_of = calloc(count, sizeof(*space->image_of)),
        .unwind_of = calloc(count, sizeof(*space->unwind_of)),
    };
    enum ch_status status = CH_ERR_NO_MEMORY;
    if (space->images != NULL && space->unwind != NULL && space->image_of != NULL &&
        space->unwind_of != NULL)
        status = place_images(space);
    if (status != CH_OK)
        argument_space_deinit(space);
    return status;
}

void argument_space_deinit(struct argument_space *space)
{
    unwind_space_destroy(space->space);
    for (size_t i = 0; space->images != NULL && i < space->from->count; i++)
        argument_image_close(&space->images[i]);
    free(space->images);
    free(space->unwind);
    free(space->image_of);
    free(space->unwind_of);
    *space = (struct argument_space){ 0 };
}

struct argument_image *argument_space_open(struct argument_space *space, size_t index)
{
    struct argument_image *image = &space->images[index];
    if (image->opened)
        return image;
    argument_image_open(image, &space->from->items[index], space->options);
    argument_image_rules(image, &space->unwind[space->unwind_of[index]]);
    return image;
}

// find_debug_frame is an unwind_debug_frame_fn.
static void find_debug_frame(void *context, size_t index)
{
    struct argument_space *space = context;
    argument_image_debug_frame(&space->images[space->image_of[index]],
                               &space->unwind[index]);
}

enum ch_status argument_space_walk(struct argument_space *space,
                                   const struct unwind_arch *arch,
                                   const struct unwind_registers *registers,
                                   unwind_frame_fn *visit, void *context)
{
    enum ch_status status = CH_OK;
    if (space->space == NULL) {
        status = unwind_space_create(arch, &space->memory, space->unwind,
                                     space->from->count, &space->space);
        space->arch = arch;
    }
    if (status != CH_OK)
        return status;
    if (space->arch != arch) // all threads of a report have one architecture
        return CH_ERR_MALFORMED;
    unwind_space_set_debug_frames(space->space, find_debug_frame, space);
    (void)unwind_walk(space->space, registers, SETTING_UNWIND_DWARF, visit, context);
    return CH_OK;
}
