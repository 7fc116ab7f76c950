// SPDX-License-Identifier: Apache-2.0
//
// Where the watched objects of the program are listed, for the request page.
#pragma once
#include "handler/watch_page.h"

#pragma GCC visibility push(hidden)

// watch_slots is the table.
extern struct watch_slot watch_slots[WATCH_COUNT];

#pragma GCC visibility pop
