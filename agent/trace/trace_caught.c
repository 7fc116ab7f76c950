// SPDX-License-Identifier: Apache-2.0
//
// Signals that were delivered to a process's own handler, and whether the handler is
// still running. If the process then ends by another signal, or exits, the first signal
// is the crash. A handler that has returned, or was left by longjmp, has recovered from
// it.
//
// The stack shows whether a handler is still running. The kernel has pushed the
// interrupted registers there, in a signal frame outward of where the thread is now;
// the search is for a frame with exactly those registers. Go's handler returns at once,
// but makes the faulting function call runtime.sigpanic: that call's frame is then
// found by following frame pointers, which Go keeps even across its stack switches. The
// function may end the process on another thread than the one that faulted.
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "agent/live/stop_registers.h"
#include "agent/trace/trace_state.h"

enum {
    SCAN_BYTES = 1 << 20, // of the stack, outward from sp
    // The kernel's frame is this near below the interrupted stack pointer, if it is on
    // the same stack: a red zone, and the largest vector registers.
    FRAME_NEAR_BYTES = 16 << 10,
    STACK_BYTES_MAX = 64 << 20,
    CHUNK_BYTES = 64 << 10,
    FRAMES_MAX = 4096,
    WORD = sizeof(uint64_t)
};

// DWARF numbers in the order of a signal frame (struct sigcontext).
#if defined(__x86_64__)
static const uint8_t frame_order[] = { 8, 9, 10, 11, 12, 13, 14, 15, 5,
                                       4, 6, 3,  1,  0,  2,  7,  16 };
#elif defined(__aarch64__)
static const uint8_t frame_order[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                       11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 };
#endif
enum { FRAME_WORDS = sizeof(frame_order), FRAME_BYTES = FRAME_WORDS * WORD };

// The same of a 32-bit program's frame, by the places of the wider registers: edi, esi,
// ebp, esp, ebx, edx, ecx, eax.
static const uint8_t narrow_order[] = { 5, 4, 6, 7, 3, 1, 2, 0 };

static size_t read_caught_thread(pid_t tid, uint64_t address, void *to, size_t size)
{
    struct iovec local = { to, size };
    struct iovec remote = { (void *)(uintptr_t)address, size };
    ssize_t count = process_vm_readv(tid, &local, 1, &remote, 1, 0);
    return count > 0 ? (size_t)count : 0;
}

// wanted_frame writes the registers as a signal frame has them, and gives their size.
static size_t wanted_frame(const struct stopped_thread *then,
                           uint8_t out[static FRAME_BYTES])
{
    size_t word = then->narrow ? sizeof(uint32_t) : WORD; // the low bytes come first
    size_t count = then->narrow ? sizeof(narrow_order) : FRAME_WORDS;
    const uint8_t *order = then->narrow ? narrow_order : frame_order;
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * word, &then->registers.value[order[i]], word);
    return count * word;
}

// has_frame_in returns true if the bytes from address on, of the stack, have a signal
// frame with the registers of then.
static bool has_frame_in(pid_t tid, uint64_t address, size_t bytes,
                         const struct stopped_thread *then)
{
    static uint8_t chunk[CHUNK_BYTES + FRAME_BYTES];
    uint8_t wanted[FRAME_BYTES];
    size_t size = wanted_frame(then, wanted);
    size_t step = then->narrow ? sizeof(uint32_t) : WORD;
    uint64_t at = address & ~(uint64_t)(WORD - 1);
    for (size_t done = 0; done < bytes; done += CHUNK_BYTES) {
        size_t left = bytes - done < CHUNK_BYTES ? bytes - done : CHUNK_BYTES;
        size_t count = read_caught_thread(tid, at + done, chunk, left + FRAME_BYTES);
        for (size_t i = 0; i + size <= count; i += step) {
            if (memcmp(&chunk[i], wanted, size) == 0)
                return true;
        }
        if (count < left)
            return false;
    }
    return false;
}

