// SPDX-License-Identifier: Apache-2.0
//
// The images of this process, the program and its libraries, by address.
//
// glibc finds them by _dl_find_object, without a lock. musl has no such function, but
// unmaps no library, so what was listed once stays valid there.
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct image {
    const uint8_t *start;
    const uint8_t *end;
    const uint8_t *eh_frame; // its .eh_frame_hdr. NULL: none
};

// image_find finds the image that contains pc. It takes no lock and keeps errno.
bool image_find(uint64_t pc, struct image *out);

// image_has_finder returns true if the C library finds images itself.
bool image_has_finder(void);

// image_list adds the images that are loaded now, if the C library does not find them.
void image_list(void);
