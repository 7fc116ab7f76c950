// SPDX-License-Identifier: Apache-2.0
//
// What the C library wrote before it aborted the program, read where it keeps it: a
// failed assert, what malloc found in its heap, a smashed stack, a fortified function's
// complaint.
//
// glibc has a pointer, __abort_msg, to a size and the text behind it. All of it is the
// target's memory: bounded, and made printable.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/memory_reader.h"

enum { ABORT_MESSAGE_MAX = 4096 };

// abort_message_read copies the text that the pointer at place leads to.
// CH_ERR_NOT_FOUND: the library has said nothing. CH_ERR_FAULT: it cannot be read.
CH_CHECKED enum ch_status abort_message_read(const struct memory_reader *reader,
                                             uint64_t place,
                                             char out[static ABORT_MESSAGE_MAX]);

// abort_message_clean makes text one printable line: spaces for control characters,
// none at its ends.
void abort_message_clean(char *text);
