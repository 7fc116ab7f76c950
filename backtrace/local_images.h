// SPDX-License-Identifier: Apache-2.0
//
// The images of our own process, as the dynamic linker lists them: /proc is not needed,
// and no other process's privileges.
//
// A list is made once for each state of the linker's list and shared by reference
// count: each thread keeps the one that it used last, and one more is kept for all.
#pragma once
#include "backtrace/image_list.h"

// local_images_take gives a reference to the current list. CH_ERR_NO_MEMORY.
CH_CHECKED enum ch_status local_images_take(struct crashhook_images **out);

// local_images_release drops the list that is kept for all threads.
void local_images_release(void);
