// SPDX-License-Identifier: Apache-2.0
//
// Where the watched objects of the program are listed: in the library's own memory, at
// an address that the request page tells the agent. The calls that fill it are in
// crashhook.h, and what it looks like is in watch_page.h. It never grows.
#pragma once
#include "handler/watch_page.h"

#pragma GCC visibility push(hidden)

// watch_slots is the table.
extern struct watch_slot watch_slots[WATCH_COUNT];

#pragma GCC visibility pop
