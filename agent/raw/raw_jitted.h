// SPDX-License-Identifier: Apache-2.0
//
// The raw report's places that lie in no image: code that the process compiled while it
// ran. Its names are from GDB's JIT interface, its jitdump and its perf map, its unwind
// rules from the first.
// Nothing is read unless there is such a place. A core has the first alone.
#pragma once
#include "agent/live/capture.h"
#include "agent/raw/raw_stacks.h"
#include "languages/jit_descriptor.h"
#include "languages/jitted.h"
#include "report/json/json_writer.h"

struct raw_jitted {
    struct capture *capture;
    struct jit_descriptor debuggers; // GDB's JIT interface
    struct jitted jitted;
    bool hotspot; // the process is a Java virtual machine of that kind
};

// raw_jitted_init has space ask for the rules of such code; capture must outlive both.
void raw_jitted_init(struct raw_jitted *jitted, struct capture *capture,
                     struct unwind_space *space);
void raw_jitted_deinit(struct raw_jitted *jitted);

// raw_jitted_read looks for the names of stacks' places.
void raw_jitted_read(struct raw_jitted *jitted, const struct raw_stacks *stacks);

// raw_jitted_write writes the members of a place's name, unless it has none.
void raw_jitted_write(const struct raw_jitted *jitted, struct json_writer *w,
                      const struct raw_place *place);
