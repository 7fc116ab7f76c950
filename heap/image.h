// SPDX-License-Identifier: Apache-2.0
//
// Lists the images of this process for backtrace/local_code.h.
//
// glibc finds them by _dl_find_object, without a lock. musl has no such function, but
// unmaps no library, so what was listed once stays valid there.
#pragma once
#include <stdbool.h>

// image_has_finder returns true if the C library finds images itself.
bool image_has_finder(void);

// image_list lists the images that are loaded now.
void image_list(void);
