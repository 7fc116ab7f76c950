// SPDX-License-Identifier: Apache-2.0
//
// The stack that a handler of the program runs on, in crash context (see crash.c).
//
// A thread's alternate stack is nearly always one of ours, which the program has not
// set: it is 64 KB, and a handler may need more. The kernel calls us there. Before the
// program's handler is called, the frame of the signal is copied to where the kernel
// would have put it without us: below the interrupted code, or on the alternate stack
// that the program has set. The handler returns through that copy, or leaves it by
// longjmp or an exception, and our stack is free for the next signal meanwhile.
//
// Go's runtime takes over an alternate stack that it finds. In its handler, and where
// its code was interrupted, our stack is therefore its own.
#include "handler/crash/crash.h"

#include "handler/machine/machine.h"
#include "handler/machine/machine_context.h"
#include "handler/machine/syscalls.h"

#include "handler/machine/poison.h"

// On x86-64 asked is below the frame, and copied with it; otherwise it is copied to
// where the frame ends.
#if defined(__x86_64__)
enum { ASKED_BYTES = 0 };
#else
enum { ASKED_BYTES = (sizeof(struct crash_asked) + 15) & ~15u };
#endif

// AUTODISARM is the kernel's SS_AUTODISARM, which not every libc defines: while a
// handler runs the thread has no alternate stack.
static const int AUTODISARM = (int)0x80000000u;

static const stack_t no_stack = { .ss_flags = SS_DISABLE };

size_t crash_stack_bytes;

static uint64_t stack_mark(const void *stack)
{
    return (uintptr_t)stack ^ UINT64_C(0x637261736873746b);
}

void crash_stack_mark(void *stack, const stack_t *before)
{
    struct crash_own_stack *own = stack;
    own->theirs = before != NULL ? *before : no_stack;
    own->mark = stack_mark(stack);
    own->rounds = 0;
}

struct crash_own_stack *crash_stack_own(const stack_t *stack)
{
    struct crash_own_stack *own = stack->ss_sp;
    bool ours = stack->ss_size == crash_stack_bytes && stack->ss_size != 0 &&
                own->mark == stack_mark(own);
    return ours ? own : NULL;
}

bool crash_stack_is_on(const stack_t *stack, uintptr_t address)
{
    return address - (uintptr_t)stack->ss_sp < stack->ss_size;
}

// stack_has_room returns true if the range can be written to. The kernel stores a set
// of signals there, and makes a stack that grows as large as that needs.
static bool stack_has_room(uintptr_t from, uintptr_t end)
{
    const uintptr_t page = crash_plan->page_size;
    for (uintptr_t at = from & ~(uintptr_t)7; at < end; at = (at & -page) + page) {
        if (machine_call4(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)at,
                          SYS_SIGSET_BYTES) != 0)
            return false;
    }
    return true;
}

// may_be_full returns true if the fault may be of a stack that is full: then a look at
// it is worth a system call. With SA_NODEFER a handler may recurse until it is.
static bool may_be_full(const struct crash_asked *asked, uintptr_t stack)
{
    const uintptr_t below = 1024 * 1024, above = 64 * 1024 * 1024;
    const siginfo_t *info = asked->info;
    if (info->si_code <= 0 || crash_is_strict() ||
        (asked->signal != SIGSEGV && asked->signal != SIGBUS))
        return false;
    return (uintptr_t)info->si_addr - (stack - below) < below + above ||
           info->si_code == SI_KERNEL ||
           ((asked->action.flags & SA_NODEFER) != 0 && asked->note == NULL);
}

// has_overflowed returns true if handlers have used up theirs, one within the other,
// and the last one has moved below it. The kernel would begin at its top once more, for
// ever.
static bool has_overflowed(const struct crash_asked *asked, const stack_t *theirs,
                           uintptr_t stack)
{
    const uintptr_t below = 64 * 1024;
    return theirs->ss_size != 0 && asked->left->nested && !asked->relayed &&
           asked->info->si_code > 0 && (uintptr_t)theirs->ss_sp - stack < below;
}

