// SPDX-License-Identifier: Apache-2.0
//
// Where the C and C++ libraries keep their message before they abort: glibc the line
// that assert, malloc or a fortified function wrote, libstdc++ the uncaught exception.
//
// They are looked for once, at install, so that a crash searches nothing. libstdc++'s
// state is per thread. If libstdc++ is loaded with the program, the state is at a fixed
// offset from each thread's pointer, and the offset is all that is needed; for a
// libstdc++ that dlopen loads later, nothing is known.
#pragma once
#include <stdint.h>

#include "shared/request_page.h"

// message_places_find fills out with this process's addresses.
void message_places_find(struct runtime_places *out);

// sanitizer_report_place has AddressSanitizer's report copied from now on, and gives
// the address of the copy; 0: the program is built without it.
uint64_t sanitizer_report_place(void);

// ch_abort_message_place is the address of glibc's __abort_msg, or NULL. The shared and
// the static library find it in different ways.
const void *ch_abort_message_place(void);
