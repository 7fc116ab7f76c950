// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/first_fault.h"

#include <string.h>

#include "shared/signals.h"
#include "unwind/unwind_state.h"

enum {
    // How far above the frame that returns from a signal its context may be.
    SEARCHED = 1024,
    // The limit of a walk that looks for signal frames.
    WALKED = 4096,
    // Where the kernel's frame may be below the stack pointer of the interrupted
    // function: its red zone, and the largest vector registers.
    LEFT_FROM = 128,
    LEFT_TO = 16384,
};

// A signal_layout is what the kernel saves, by machine: offsets in its ucontext
// (arch/*/include/uapi/asm).
struct signal_layout {
    enum unwind_arch_id arch;
    int32_t siginfo; // relative to the context
    uint16_t pc;
    uint16_t sp;
    uint16_t flags;
    uint16_t error; // the processor's error code; 0: there is none
    uint16_t trap;
    uint16_t address;
};

static const struct signal_layout layouts[] = {
    { UNWIND_ARCH_AMD64, 304, 168, 160, 176, 192, 200, 216 },
    { UNWIND_ARCH_AARCH64, -128, 440, 432, 448, 0, 0, 176 },
};

// A fault_search is a walk, and the last signal frame found on it that was a fault.
struct fault_search {
    const struct capture *capture;
    const struct signal_layout *layout;
    uint64_t below; // the previous frame's stack pointer
    size_t frames;
    bool found;
    struct target_crash first;
};

static const struct signal_layout *frame_layout_of(const struct unwind_arch *arch)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (layouts[i].arch == arch->id)
            return &layouts[i];
    }
    return NULL;
}

static uint64_t fault_word_at(const struct fault_search *search, uint64_t address)
{
    uint64_t word = 0;
    return memory_read_word(&search->capture->reader, address, &word) == CH_OK ? word
                                                                               : 0;
}

// find_context is where the kernel has saved the registers of this frame; 0: nowhere.
static uint64_t find_context(const struct fault_search *search, uint64_t pc,
                             uint64_t sp)
{
    for (uint64_t at = search->below; at - search->below < SEARCHED; at += 8) {
        if (fault_word_at(search, at + search->layout->pc) == pc &&
            fault_word_at(search, at + search->layout->sp) == sp)
            return at;
    }
    return 0;
}

static bool is_kernel_fault(int number, int code)
{
    bool by_kernel = code > 0 && code <= SI_KERNEL;
    return by_kernel && signal_in(SIGNALS_FAULT, number);
}

// has_siginfo reads the siginfo at the place and checks it: for a handler without
// SA_SIGINFO the kernel leaves the place as it was.
static bool has_siginfo(const struct fault_search *search, uint64_t at, siginfo_t *out)
{
    return memory_read(&search->capture->reader, at, out, sizeof(*out)) == CH_OK &&
           out->si_errno == 0 && is_kernel_fault(out->si_signo, out->si_code);
}

// is_after_call returns true if the instruction before pc is a system call, as it is
// where a signal was raised. The error code and trap number in the context are then
// those of an earlier fault.
static bool is_after_call(const struct fault_search *search, uint64_t pc)
{
    static const uint8_t system_call[] = { 0x0f, 0x05 };
    uint8_t bytes[2] = { 0, 0 };
    return memory_read(&search->capture->reader, pc - sizeof(bytes), bytes,
                       sizeof(bytes)) == CH_OK &&
           memcmp(bytes, system_call, sizeof(bytes)) == 0;
}

// infer_siginfo recognizes a page fault by the trap number and error code in the
// context.
static bool infer_siginfo(const struct fault_search *search, uint64_t context,
                          uint64_t pc, siginfo_t *out)
{
    enum { PAGE_FAULT = 14, PRESENT = 1 };
    const struct signal_layout *layout = search->layout;
    if (layout->trap == 0 ||
        fault_word_at(search, context + layout->trap) != PAGE_FAULT ||
        is_after_call(search, pc))
        return false;
    bool present = (fault_word_at(search, context + layout->error) & PRESENT) != 0;
    memset(out, 0, sizeof(*out));
    out->si_signo = SIGSEGV;
    out->si_code = present ? SEGV_ACCERR : SEGV_MAPERR;
    out->si_addr = (void *)(uintptr_t)fault_word_at(search, context + layout->address);
    return true;
}

