// SPDX-License-Identifier: Apache-2.0
//
// Calls of our handler as a function (see crash.c): by a handler that has replaced ours
// in a way that we do not see, and that passes on what is not its own. It may pass the
// siginfo and the context, or the number alone; then both are searched for where the
// kernel put them, further up on this stack.
#include "handler/crash/crash.h"

#include <linux/errno.h>

#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

enum { SEARCHED = 64 * 1024 }; // the frames of a handler are smaller

static bool range_is_mapped(uintptr_t address, size_t bytes)
{
    size_t page = crash_plan->page_size;
    uintptr_t first = address & ~(uintptr_t)(page - 1);
    return sys_madvise(first, address + bytes - first, CRASH_POPULATE_READ) != -ENOMEM;
}

// was_passed returns true if both were passed and are about signal.
static bool was_passed(int signal, const struct crash_called *called)
{
    uintptr_t info = (uintptr_t)called->info;
    uintptr_t context = (uintptr_t)called->context;
    if (((info | context) & 7) != 0)
        return false;
    return range_is_mapped(info, sizeof(siginfo_t)) &&
           called->info->si_signo == signal &&
           range_is_mapped(context, sizeof(ucontext_t)) &&
           machine_is_context(called->context);
}

// find_frame looks for the context that the kernel has put above depth. NULL: none.
static ucontext_t *find_frame(uintptr_t depth)
{
    size_t page = crash_plan->page_size;
    uintptr_t at = (depth + 15) & ~(uintptr_t)15;
    uintptr_t mapped = at;
    for (; at < depth + SEARCHED; at += 8) {
        if (at + sizeof(ucontext_t) + sizeof(siginfo_t) > mapped) {
            if (!range_is_mapped(mapped, 1) || !range_is_mapped(mapped + page, 1))
                return NULL;
            mapped = (mapped & ~(uintptr_t)(page - 1)) + page;
        }
        if (machine_is_context((ucontext_t *)at))
            return (ucontext_t *)at;
    }
    return NULL;
}

// make_up describes the call itself, where nothing better is known.
static void make_up(int signal, struct crash_called *called)
{
    machine_context_here(&called->own_context);
    called->context = &called->own_context;
    called->own_info = (siginfo_t){ .si_signo = signal, .si_code = SI_TKILL };
    called->info = &called->own_info;
}

bool crash_find_caller(int signal, uintptr_t depth, struct crash_called *called)
{
    struct crash_fault first;
    if (crash_first_fault(depth, &first) && first.signal == signal) {
        called->info = first.info;
        called->context = first.context;
        return true;
    }
    if (was_passed(signal, called))
        return false;
    ucontext_t *context = find_frame(depth);
    if (context == NULL) {
        make_up(signal, called);
        return false;
    }
    called->context = context;
    called->info = machine_siginfo(context);
    // Without SA_SIGINFO the kernel leaves the siginfo empty.
    if (called->info->si_signo != signal) {
        machine_fault_info(signal, context, &called->own_info);
        called->info = &called->own_info;
    }
    return false;
}
