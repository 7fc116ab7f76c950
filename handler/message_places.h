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

struct message_places {
    uint64_t abort_message;    // address of __abort_msg, a pointer; 0: not known
    int64_t exception_globals; // offset from the thread pointer; 0: not known
    uint64_t terminate;        // std::terminate; 0: not known
    uint64_t set_terminate;    // std::set_terminate; 0: not known
    int64_t exception_slot;    // offset of a pointer to libc++abi's; 0: not known
    uint64_t get_terminate;    // std::get_terminate; 0: not known
    uint64_t sanitizer_report; // a text, empty until AddressSanitizer reports; 0: none
    uint64_t assert_fail; // musl's __assert_fail, which stores no message; 0: not known
};

// message_places_find fills out with this process's addresses.
void message_places_find(struct message_places *out);

// sanitizer_report_place has AddressSanitizer's report kept from now on, and gives the
// address of the copy; 0: the program is built without it.
uint64_t sanitizer_report_place(void);

// abort_message_place is the address of glibc's __abort_msg, or NULL. The shared and
// the static library find it in different ways.
const void *abort_message_place(void);
