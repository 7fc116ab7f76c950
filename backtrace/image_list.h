// SPDX-License-Identifier: Apache-2.0
//
// The image lists behind crashhook_images: created and sorted once, then shared by
// reference count between backtraces and the spaces that capture them.
#pragma once
#include <stdatomic.h>

#include "crashhook/backtrace_values.h"
#include "images/images.h"

// IMAGE_LIST_MAX is the greatest number of images accepted in a list that is read.
enum { IMAGE_LIST_MAX = 1 << 16 };

// An image_memo is what another module keeps with an image of a list.
struct image_memo {
    void (*release)(struct image_memo *memo); // called with the list's last reference
};

struct crashhook_image {
    char *path;       // NULL: not known
    const char *name; // in path
    uint8_t *id;      // NULL: none
    size_t id_size;
    uint64_t base;
    uint64_t end_of_text;
    unsigned width;                     // of addresses, in bits
    _Atomic(struct image_memo *) named; // NULL: none of its names was looked up
};

struct crashhook_images {
    atomic_size_t references;
    char *platform; // as an image map names it; NULL: this one
    size_t count;
    struct crashhook_image items[];
};

// image_list_create makes an empty list with room for count images.
CH_CHECKED enum ch_status image_list_create(size_t count,
                                            struct crashhook_images **out);

// image_list_add appends a copy of image, whose path has path_size bytes.
CH_CHECKED enum ch_status image_list_add(struct crashhook_images *images,
                                         const struct crashhook_image *image,
                                         size_t path_size);

// image_list_sort sorts the images by address.
void image_list_sort(struct crashhook_images *images);

// image_list_from_target copies the images that were found in a process.
CH_CHECKED enum ch_status image_list_from_target(const struct target_images *from,
                                                 struct crashhook_images **out);

// image_list_encode appends images as a Compact Image Map. CH_ERR_MALFORMED: one of
// them cannot be represented in such a map.
CH_CHECKED enum ch_status image_list_encode(const struct crashhook_images *images,
                                            struct text *out);

// image_list_decode reads a Compact Image Map of size bytes.
CH_CHECKED enum ch_status image_list_decode(const void *bytes, size_t size,
                                            struct crashhook_images **out);
