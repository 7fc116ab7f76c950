// SPDX-License-Identifier: Apache-2.0
//
// A pager between a command and a terminal, for output that may be longer than the
// screen: PAGER, or else less, which ends by itself where the output fits (LESS=FRX
// unless LESS is set). There is none if stdout is not a terminal, PAGER is empty or
// `cat`, or TERM is dumb. Users: show, list, groups, and the renderer, which asks for
// the terminal.
#pragma once
#include <stdio.h>

// pager_begin sends what is written to stdout from now on through a pager, if there is
// to be one. The process waits for it when it ends.
void pager_begin(void);

// pager_descriptor is the descriptor that a stream's width and colours depend on: the
// terminal that a pager writes to, or the stream's own.
int pager_descriptor(FILE *to);
