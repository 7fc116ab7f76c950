// SPDX-License-Identifier: Apache-2.0
//
// A library that was unloaded, by what the dynamic linker has left of it: glibc's
// description of it (struct link_map) stays in freed memory until that is used again.
//
// It is known by its form: it points to itself and, for its name, into itself, and has
// the bounds of an image of which nothing is mapped any more. Only what the library was
// called is taken from it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "agent/live/capture.h"

enum { ORIGIN_IMAGE_NAME_BYTES = 64 };

// origin_image_find finds the name that the library was opened by which had address,
// where nothing is mapped now, in at most ORIGIN_IMAGE_PAGES of the heaps.
enum { ORIGIN_IMAGE_PAGES = 512 };
bool origin_image_find(const struct capture *capture, uint64_t address,
                       char out[static ORIGIN_IMAGE_NAME_BYTES]);
