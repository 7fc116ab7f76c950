// SPDX-License-Identifier: Apache-2.0
//
// Finding the image that contains an address.
//
// This is called for every frame of every walk, for some several times, so it is a
// binary search over an array and nothing more.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/sorted.h"
#include "unwind/unwind_types.h"

// image_search gives the image that contains address, or NULL. images is sorted by
// start.
static inline const struct unwind_image *image_search(const struct unwind_image *images,
                                                      size_t count, uint64_t address)
{
    size_t after = SORTED_UP_TO(images, count, start, address);
    if (after == 0 || address >= images[after - 1].end)
        return NULL;
    return &images[after - 1];
}
