// SPDX-License-Identifier: Apache-2.0
//
// What a process that reads debug files of strangers may use. It is a child of ours: a
// file that brings it down costs the child and nothing else.
#pragma once
#include <stdint.h>

// guarded_child_enter sets the calling process's limits: address space, seconds of
// processor time, no core file, no handler of ours for its crashes.
void guarded_child_enter(int64_t cpu_seconds);
