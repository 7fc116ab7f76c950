// SPDX-License-Identifier: Apache-2.0
//
// The live sampled allocations of a process with libcrashhook-heap, by the stack that
// allocated them: what `crashhook heap` estimates its memory from.
//
//   "heap":{"mode":"sample","rate":5000,"lost":0,
//           "stacks":[{"count":3,"bytes":96,"spread_bytes":56,"oldest_ms":1200,
//                      "backtrace":{"cbf":"..."}}],
//           "others":{"count":1,"bytes":16,"spread_bytes":16}}
//
// spread_bytes is the square root of the sum of the squares of the blocks' sizes; the
// error of an estimate is made of it. Stacks are in the order of their bytes, the
// largest first; of a crash those after the first RAW_HEAP_STACKS are summed up.
#pragma once
#include "agent/raw/raw_threads.h"
#include "shared/heap_pool.h"

enum { RAW_HEAP_STACKS = 32 };

// raw_sampled_heap_list_images lists the images of an event's stack.
void raw_sampled_heap_list_images(struct raw_threads *threads,
                                  const struct heap_event *event);

// raw_sampled_heap_write_backtrace writes the member `backtrace` of an event that has a
// stack.
void raw_sampled_heap_write_backtrace(struct json_writer *w,
                                      const struct heap_event *event);

// raw_sampled_heap_write writes the member `heap`, if there are samples or could be.
// Images of the stacks are listed. Of a process that is not stopped, samples that
// change while they are read are left out.
void raw_sampled_heap_write(struct raw_threads *threads, struct json_writer *w);
