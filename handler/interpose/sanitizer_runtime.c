// SPDX-License-Identifier: Apache-2.0
#include "handler/interpose/sanitizer_runtime.h"

#include <stddef.h>
#include <stdint.h>

#include "handler/crash/crash.h"
#include "handler/interpose/actions.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"

extern void __sanitizer_set_death_callback(void (*)(void)) __attribute__((weak));

extern void __tsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));

// on_exit is glibc's.
extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));

static bool exits;

static void note_runtime_exit(int status, void *unused)
{
    (void)status;
    (void)unused;
    exits = true;
}

void sanitizer_start(void)
{
    if (__tsan_init != NULL)
        __tsan_init();
    if (__msan_init != NULL)
        __msan_init();
}

// before_end reports the fault that the runtime handles or, if it has found a mistake
// itself, the call by which it ends the program; an abort that follows is no other
// crash. ThreadSanitizer ends the program as it exits, far from the races that it
// found, unless it is set to halt on an error.
static void before_end(void)
{
    static siginfo_t info;
    static ucontext_t context;
    static bool told;
    struct crash_fault first;
    if (!crash_first_fault((uintptr_t)__builtin_frame_address(0), &first)) {
        if (__tsan_init != NULL && exits) {
            static const char line[] =
                "crashhook: ThreadSanitizer ends this program as it exits, which makes "
                "no "
                "report; 'crashhook run --stderr-tail' reports what it says\n";
            sys_write(2, line, sizeof(line) - 1);
            return;
        }
        info.si_signo = SIGABRT;
        info.si_pid = sys_getpid();
        machine_context_call(&context);
        first = (struct crash_fault){ SIGABRT, &info, &context, &told };
        actions_give_back(SIGABRT);
    }
    crash_tell_end(&first, -1, NULL); // unless it is set to
}

void sanitizer_end_note(void)
{
    // This only stores the function, which is safe before the runtime is initialized.
    if (__sanitizer_set_death_callback == NULL)
        return;
    __sanitizer_set_death_callback(before_end);
    if (__tsan_init != NULL && on_exit != NULL)
        (void)on_exit(note_runtime_exit, NULL); // called before the runtime's own
    if (sanitizer_note_other != NULL)
        sanitizer_note_other(before_end);
}
