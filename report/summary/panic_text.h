// SPDX-License-Identifier: Apache-2.0
//
// What a panic says: the message of Rust's runtime begins with the thread and the
// place, which differ from build to build, Go's with the word itself.
#pragma once
#include <stddef.h>

// panic_text gives the first line of what a panic says, which is a part of message and
// has out_size bytes: "no such page" of "thread 'main' panicked at src/main.rs:4:9:\nno
// such page".
const char *panic_text(const char *message, size_t *out_size);

// What a failed assertion says: the words around the expression name the program, the
// file and the line, which differ from build to build, and each C library has its own.

// assertion_text gives the expression that was asserted, which is a part of message and
// has out_size bytes: "count > 0" of "shop: FILE:7: put: Assertion `count > 0' failed."
// (glibc) and of "Assertion failed: count > 0 (FILE: put: 7)" (musl). NULL: the message
// has no such form.
const char *assertion_text(const char *message, size_t *out_size);
