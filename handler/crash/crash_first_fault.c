// SPDX-License-Identifier: Apache-2.0
//
// The fault that a handler of the program is handling. If the process ends from within
// that handler, by abort, by raising a signal or by exit, the crash is this fault and
// not what the handler did.
//
// A fault is noted when the handler is called, and the note removed when it returns. A
// handler may also leave by longjmp, which no one observes. So a note counts only while
// the kernel's frame for it is still on the stack: the caller must be deeper on the
// same stack, and the frame must still have the same contents.
#include "handler/crash/crash.h"

#include <linux/errno.h>

#include "handler/crash/crash_filter.h"
#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

enum {
    NOTES = 64,
    PROBES = 4,
    // How much deeper than its signal frame a handler may be.
    DEEPEST = 64 * 1024 * 1024,
};

static struct fault_note notes[NOTES];
static bool noted; // there has been a fault in this process
static bool ends;  // by SIGABRT, for a fault that was reported

// Where a fault that was reported is to come again, because its handler has put another
// in its place, or has given up.
static uint64_t again_counter;
static uint64_t again_stack;

// note_home is the index at which the search for thread's note starts.
static size_t note_home(uint64_t thread)
{
    return (size_t)(thread >> 6 ^ thread >> 12 ^ thread >> 18) % NOTES;
}

// fault_note_find is the note of thread, or a free one that it takes for it. NULL:
// there is none; where none is free, the fault is missed only if the process ends by
// exit.
static struct fault_note *fault_note_find(uint64_t thread, bool take)
{
    for (size_t i = 0; i < PROBES; i++) {
        struct fault_note *note = &notes[(note_home(thread) + i) % NOTES];
        uint64_t unused = 0;
        if (take ? __atomic_compare_exchange_n(&note->thread, &unused, thread, false,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED)
                 : __atomic_load_n(&note->thread, __ATOMIC_RELAXED) == thread)
            return note;
    }
    return NULL;
}

// fault_stack_is_there returns true if the note's stack is still mapped: it may have
// been unmapped with its thread, and another thread may have the same thread word.
static bool fault_stack_is_there(uintptr_t frame)
{
    uintptr_t page = frame & ~(uintptr_t)(crash_plan->page_size - 1);
    return sys_madvise(page, 2 * crash_plan->page_size, CRASH_POPULATE_READ) != -ENOMEM;
}

bool crash_fault_stands(const struct fault_note *note, uintptr_t depth)
{
    const ucontext_t *context = note->context;
    uintptr_t frame = (uintptr_t)context;

    if (depth >= frame || frame - depth > DEEPEST)
        return false;
    if (frame - note->alternate < note->alternate_bytes && depth < note->alternate)
        return false;
    if (!fault_stack_is_there(frame))
        return false;
    return machine_program_counter(context) == note->program_counter &&
           machine_context_stack(context) == note->stack &&
           machine_siginfo(note->context)->si_signo == note->signal;
}

static uint64_t this_thread(void)
{
    return machine_thread_word(crash_state.reads_thread_word);
}

struct fault_note *crash_fault_note(void)
{
    // Without rdfsbase the thread's word costs a system call.
    uint64_t thread = __atomic_load_n(&noted, __ATOMIC_RELAXED) ? this_thread() : 0;
    return thread != 0 ? fault_note_find(thread, false) : NULL;
}

unsigned crash_fault_turns(int signal)
{
    enum { OPEN = 40, ENDED = 4 };
    bool open = false;
    for (size_t i = 0; i < NOTES; i++)
        open |= __atomic_load_n(&notes[i].thread, __ATOMIC_RELAXED) != 0 &&
                notes[i].is_fault && notes[i].signal == signal;
    return open ? OPEN : __atomic_load_n(&noted, __ATOMIC_RELAXED) ? ENDED : 0;
}

struct fault_note *crash_fault_open(struct crash_asked *asked)
{
    ucontext_t *context = asked->context;
    uint64_t thread = this_thread();
    const siginfo_t *info = asked->info;
    // A handler may end the process because of this signal itself. Others are from
    // another process.
    bool is_fault =
        info->si_code > 0 || (info->si_signo == SIGABRT && info->si_code == SI_TKILL &&
                              info->si_pid == sys_getpid());
    asked->held = 0;
    struct fault_note *note = thread != 0 ? fault_note_find(thread, false) : NULL;
    // A fault within the handler of another is not the first.
    if (note != NULL && (note->is_fault || !is_fault) &&
        crash_fault_stands(note, machine_context_stack(context))) {
        asked->held = (uint32_t)crash_mask_begin(note, asked);
        return NULL;
    }
    if (note == NULL && thread != 0)
        note = fault_note_find(thread, true);
    if (note == NULL)
        return NULL;
    if (crash_process != NULL && *crash_process == 0 && crash_may_call(CRASH_CALLS_PID))
        *crash_process = sys_getpid();
    __atomic_store_n(&noted, true, __ATOMIC_RELAXED);
    note->context = context;
    note->alternate = (uintptr_t)context->uc_stack.ss_sp;
    note->alternate_bytes = context->uc_stack.ss_size;
    note->program_counter = machine_program_counter(context);
    note->stack = machine_context_stack(context);
    note->signal = asked->signal;
    note->is_fault = is_fault;
    note->told = ends && asked->signal == SIGABRT;
    note->witness = ~UINT64_C(0); // nothing is held yet
    (void)crash_mask_begin(note, asked);
    return note;
}

void crash_fault_moved(struct fault_note *note, ucontext_t *context,
                       const stack_t *stack)
{
    if (note == NULL)
        return;
    note->context = context;
    note->alternate = (uintptr_t)stack->ss_sp;
    note->alternate_bytes = stack->ss_size;
}

bool crash_fault_close(struct crash_asked *asked)
{
    struct fault_note *note = asked->note;
    if (note == NULL) {
        note = crash_fault_note();
        if (note != NULL)
            note->held = asked->held;
        return false;
    }
    bool told = note->told;
    __atomic_store_n(&note->thread, 0, __ATOMIC_RELAXED);
    return told;
}

bool crash_first_fault(uintptr_t depth, struct crash_fault *out)
{
    struct fault_note *note = crash_fault_note();
    if (note == NULL || !note->is_fault || !crash_fault_stands(note, depth))
        return false;
    *out = (struct crash_fault){ .signal = note->signal,
                                 .info = machine_siginfo(note->context),
                                 .context = note->context,
                                 .told = &note->told };
    return true;
}

void crash_fault_tell(struct fault_note *note, bool last)
{
    note->told = true;
    ends |= last;
}

void crash_fault_expect(const void *context)
{
    again_counter = machine_program_counter(context);
    again_stack = machine_context_stack(context);
}

bool crash_fault_is_reported(int signal, const void *context)
{
    bool again = again_counter == machine_program_counter(context) &&
                 again_stack == machine_context_stack(context);
    again_stack = 0;
    return again || (ends && signal == SIGABRT);
}
