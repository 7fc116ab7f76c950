// SPDX-License-Identifier: Apache-2.0
//
// The agent's description of the crash: filled into the request page in crash context
// (see crash.c), before anything could change it.
#include "handler/crash/crash.h"

#include <sys/prctl.h>

#include "handler/crash/crash_valgrind.h"
#include "handler/machine/machine.h"
#include "handler/machine/processor_state.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// copy_to_page is a loop that no compiler turns into a call of libc; hence volatile.
static void copy_to_page(volatile uint8_t *to, const void *from, size_t length)
{
    for (size_t i = 0; i < length; i++)
        // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the kernel's bytes
        to[i] = ((const uint8_t *)from)[i];
}

static void copy_siginfo(int signal, const siginfo_t *info, uint8_t *out)
{
    // Our handler was restored without SA_SIGINFO, so info is not a siginfo.
    const siginfo_t plain = { .si_signo = signal, .si_code = SI_TKILL };
    copy_to_page(out, info->si_signo == signal ? info : &plain, sizeof(siginfo_t));
}

void crash_record(int signal, const siginfo_t *info, void *context, bool dies)
{
    static const siginfo_t nothing;
    struct request_page *page = crash_plan->page;
    stack_t alternate = { .ss_flags = SS_DISABLE };

    // Stored before the page is touched, because the page may be lost.
    __atomic_store_n(&crash_state.dumpable, (int32_t)sys_prctl(PR_GET_DUMPABLE, 0),
                     __ATOMIC_SEQ_CST);
    crash_state.raised = 0;
    crash_state.lost = 0;
    // To die, Valgrind waits for the end of its other threads: none may be held till
    // then.
    page->dies = dies && !crash_is_in_valgrind();
    page->live = 0;
    page->agent_pid = 0;
    page->crash_monotonic_ns = sys_clock_ns(CLOCK_MONOTONIC);
    page->crash_realtime_ns = sys_clock_ns(CLOCK_REALTIME);
    page->deadline_monotonic_ns = page->crash_monotonic_ns + crash_plan->timeout_ns;
    copy_siginfo(signal, info, page->siginfo);
    copy_to_page(page->then, &nothing, sizeof(nothing));
    page->exit_status = -1;
    page->context_address = (uintptr_t)context;
    machine_registers(context, page->registers);
    sys_sigaltstack(&alternate);
    bool used = (alternate.ss_flags & SS_DISABLE) == 0;
    page->alternate_stack = used ? (uintptr_t)alternate.ss_sp : 0;
    page->alternate_stack_bytes = used ? alternate.ss_size : 0;
    page->thread_pointer = machine_thread_pointer();
    page->gs_base = machine_gs_base();
    page->shadow_stack = machine_shadow_pointer();
    page->memory_tag = machine_memory_tag(signal, info);
    page->crashed_tid = sys_gettid();
}

void crash_record_first(const struct crash_fault *first, int status,
                        const siginfo_t *then, bool dies)
{
    struct request_page *page = crash_plan->page;
    crash_record(first->signal, first->info, first->context, dies);
    page->exit_status = status;
    page->shadow_stack = 0; // this is the handler of another signal
    crash_state.raised = dies;
    if (then != NULL)
        copy_to_page(page->then, then, sizeof(*then));
}

const void *crash_dying_siginfo(void)
{
    // The page may be lost, so it is not read here, only its address taken.
    return crash_state.raised ? crash_plan->page->then : crash_plan->page->siginfo;
}
