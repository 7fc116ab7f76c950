// SPDX-License-Identifier: Apache-2.0
//
// The SFrame sections of a target's images, fetched when they are first needed.
//
// A section that is missing, damaged or of an unknown version is remembered as such, so
// that each image is tried once, however many frames it has.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"
#include "formats/debug/unwind_row.h"
#include "unwind/unwind_arch.h"
#include "unwind/unwind_types.h"

struct image_sframe;

// image_sframe_create prepares for the sections of count images; the images must
// outlive it.
CH_CHECKED enum ch_status image_sframe_create(const struct unwind_arch *arch,
                                              const struct memory_reader *memory,
                                              const struct unwind_image *images,
                                              size_t count, struct image_sframe **out);
void image_sframe_destroy(struct image_sframe *sections);

// image_sframe_any says whether any image has an SFrame section.
bool image_sframe_any(const struct image_sframe *sections);

// image_sframe_find gives the rules at pc, which lies in images[index].
// CH_ERR_NOT_FOUND: nothing covers it. CH_ERR_UNSUPPORTED: the image has no section, or
// one that cannot be used.
CH_CHECKED enum ch_status image_sframe_find(struct image_sframe *sections, size_t index,
                                            uint64_t pc, struct unwind_row *out);
