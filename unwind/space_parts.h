// SPDX-License-Identifier: Apache-2.0
//
// The parts of an unwind_space, for the walk alone; other code calls the functions of
// unwind/unwind.h. At most UNWIND_CODE_PLACES addresses of code are cached, which
// replace each other.
#pragma once
#include "unwind/known_steps.h"
#include "unwind/libunwind_step.h"
#include "unwind/rule_cache.h"
#include "unwind/shadow_stack.h"
#include "unwind/unwind.h"

enum { UNWIND_CODE_PLACES = 512 };

struct unwind_space {
    const struct unwind_arch *arch;
    const struct memory_reader *memory;
    const struct unwind_image *images;
    size_t count;
    unwind_code_fn *code;
    void *code_context;
    unwind_leave_fn *leave; // NULL: there is none
    void *leave_context;
    struct rule_cache *rules;
    struct libunwind_images *libunwind_images; // created when first used
    struct libunwind_walk *libunwind;
    struct known_steps *known_steps; // NULL: no step is repeated
    struct shadow_stack *shadow;     // of the next walks' thread; NULL: it has none
    uint64_t known_code[UNWIND_CODE_PLACES];
};