// has_frame_outward returns true if a signal frame with the registers of then is where
// the kernel puts it on the stack that was in use, and the thread is now much deeper on
// that stack.
static bool has_frame_outward(pid_t tid, uint64_t sp, const struct stopped_thread *then)
{
    uint64_t was = then->registers.value[unwind_arch_native()->sp];
    return sp < was && was - sp > FRAME_NEAR_BYTES && was - sp < STACK_BYTES_MAX &&
           has_frame_in(tid, was - FRAME_NEAR_BYTES, FRAME_NEAR_BYTES - FRAME_BYTES,
                        then);
}

static size_t read_caught_memory(void *source, uint64_t address, void *to, size_t size)
{
    return read_caught_thread(*(const pid_t *)source, address, to, size);
}

// is_caught_after_call returns true if the instruction before pc is a call: pc is then
// a return address too.
static bool is_caught_after_call(pid_t tid, uint64_t pc)
{
    const struct memory_reader memory = { .read = read_caught_memory, .source = &tid };
    return unwind_arch_native()->after_call(&memory, pc);
}

// What Go's handler leaves, on either machine. injected_distance is how far the frame
// at fp, which returns to where the fault was, has been moved since the function was
// made to make the call; injected_has_moved returns true if it is elsewhere than the
// call would have put it. switched_frame is the frame pointer that the goroutine of the
// fault had before its thread left its stack; 0: none, or frame pointers lead there.
#if defined(__x86_64__)
static uint64_t injected_distance(const struct stopped_thread *now,
                                  const struct unwind_registers *then, uint64_t fp)
{
    (void)now;
    return fp + 2 * WORD - then->value[UNWIND_SP];
}

static bool injected_has_moved(const struct stopped_thread *now,
                               const struct unwind_registers *then, uint64_t fp)
{
    return injected_distance(now, then, fp) != 0;
}

static uint64_t switched_frame(const struct stopped_thread *now,
                               const struct unwind_registers *then)
{
    (void)now;
    (void)then;
    return 0;
}

#elif defined(__aarch64__)
static bool read_caught_word(pid_t tid, uint64_t address, uint64_t *out)
{
    return read_caught_thread(tid, address, out, WORD) == WORD;
}

// injected_distance goes by the frame pointer that the call has saved, which Go moves
// with the stack.
static uint64_t injected_distance(const struct stopped_thread *now,
                                  const struct unwind_registers *then, uint64_t fp)
{
    uint64_t saved = 0;
    return read_caught_word(now->tid, fp, &saved) ? saved - then->value[UNWIND_FP] : 0;
}

// injected_has_moved expects the link register, which Go has put below the stack, and
// the call's frame below that.
static bool injected_has_moved(const struct stopped_thread *now,
                               const struct unwind_registers *then, uint64_t fp)
{
    enum { LINK_BELOW = 16, FRAME_MAX = 256 };
    uint64_t link = 0;
    uint64_t at = then->value[UNWIND_SP] - LINK_BELOW;
    return at - fp <= WORD || at - fp > FRAME_MAX ||
           !read_caught_word(now->tid, at, &link) ||
           link != then->value[unwind_arch_native()->link];
}

// switched_frame is for Go 1.19, whose systemstack begins a new chain of frames.
// The goroutine is in x28, and has at these places its thread (g.m), if it has one, and
// g.sched.bp.
static uint64_t switched_frame(const struct stopped_thread *now,
                               const struct unwind_registers *then)
{
    enum { G = 28, THREAD = 48, SAVED = 104 };
    uint64_t faulted = then->value[G];
    uint64_t runs = now->registers.value[G];
    uint64_t faulted_on = 0;
    uint64_t runs_on = 0;
    uint64_t saved = 0;
    bool left = runs != faulted &&
                read_caught_word(now->tid, runs + THREAD, &runs_on) &&
                read_caught_word(now->tid, faulted + THREAD, &faulted_on) &&
                faulted_on == runs_on && runs_on != 0 &&
                read_caught_word(now->tid, faulted + SAVED, &saved);
    return left ? saved : 0;
}
#endif

