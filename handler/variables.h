// SPDX-License-Identifier: Apache-2.0
//
// The variables that matter: those the handler reads and those the agent is given, out
// of the environment and of what the program says by crashhook_options.
//
// The environment is walked once. Nothing is copied; used by install.c alone.
#pragma once
#include <stddef.h>

#include "crashhook/crashhook.h"
#include "handler/plan.h"

// More than there are names to pass on; what does not fit is left out.
enum { VARIABLES_MAX = 64 };

struct variables {
    struct plan_variable list[VARIABLES_MAX];
    size_t count;
};

// variables_collect fills out with what environment and options say; options may be
// NULL. Among equals the first counts, and the environment comes first.
void variables_collect(struct variables *out, char *const *environment,
                       const struct crashhook_options *options);

// variables_get is a settings_get_fn over struct variables.
const char *variables_get(void *variables, const char *name);

// variables_set gives name this value, in place of what was collected.
void variables_set(struct variables *variables, const char *name, const char *value);
