// SPDX-License-Identifier: Apache-2.0
//
// The kernel's entry into the handler (see crash.c), on processors for which entry.S
// has no code.
#include "handler/crash/crash.h"

#include "handler/machine/machine_context.h"

#include "handler/machine/poison.h"

#if defined(__x86_64__)

enum { ENTRY_FRAME = 360 }; // of entry.S

_Static_assert(sizeof(struct crash_asked) <= ENTRY_FRAME &&
                   offsetof(struct crash_asked, signal) == 0 &&
                   offsetof(struct crash_asked, info) == 8 &&
                   offsetof(struct crash_asked, context) == 16 &&
                   offsetof(struct crash_asked, home) == 24,
               "the entry keeps it and reads these");

#else

// call_asked calls the handler on the stack that the frame was copied to, and returns
// to the code that the kernel's frame returns to.
static void call_asked(struct crash_asked *asked)
{
    ((void (*)(int, siginfo_t *, void *))asked->action.handler)(
        asked->signal, asked->info, asked->context);
    crash_end(asked);
}

void crash_handle(int signal, siginfo_t *info, void *context)
{
    struct crash_asked asked;

    if (machine_siginfo(context) != info) {
        crash_handle_called(signal, info, context);
        return;
    }
    uintptr_t handler = crash_begin(signal, info, context, &asked);
    if (handler == 0)
        return;
    if (asked.home != &asked)
        machine_enter(asked.home->info, call_asked, asked.home,
                      __builtin_return_address(0));
    ((void (*)(int, siginfo_t *, void *))handler)(signal, info, context);
    crash_end(&asked);
}

#endif