// find_injected_from looks for the call of find_injected_call outward from the frame at
// fp.
static uint64_t find_injected_from(uint64_t fp, const struct stopped_thread *now,
                                   const struct unwind_registers *then)
{
    uint64_t pc = then->value[unwind_arch_native()->pc];
    uint64_t frame[2];
    for (int i = 0; i < FRAMES_MAX && fp != 0; i++) {
        if (read_caught_thread(now->tid, fp, frame, sizeof(frame)) != sizeof(frame))
            return 0;
        if (frame[1] == pc &&
            (!injected_has_moved(now, then, fp) || !is_caught_after_call(now->tid, pc)))
            return fp;
        fp = frame[0];
    }
    return 0;
}

// find_injected_call looks for a call that the faulting function was made to make, and
// that has not returned: frame pointers lead to that call's frame, which returns to
// where the fault was. It gives the frame's address. Go may have moved the stack since;
// where an ordinary call would return to the same place, only a frame that has not
// moved counts. 0: there is none.
static uint64_t find_injected_call(const struct stopped_thread *now,
                                   const struct unwind_registers *then)
{
    uint64_t found = find_injected_from(now->registers.value[UNWIND_FP], now, then);
    return found != 0 ? found
                      : find_injected_from(switched_frame(now, then), now, then);
}

bool trace_caught_is_there(const struct trace_caught *caught,
                           const struct stopped_thread *now)
{
    const struct unwind_registers *then = &caught->thread.registers;
    const struct unwind_arch *arch = unwind_arch_native();
    return now->registers.value[arch->sp] == then->value[arch->sp] &&
           now->registers.value[arch->pc] == then->value[arch->pc];
}

// caught_is_open returns true if a handler is running for caught, or could not be
// called for it.
static bool caught_is_open(const struct trace_caught *caught,
                           const struct stopped_thread *now)
{
    uint64_t sp = now->registers.value[unwind_arch_native()->sp];
    return trace_caught_is_there(caught, now) ||
           // From sp outward, or near it, is a signal frame with these registers.
           has_frame_outward(now->tid, sp, &caught->thread) ||
           has_frame_in(now->tid, sp, SCAN_BYTES, &caught->thread) ||
           find_injected_call(now, &caught->thread.registers) != 0;
}

// caught_is_left returns true if the thread is now outward of where it was on the same
// stack, so that no handler can be running there. A fault that recurs counts as left as
// well.
static bool caught_is_left(const struct trace_caught *caught,
                           const struct stopped_thread *now)
{
    const struct unwind_arch *arch = unwind_arch_native();
    uint64_t was = caught->thread.registers.value[arch->sp];
    uint64_t sp = now->registers.value[arch->sp];
    return sp >= was && sp - was < SCAN_BYTES;
}

// caught_forget_left drops signals whose handlers have certainly ended. If the list is
// still full, it drops all that are not open; if it is full even then, the newest. To
// find out which are open means to search the stack. A handler that faults again and
// again fills the stack with thousands of frames, so the search is made for one
// overflow of the list in twice as many each time.
static void caught_forget_left(struct trace_caught_list *list,
                               const struct stopped_thread *now)
{
    enum { ROOM = sizeof(list->items) / sizeof(list->items[0]) };
    while (list->count != 0 && caught_is_left(&list->items[list->count - 1], now))
        list->count--;
    bool full = list->count == ROOM;
    list->overflows = full ? list->overflows + 1 : 0;
    bool search = (list->overflows & (list->overflows - 1)) == 0;
    for (size_t i = 0; search && list->count == ROOM && i < list->count;) {
        if (caught_is_open(&list->items[i], now)) {
            i++;
            continue;
        }
        list->count--;
        memmove(&list->items[i], &list->items[i + 1],
                (list->count - i) * sizeof(list->items[0]));
    }
    if (list->count == ROOM)
        list->count--;
}

