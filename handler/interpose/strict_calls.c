// SPDX-License-Identifier: Apache-2.0
//
// prctl, interposed before libc's by the shared library: a thread that enters strict
// seccomp mode cannot be queried later for whether it is in that mode, because the
// kernel ends it for the call. Every other call is passed on by a jump.
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "crashhook/crashhook.h"
#include "handler/crash/crash.h"
#include "handler/machine/machine.h"
#include "handler/prepare/next_call.h"

typedef int prctl_fn(int, unsigned long, unsigned long, unsigned long, unsigned long);

// enter_strict_mode records the calling thread while it makes the call, and after it if
// the call succeeds. Several threads may do so at once; where a second one fails, all
// count as strict from then on, because the others cannot be distinguished.
static int enter_strict_mode(prctl_fn *next)
{
    const uint64_t mine = machine_thread_pointer();
    uint64_t before = 0;
    if (!__atomic_compare_exchange_n(&crash_state.strict_thread, &before, mine, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        __atomic_store_n(&crash_state.strict_thread, CRASH_STRICT_ALL,
                         __ATOMIC_SEQ_CST);
    int result = next(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    uint64_t expected = mine;
    if (result != 0)
        __atomic_compare_exchange_n(&crash_state.strict_thread, &expected, 0, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return result;
}

// call_prctl is prctl, which is declared with a variable number of arguments.
int call_prctl(int option, unsigned long first, unsigned long second,
               unsigned long third, unsigned long fourth) __asm__("prctl");

CRASHHOOK_API int call_prctl(int option, unsigned long first, unsigned long second,
                             unsigned long third, unsigned long fourth)
{
    static prctl_fn *found;
    if (found == NULL)
        found = (prctl_fn *)next_symbol("prctl");
    if (found == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (option == PR_SET_SECCOMP && first == SECCOMP_MODE_STRICT)
        return enter_strict_mode(found);
    return found(option, first, second, third, fourth);
}
