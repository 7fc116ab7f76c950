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
