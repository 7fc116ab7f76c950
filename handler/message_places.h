// SPDX-License-Identifier: Apache-2.0
//
// Where the C and C++ libraries keep what they say before they abort: glibc the line
// that assert, malloc or a fortified function wrote, libstdc++ the exception that
// nobody caught.
//
// Looked for once, at install, so that nothing is searched in a crash. What libstdc++
// keeps is a thread's own. Where it is loaded with the program, it lies at one distance
// from every thread's pointer, and the distance is all that has to be known; of a
// libstdc++ that dlopen brings later, nothing is.
#pragma once
#include <stdint.h>

struct message_places {
    uint64_t abort_message;    // of __abort_msg, a pointer; 0: not known
    int64_t exception_globals; // distance from the thread pointer; 0: not known
    uint64_t terminate;        // std::terminate; 0: not known
    uint64_t set_terminate;    // std::set_terminate; 0: not known
    int64_t exception_slot;    // of a pointer to libc++abi's, likewise; 0: not known
    uint64_t get_terminate;    // std::get_terminate; 0: not known
    uint64_t sanitizer_report; // a text, empty until AddressSanitizer reports; 0: none
    uint64_t assert_fail; // musl's __assert_fail, which keeps no words; 0: not known
};

// message_places_find fills out with what this process has.
void message_places_find(struct message_places *out);

// sanitizer_report_place has AddressSanitizer's report kept from now on, and says
// where; 0: the program is built without.
uint64_t sanitizer_report_place(void);

// abort_message_place is the address of glibc's __abort_msg, or NULL. The shared and
// the static library find it each in their own way.
const void *abort_message_place(void);