bool trace_caught_repeats(struct trace *trace, const struct stopped_thread *now,
                          int signal)
{
    struct trace_caught_list *list = &trace->caught[(unsigned)now->tid % TRACE_CAUGHT];
    if (list->tid != now->tid || list->overflows == 0 || list->count == 0)
        return false;
    const struct trace_caught last = list->items[list->count - 1];
    const struct unwind_registers *then = &last.thread.registers;
    const struct unwind_arch *arch = unwind_arch_native();
    if (last.info.si_signo != signal || last.info.si_code <= 0 ||
        then->value[arch->pc] != now->registers.value[arch->pc] ||
        then->value[arch->sp] <= now->registers.value[arch->sp])
        return false;
    trace_pair_begin(trace, now->tid, signal, list->overflows);
    trace_caught_note(trace, now, &last.info);
    return true;
}

void trace_caught_note(struct trace *trace, const struct stopped_thread *thread,
                       const siginfo_t *info)
{
    pid_t tid = thread->tid;
    struct trace_caught_list *list = &trace->caught[(unsigned)tid % TRACE_CAUGHT];
    if (list->tid != tid)
        list->count = list->overflows = 0;
    list->tid = tid;
    trace->caught_any = true;
    caught_forget_left(list, thread);
    list->items[list->count++] = (struct trace_caught){ *info, *thread };
}

// follow_moved_stack corrects the registers of a fault in a function whose stack has
// moved since. Only Go moves stacks, and its handler runs on another; so the thousands
// of frames of a handler that faults again and again are not followed.
static void follow_moved_stack(struct trace_caught *caught,
                               const struct stopped_thread *now)
{
    struct unwind_registers *then = &caught->thread.registers;
    uint64_t sp = now->registers.value[unwind_arch_native()->sp];
    if (has_frame_outward(now->tid, sp, &caught->thread))
        return;
    uint64_t call = find_injected_call(now, then);
    uint64_t moved = call != 0 ? injected_distance(now, then, call) : 0;
    then->value[UNWIND_SP] += moved;
    then->value[UNWIND_FP] += moved;
}

// caught_elsewhere is the signal whose injected call thread is in, although another
// thread received it: Go's functions move between threads.
static struct trace_caught *caught_elsewhere(struct trace *trace,
                                             const struct stopped_thread *thread)
{
    for (size_t i = 0; i < TRACE_CAUGHT; i++) {
        struct trace_caught_list *list = &trace->caught[i];
        for (size_t j = 0; j < list->count; j++) {
            if (find_injected_call(thread, &list->items[j].thread.registers) != 0)
                return &list->items[j];
        }
    }
    return NULL;
}

const struct trace_caught *trace_caught_open(struct trace *trace,
                                             const struct stopped_thread *thread)
{
    struct trace_caught_list *list =
        &trace->caught[(unsigned)thread->tid % TRACE_CAUGHT];
    struct trace_caught *found = NULL;
    for (size_t i = 0; list->tid == thread->tid && i < list->count && found == NULL;
         i++)
        if (caught_is_open(&list->items[i], thread))
            found = &list->items[i];
    if (found == NULL)
        found = caught_elsewhere(trace, thread);
    if (found != NULL)
        follow_moved_stack(found, thread);
    return found;
}

bool trace_is_sending(const struct stopped_thread *thread)
{
    static const long calls[] = { SYS_kill,
                                  SYS_tkill,
                                  SYS_tgkill,
                                  SYS_rt_sigqueueinfo,
                                  SYS_rt_tgsigqueueinfo,
                                  SYS_pidfd_send_signal };
    static const long narrow_calls[] = { 37, 238, 270 }; // the first three of i386
    const long *list = thread->narrow ? narrow_calls : calls;
    size_t count = thread->narrow ? 3 : sizeof(calls) / sizeof(calls[0]);
    int64_t call = stop_registers_last_call(thread);
    for (size_t i = 0; i < count; i++) {
        if (list[i] == call)
            return true;
    }
    return false;
}
