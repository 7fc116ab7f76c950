// SPDX-License-Identifier: Apache-2.0
//
// Which pod, container and image a process belongs to. The container's ID is in the
// path of its control group. containerd and CRI-O keep a file for each container, in a
// folder that root alone may change. Its annotations name the rest.
//
// Users choose what these annotations say. So root reads the file, and whoever parses
// it has given up root's rights (cli/session/core_store.h).
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/text.h"

struct node_container {
    bool is_one;      // the process is in a container
    struct text file; // its runtime's; empty: there is none
};

// node_container_read reads the file of the container of process pid. root: the folder
// that stands for /, or NULL.
void node_container_read(pid_t pid, const char *root, struct node_container *out);
void node_container_deinit(struct node_container *container);

// node_container_describe returns the names in the file, with the keys that
// `surroundings` of a report has for them.
json_t *node_container_describe(const struct node_container *container);

// node_container_is_admitted returns true if the list of namespaces, separated by
// commas, allows a report of the process. A namespace after a `!` gets none. If the
// list has one without, all that it does not name get none. Processes outside of
// containers are always reported.
bool node_container_is_admitted(const struct node_container *container,
                                const char *list);
