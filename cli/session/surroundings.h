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

// surroundings_add_system does so if the crashed process had what we have, and adds the
// names of unit, container and pod, and the kernel's taint.
void surroundings_add_system(json_t *report);

// surroundings_add_log adds what the kernel has logged of the process, as far as we may
// read the log.
void surroundings_add_log(json_t *report, const struct settings *settings);

// surroundings_read_ahead has a thread read the log for surroundings_add_log, which
// must follow: a long log takes milliseconds.
void surroundings_read_ahead(void);
