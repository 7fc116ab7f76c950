// SPDX-License-Identifier: Apache-2.0
//
// The life of the program: a record of it in the spool (record_file.h) that it makes
// when it starts and has mapped as its context page. A program that is killed leaves it
// without an owner, and whoever opens the spool next makes a report of it.
//
// It costs one file at the start and nothing afterwards: no thread, no descriptor.
// Users: install.c, action_calls.c.
#pragma once
#include <stdbool.h>

#include "handler/context_page.h"

#pragma GCC visibility push(hidden)

// life_begin makes the record and moves context, which is mapped, into it. If it
// cannot, context stays as it is, and the program's end is told only if it is a crash.
// kept: the parent is the program's keeper.
void life_begin(struct context_page *context, bool kept);

// life_ready_for_forks looks up libc's _exit: each child of a fork that ends by it
// would do so for itself, in pages that a child does not have mapped.
void life_ready_for_forks(void);

// life_hear_forks has in_child called in each child that the program forks. False: it
// cannot (fork_shared.c, fork_static.c).
bool life_hear_forks(void (*in_child)(void));

// life_end says that the program ends as it wants to. It does nothing in a child.
void life_end(void);

#pragma GCC visibility pop
