// SPDX-License-Identifier: Apache-2.0
//
// The relevant variables: those that the handler reads and those that the agent is
// given, from the environment and from the program's crashhook_options.
//
// The environment is walked once. Nothing is copied; used by install.c alone.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "crashhook/crashhook.h"
#include "handler/prepare/plan.h"

#pragma GCC visibility push(hidden)

// More than there are names to pass on; further variables are left out.
enum { VARIABLES_MAX = 64 };

struct variables {
    struct plan_variable list[VARIABLES_MAX];
    size_t count;
    uint32_t initials; // a bit for each letter that follows CRASHHOOK_ in a name
};

// variables_options_ok returns true if options have a size that a header of this
// version or an earlier one gave them.
bool variables_options_ok(const struct crashhook_options *options);

// variables_collect fills out from environment and options; options may be NULL. Of
// duplicates the first counts, and the environment comes first.
void variables_collect(struct variables *out, char *const *environment,
                       const struct crashhook_options *options);

// variables_forget removes our variables from an environment, as the dynamic linker
// does with its own: a program that gains rights must not pass on what its user wants.
void variables_forget(char **environment);

// variables_get is a settings_get_fn over struct variables.
const char *variables_get(void *variables, const char *name);

// variables_set sets the setting at this position (SETTING_AT_…) to value, replacing
// what was collected.
void variables_set(struct variables *variables, size_t at, const char *value);

#pragma GCC visibility pop
