// SPDX-License-Identifier: Apache-2.0
//
// The table of the program's watched objects: in the library's own memory, at an
// address that the request page has. The calls that fill it are in crashhook.h, and its
// layout is in watch_page.h. It never grows.
#pragma once
#include "shared/watch_page.h"

#pragma GCC visibility push(hidden)

// watch_slots is the table.
extern struct watch_slot watch_slots[WATCH_COUNT];

#pragma GCC visibility pop
