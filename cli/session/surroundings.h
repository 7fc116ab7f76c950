// SPDX-License-Identifier: Apache-2.0
//
// What a process had around it, as far as that can be told after it has exited: the
// member `surroundings` of a report, which the agent has begun
// (agent/facts/surroundings.h).
//
// The free phase of a crash is a descendant of the crashed process and shares its
// namespaces and control groups with it, unless the agent came from elsewhere.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/settings/settings.h"

// surroundings_add_environment writes the environment variables that a report shows,
// masked, from the memory that the agent held, and forgets where they are.
void surroundings_add_environment(json_t *report, const struct settings *settings,
                                  const void *held, size_t held_size);

// surroundings_add_process adds namespaces, OOM score adjustment, and the limits and
// use of the control group. process: its number, or `self`; cgroup: its file of that
// name, or NULL.
void surroundings_add_process(json_t *surroundings, const char *process,
                              const char *cgroup);

// surroundings_read_ahead begins to read the kernel's log, which takes the kernel up to
// milliseconds. surroundings_add_system must follow.
void surroundings_read_ahead(void);

// surroundings_add_system does so if the crashed process had what we have, and adds the
// names of unit, container and pod, the kernel's taint and what its log says of the
// process.
void surroundings_add_system(json_t *report, const struct settings *settings);
