// SPDX-License-Identifier: Apache-2.0
//
// What a program writes on standard error, passed on by a process in between that keeps
// the last of it: for `crashhook run --stderr-tail`, whose report of a panic or a
// failed exit quotes it.
//
// The program gets a pipe, or, where standard error was a terminal, a terminal of its
// own, so that isatty and colours are as before. Everything is passed on in order, by
// one read and one write; a slow reader slows the program down as it would without. The
// process outlives us as long as somebody else has the other end. Users: run.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

struct stderr_tail {
    int program_fd; // the program's standard error; -1: there is none
    int relay_fd;   // the relay's end of it
    struct stderr_ring *ring;
};

// stderr_tail_begin makes the relay, before the program is started. Its signals must be
// blocked.
CH_CHECKED enum ch_status stderr_tail_begin(struct stderr_tail *tail);

// stderr_tail_use makes it the standard error of the calling process.
void stderr_tail_use(const struct stderr_tail *tail);

// stderr_tail_started closes what the program has by now.
void stderr_tail_started(struct stderr_tail *tail);

// stderr_tail_read appends the last of what was written, once all of it is passed on.
void stderr_tail_read(struct stderr_tail *tail, struct text *out);