// note_context takes the fault whose context is at that place, if it is one.
static void note_context(struct fault_search *search, uint64_t context,
                         const struct unwind_registers *registers, uint64_t pc)
{
    const struct signal_layout *layout = search->layout;
    siginfo_t info;
    if (!has_siginfo(search, context + (uint64_t)(int64_t)layout->siginfo, &info) &&
        !infer_siginfo(search, context, pc, &info))
        return;
    search->found = true;
    search->first.info = info;
    search->first.context = context;
    search->first.vectors_of = NULL;
    search->first.has_vectors = false;
    search->first.registers = *registers;
    search->first.flags = fault_word_at(search, context + layout->flags);
    search->first.fault_error =
        layout->error != 0 ? fault_word_at(search, context + layout->error) : 0;
    search->first.fault_trap =
        layout->trap != 0 ? fault_word_at(search, context + layout->trap) : 0;
}

static void note_fault(struct fault_search *search, const struct unwind_state *state,
                       uint64_t pc)
{
    const struct unwind_arch *arch = search->capture->arch;
    uint64_t context = find_context(search, pc, state->registers.value[arch->sp]);
    if (context != 0)
        note_context(search, context, &state->registers, pc);
    search->first.handlers += search->found;
}

// note_left_context takes the fault whose handler has returned after it raised the
// signal again, which was blocked until then: the thread is where it was at the fault,
// and the kernel's frame is left below its stack pointer.
static void note_left_context(struct fault_search *search)
{
    const struct target_crash *crash = search->capture->crash;
    uint64_t pc = crash->registers.value[search->capture->arch->pc];
    uint64_t sp = crash->registers.value[search->capture->arch->sp];
    if (search->layout->trap == 0 || crash->info.si_pid != search->capture->stop.pid ||
        is_after_call(search, pc))
        return;
    for (uint64_t below = LEFT_FROM; below < LEFT_TO && !search->found; below += 8) {
        uint64_t context = (sp & ~UINT64_C(7)) - below;
        if (fault_word_at(search, context + search->layout->pc) == pc &&
            fault_word_at(search, context + search->layout->sp) == sp)
            note_context(search, context, &crash->registers, pc);
    }
}

static bool look_at_frame(void *context, const struct unwind_frame *frame,
                          const struct unwind_state *state)
{
    struct fault_search *search = context;
    const struct unwind_arch *arch = search->capture->arch;
    if (frame->kind == UNWIND_KIND_PC && search->frames != 0 &&
        frame->trust == UNWIND_TRUST_CFI)
        note_fault(search, state, frame->address);
    search->below = state->registers.value[arch->sp];
    return ++search->frames < WALKED;
}

bool first_fault_find(struct capture *capture, struct unwind_space *space)
{
    const struct target_crash *crash = capture->crash;
    struct fault_search search = { .capture = capture,
                                   .layout = frame_layout_of(capture->arch) };
    if (crash == NULL || crash->signal_only || search.layout == NULL || capture->narrow)
        return false;
    // A signal from the kernel is the fault itself where our handler was in place and
    // reported it. A core may be of a fault in one of the program's handlers.
    bool sent = crash->info.si_code <= 0;
    if (!sent && capture_is_process(capture))
        return false;
    search.first = *crash;
    (void)unwind_walk(space, &crash->registers, capture->settings->unwind,
                      look_at_frame, &search);
    if (!search.found && sent)
        note_left_context(&search);
    if (!search.found)
        return false;
    if (search.first.then.si_signo == 0 && !crash->exits)
        search.first.then = crash->info;
    capture->first = search.first;
    capture->crash = &capture->first;
    return true;
}
