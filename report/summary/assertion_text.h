// SPDX-License-Identifier: Apache-2.0
//
// What a failed assertion says: the words around the expression name the program, the
// file and the line, which differ from build to build, and each C library has its own.
#pragma once
#include <stddef.h>

// assertion_text gives the expression that was asserted, which is a part of message and
// has out_size bytes: "count > 0" of "shop: FILE:7: put: Assertion `count > 0' failed."
// (glibc) and of "Assertion failed: count > 0 (FILE: put: 7)" (musl). NULL: the message
// has no such form.
const char *assertion_text(const char *message, size_t *out_size);
