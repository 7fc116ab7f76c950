// SPDX-License-Identifier: Apache-2.0
//
// The variables of frames in a report that is being packed (report_pack.h): what all
// threads have in common goes to their place, and each thread keeps its values.
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

// pack_run is one place in a backtrace: the calls inlined there, then the function.
struct pack_run {
    const json_t *frames;
    size_t begin;
    size_t end;
};

// pack_run_frame is a frame of the run, which the report owns.
json_t *pack_run_frame(const struct pack_run *run, size_t index);

// pack_is_same compares scalars; an array or object is equal only to itself.
bool pack_is_same(const json_t *a, const json_t *b);

// pack_is_variable_list is true if the member of a frame is a list of variables, whose
// values differ from thread to thread.
bool pack_is_variable_list(const char *key, const json_t *value);

// pack_run_values appends the values of a run's frames to values, and to place what
// they describe and it does not have yet. It returns 0, or -1: out of memory.
int pack_run_values(const struct pack_run *run, json_t *place, json_t *values);
