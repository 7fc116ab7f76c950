// SPDX-License-Identifier: Apache-2.0
//
// The program's context page (context_page.h), which the calls of crashhook.h fill.
//
// It is mapped once, with the first plan or between guard pages of its own, and stays
// when the handler is installed again with other options; a forked child has its own
// copy.
#pragma once
#include "shared/context_page.h"

#pragma GCC visibility push(hidden)

// context_current is the page; NULL: there is none yet.
extern struct context_page *context_current;

// context_begin makes the zeroed memory at room the page.
void context_begin(void *room);

#pragma GCC visibility pop