// stack_is_left returns true if the kernel has put the frame on an alternate stack that
// the handler would not run on without us.
static bool stack_is_left(const struct crash_asked *asked)
{
    const ucontext_t *context = asked->context;
    const stack_t *used = &context->uc_stack;
    if (!crash_stack_is_on(used, (uintptr_t)context) ||
        crash_stack_is_on(used, machine_context_stack(context)))
        return false;
    if (asked->left == NULL)
        return (asked->action.flags & SA_ONSTACK) == 0;
    return !crash_is_in_runtime(asked->action.handler) &&
           !crash_is_in_runtime(machine_program_counter(context));
}

static uintptr_t frame_begin(const struct crash_asked *asked)
{
    return ASKED_BYTES == 0 ? (uintptr_t)asked : (uintptr_t)asked->info;
}

// move_frame copies the frame by bytes down.
static void move_frame(struct crash_asked *asked, uintptr_t by)
{
    uintptr_t from = frame_begin(asked);
    uintptr_t end = machine_frame_end(asked->context);
    struct crash_asked *home =
        (struct crash_asked *)((ASKED_BYTES == 0 ? from : end) - by);
    machine_copy(from - by, from, end - from);
    machine_copy((uintptr_t)home, (uintptr_t)asked, ASKED_BYTES);
    home->info = (siginfo_t *)((uintptr_t)asked->info - by);
    home->context = (void *)((uintptr_t)asked->context - by);
    machine_frame_moved(home->context, by);
    asked->home = home;
    home->home = home;
}

// leave_for moves the frame to theirs, or to the thread's stack where that has no size.
static bool leave_for(struct crash_asked *asked, const stack_t *theirs)
{
    enum { ALIGNMENT = 64 };
    uintptr_t stack = machine_context_stack(asked->context);
    uintptr_t limit = stack - MACHINE_RED_ZONE;
    bool nested = crash_stack_is_on(theirs, stack);
    if (theirs->ss_size != 0 && !nested)
        limit = (uintptr_t)theirs->ss_sp + theirs->ss_size;
    uintptr_t end = machine_frame_end(asked->context) + ASKED_BYTES;
    uintptr_t by = (end - limit + ALIGNMENT - 1) & -(uintptr_t)ALIGNMENT;
    uintptr_t from = frame_begin(asked) - by;
    bool full = theirs->ss_size != 0 && (!crash_stack_is_on(theirs, from) ||
                                         has_overflowed(asked, theirs, stack));
    if (full || (may_be_full(asked, stack) && !stack_has_room(from, limit)))
        return false;
    move_frame(asked, by);
    crash_fault_moved(asked->note, asked->home->context, theirs);
    if (asked->left != NULL) {
        asked->left->nested = nested;
        ((ucontext_t *)asked->home->context)->uc_stack = asked->left->theirs;
        // As by the kernel, it is set again when the handler returns.
        if ((asked->left->theirs.ss_flags & AUTODISARM) != 0)
            asked->left->theirs = no_stack;
    }
    return true;
}

bool crash_stack_leave(struct crash_asked *asked)
{
    const ucontext_t *context = asked->context;
    asked->home = asked;
    asked->left = crash_stack_own(&context->uc_stack);
    if (stack_is_left(asked)) {
        bool theirs = asked->left != NULL && (asked->action.flags & SA_ONSTACK) != 0;
        return leave_for(asked, theirs ? &asked->left->theirs : &no_stack);
    }
    asked->left = NULL;
    return true;
}

enum crash_verdict crash_ask_there(int signal, siginfo_t *info, void *context,
                                   struct crash_asked *asked)
{
    enum crash_verdict verdict = crash_ask(signal, info, context, asked);
    if ((verdict != CRASH_ASKS && verdict != CRASH_ASKS_LATE) ||
        crash_stack_leave(asked))
        return verdict;
    (void)crash_fault_close(asked);
    return CRASH_DIES;
}

bool crash_stack_return(struct crash_asked *asked)
{
    ucontext_t *context = asked->context;
    if (asked->left == NULL)
        return crash_relay_end(asked);
    // The kernel would take from there what the handler has left.
    asked->left->theirs = context->uc_stack;
    context->uc_stack = (stack_t){ .ss_sp = asked->left, .ss_size = crash_stack_bytes };
    return crash_relay_end(asked);
}
