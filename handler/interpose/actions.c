// SPDX-License-Identifier: Apache-2.0
//
// How it works: the kernel has our action for each signal that we handle; the program's
// action is in a table that a crash can read (crash_action.c). actions_exchange, which
// sigaction and its relatives call, reads and writes that table, and sets our action
// again with the mask and the flags that the kernel must apply for the program's
// handler (tell_kernel).
//
// Three kinds of signals:
// - ours (is_ours): as above;
// - relayed (is_relayed): no crash, but the program's handler has to be called by ours,
//   because it runs on the alternate stack or its sender is noted;
// - all others: passed to the kernel unchanged.
//
// An ignored signal stays ignored in the kernel (is_left_ignored), because programs
// that are executed inherit that. Code that sets an action by a direct system call is
// noticed by actions_take_back, which takes the signal again and keeps that action as
// the program's.
//
// A child of vfork shares our memory, so its actions go to the kernel alone
// (actions_are_shared).
#include "handler/interpose/actions.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "handler/crash/crash.h"
#include "handler/crash/crash_filter.h"
#include "handler/machine/file_syscalls.h"
#include "handler/machine/syscalls.h"
#include "handler/prepare/next_call.h"
#include "handler/prepare/plan.h"

// The bounds of a Go runtime's code. Go turns a fault in its own code into a panic that
// the program may recover from. For any other fault it prints a dump and ends the
// process by a system call that we do not see, so such a fault is reported before Go's
// handler is called.

// The function table that each Go binary has, as of Go 1.18 (runtime/symtab.go,
// pcHeader).
enum { TABLE_1_18 = 0xfffffff0u, TABLE_1_20 = 0xfffffff1u, SECTIONS_MAX = 128 };

struct go_table {
    uint32_t magic;
    uint8_t unused[3];
    uint8_t pointer_bytes;
    uint64_t functions;
    uint64_t files;
    uint64_t text;
    uint64_t name_offset;
    uint64_t unit_offset;
    uint64_t file_offset;
    uint64_t pc_offset;
    uint64_t functions_offset; // entries of two 32-bit numbers, with one number more at
                               // the end
};

struct image_search {
    uintptr_t address;
    uintptr_t base;
    uintptr_t end; // of the image
    bool is_go;
    const char *path;
};

// has_go_note returns true if the notes have one by Go's linker.
static bool has_go_note(const char *notes, size_t bytes)
{
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)notes;
    while (bytes >= sizeof(*note) + 4) {
        size_t size = sizeof(*note) + ((note->n_namesz + 3u) & ~3u) +
                      ((note->n_descsz + 3u) & ~3u);
        if (note->n_namesz == 4 && memcmp(note + 1, "Go\0", 4) == 0)
            return true;
        if (size > bytes)
            return false;
        note = (const ElfW(Nhdr) *)(const void *)((const char *)note + size);
        bytes -= size;
    }
    return false;
}

static int look_at_image(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct image_search *search = argument;
    bool holds = false;
    (void)size;

    search->end = 0;
    search->is_go = false;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_NOTE)
            search->is_go |= has_go_note((const char *)start, header->p_memsz);
        if (header->p_type != PT_LOAD)
            continue;
        holds |= search->address - start < header->p_memsz;
        if (start + header->p_memsz > search->end)
            search->end = start + header->p_memsz;
    }
    search->base = info->dlpi_addr;
    search->path = info->dlpi_name;
    return holds;
}

static bool go_read_at(int fd, void *to, size_t length, uint64_t offset)
{
    return sys_read_at(fd, to, length, offset) == (long)length;
}

// table_place is the table's vaddr according to the file's sections. 0: it has none.
static uint64_t table_place(int fd)
{
    ElfW(Ehdr) file;
    ElfW(Shdr) names;
    ElfW(Shdr) section;
    char name[sizeof(".gopclntab")];

    if (!go_read_at(fd, &file, sizeof(file), 0) ||
        file.e_shentsize != sizeof(section) ||
        !go_read_at(fd, &names, sizeof(names),
                    file.e_shoff + (uint64_t)file.e_shstrndx * sizeof(names)))
        return 0;
    for (unsigned i = 0; i < file.e_shnum && i < SECTIONS_MAX; i++) {
        if (go_read_at(fd, &section, sizeof(section),
                       file.e_shoff + i * sizeof(section)) &&
            go_read_at(fd, name, sizeof(name), names.sh_offset + section.sh_name) &&
            memcmp(name, ".gopclntab", sizeof(name)) == 0)
            return section.sh_addr;
    }
    return 0;
}

static void note_table(const struct image_search *image, uint64_t place)
{
    const struct go_table *table = (const struct go_table *)(image->base + place);
    if ((uintptr_t)table > image->end - sizeof(*table) ||
        (table->magic != TABLE_1_18 && table->magic != TABLE_1_20) ||
        table->pointer_bytes != sizeof(void *))
        return;
    const uint32_t *functions =
        (const uint32_t *)(const void *)((const char *)table + table->functions_offset);
    const uint32_t *end = functions + 2 * table->functions;
    if ((uintptr_t)end > image->end - sizeof(*end) || end < functions)
        return;
    uint64_t text_end = table->text + *end;
    if (image->address < table->text || image->address >= text_end)
        return;
    crash_state.runtime_text_end = text_end;
    crash_state.runtime_text = table->text;
}

// go_text_note checks whether handler is a Go runtime's and, if so, records the bounds
// of its code (crash_state.runtime_text).
static void go_text_note(uintptr_t handler)
{
    struct image_search image = { .address = handler };
    if (crash_is_in_runtime(handler) || dl_iterate_phdr(look_at_image, &image) == 0 ||
        !image.is_go)
        return;
    int fd =
        sys_open(image.path != NULL && *image.path != 0 ? image.path : "/proc/self/exe",
                 O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    uint64_t place = table_place(fd);
    sys_close(fd);
    if (place != 0)
        note_table(&image, place);
}

static bool is_ours(int signal)
{
    return plan_is_in_force() && signal_in(crash_plan->signals, signal);
}

// is_left_ignored returns true if the action stays SIG_IGN in the kernel: for a signal
// that others send, because programs that are executed inherit that.
static bool is_left_ignored(int signal, const struct crash_action *action)
{
    bool stays = !signal_in(SIGNALS_FAULT, signal) && signal != SIGABRT;
    return stays && action->handler == (uintptr_t)SIG_IGN;
}

static void action_from_libc(struct crash_action *out, const struct sigaction *from)
{
    out->handler = (uintptr_t)from->sa_handler;
    out->flags = (uint32_t)from->sa_flags;
#if defined(__x86_64__)
    out->flags |= SYS_SA_RESTORER; // which queries return
#endif
    memcpy(&out->mask, &from->sa_mask, sizeof(out->mask));
    // The kernel drops these two from masks, because they cannot be blocked.
    out->mask &= ~(UINT64_C(1) << (SIGKILL - 1) | UINT64_C(1) << (SIGSTOP - 1));
}

static void action_to_libc(const struct crash_action *from, struct sigaction *out)
{
    out->sa_handler = (void (*)(int))(uintptr_t)from->handler;
    out->sa_flags = (int)from->flags;
    memcpy(&out->sa_mask, &from->mask, sizeof(from->mask));
}

// kernel_action is the kernel's sigaction, called from libc's code: a program that
// dispatches its own system calls (PR_SET_SYSCALL_USER_DISPATCH) may allow no other.
static bool kernel_action(int signal, const struct sys_action *action,
                          struct sys_action *out_old)
{
    return syscall(SYS_rt_sigaction, signal, action, out_old, SYS_SIGSET_BYTES) == 0;
}

// tell_kernel installs our action in place of theirs, and gives the one before. False,
// with errno set: a filter that the program has set refuses the call.
static bool tell_kernel(int signal, const struct crash_action *theirs,
                        struct sys_action *out_before)
{
    struct sys_action ours;
    crash_action_for_kernel(signal, theirs, &ours);
    if (is_left_ignored(signal, theirs))
        ours = (struct sys_action){ .handler = (uintptr_t)SIG_IGN };
    return kernel_action(signal, &ours, out_before);
}

// correct_action makes *action, which is in our table, the kernel's where that has
// neither ours nor one that we have left to it: it was set by a direct system call, by
// a child of vfork, or cleared for a child (CLONE_CLEAR_SIGHAND).
static void correct_action(const struct sys_action *kernel, struct crash_action *action)
{
    if (kernel->handler != (uintptr_t)crash_handle &&
        (kernel->handler != (uintptr_t)SIG_IGN || kernel->handler != action->handler))
        *action = (struct crash_action){ kernel->handler, kernel->flags, kernel->mask };
}

uint64_t actions_leave_to_exec(void)
{
    const struct sys_action ignore = { .handler = (uintptr_t)SIG_IGN };
    uint64_t left = 0;
    for (int signal = 1; signal < SIGNALS_END; signal++) {
        struct crash_action theirs;
        struct sys_action now = { 0 };
        if (!is_ours(signal))
            continue;
        crash_action_read(signal, &theirs);
        // A child of vfork may have set an action of its own.
        if (theirs.handler == (uintptr_t)SIG_IGN && !is_left_ignored(signal, &theirs) &&
            crash_may_call(CRASH_CALLS_ACTION) && kernel_action(signal, NULL, &now) &&
            now.handler == (uintptr_t)crash_handle &&
            kernel_action(signal, &ignore, NULL))
            left |= UINT64_C(1) << signal;
    }
    return left;
}

void actions_keep(uint64_t left)
{
    for (int signal = 1; signal < SIGNALS_END; signal++) {
        struct crash_action theirs;
        if ((left >> signal & 1) == 0)
            continue;
        crash_action_read(signal, &theirs);
        (void)tell_kernel(signal, &theirs, NULL);
    }
}

// find_restorer has libc set our handler for signal, and takes from the kernel what
// libc has it return to.
static void find_restorer(int signal)
{
    struct sigaction ours = { .sa_sigaction = crash_handle,
                              .sa_flags = SA_SIGINFO | SA_ONSTACK };
    struct sys_action set = { 0 };
    if (next_libc_sigaction(signal, &ours, NULL) == 0 &&
        kernel_action(signal, NULL, &set))
        crash_restorer = set.restorer;
}

// map_process maps the word that has this process's pid; the kernel zeroes it in a
// fork.
static void map_process(void)
{
    enum { WIPE_ON_FORK = 18 }; // MADV_WIPEONFORK, Linux 4.14
    size_t bytes = getauxval(AT_PAGESZ);
    if (crash_process != NULL || !crash_may_call(CRASH_CALLS_MAP | CRASH_CALLS_PID))
        return;
    void *page =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (sys_madvise((uintptr_t)page, bytes, WIPE_ON_FORK) != 0) {
        sys_munmap(page, bytes);
        return;
    }
    crash_process = page;
    *crash_process = getpid();
}

static void note_exit(void)
{
    crash_report_exit(-1, (uintptr_t)__builtin_frame_address(0));
}

static void note_library_exit(void *unused)
{
    (void)unused;
    note_exit();
}

// __cxa_atexit is what atexit calls. That is a part of each library, and Debian's lacks
// the marks of machine_marks.h.
extern int __cxa_atexit(void (*)(void *), void *, void *library); // the ABI's name

// on_exit is glibc's; unlike atexit it gives the status too.
extern int on_exit(void (*)(int, void *), void *) __attribute__((weak));

static void note_status(int status, void *unused)
{
    (void)unused;
    crash_report_exit(status & 0xff, (uintptr_t)__builtin_frame_address(0));
}

static void await_at_exit(int status, void *unused)
{
    (void)status;
    (void)unused;
    crash_claim_await();
}

void actions_await_at_exit(void)
{
    if (on_exit != NULL)
        (void)on_exit(await_at_exit, NULL);
}

// __cxa_at_quick_exit is glibc's at_quick_exit. The reference is weak, because musl's
// loader loads the shared library too.
extern int __cxa_at_quick_exit(void (*)(void *), void *) __attribute__((weak));

// note_runtime notes whether the handler is a Go runtime's, and whether that replaces
// another, to which it passes faults on that are not in its code.
static void note_runtime(int signal, uint64_t handler)
{
    struct crash_action before;
    uint64_t own = UINT64_C(1) << signal;
    go_text_note((uintptr_t)handler);
    crash_action_read(signal, &before);
    if (crash_is_in_runtime(before.handler))
        return;
    if (crash_action_calls(&before))
        __atomic_fetch_or(&crash_state.runtime_asks, own, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&crash_state.runtime_asks, ~own, __ATOMIC_RELAXED);
}

// prepare_for does what is needed before the program's handler is in force, most of it
// once.
static void prepare_for(int signal, const struct crash_action *theirs)
{
    static bool prepared;
    note_runtime(signal, theirs->handler);
    if (__atomic_exchange_n(&prepared, true, __ATOMIC_ACQ_REL))
        return;
    next_call_find();
    find_restorer(signal);
    map_process();
    if (on_exit != NULL)
        (void)on_exit(note_status, NULL);
    else
        (void)__cxa_atexit(note_library_exit, NULL, NULL);
    if (__cxa_at_quick_exit != NULL)
        (void)__cxa_at_quick_exit(note_library_exit, NULL);
}

// gnu_get_libc_version is glibc's.
extern const char *gnu_get_libc_version(void) __attribute__((weak));

// abort_unblocks returns true if libc's abort unblocks SIGABRT before it raises it:
// glibc's does up to version 2.40. To have the loader find a function of libc that
// reads numbers would take longer.
static bool abort_unblocks(void)
{
    enum { MAJOR = 2, FIRST_THAT_DOES_NOT = 41 };
    if (gnu_get_libc_version == NULL)
        return false;
    const char *at = gnu_get_libc_version();
    unsigned minor = 0;
    if (at[0] != '0' + MAJOR || at[1] != '.')
        return false;
    for (at += 2; *at >= '0' && *at <= '9'; at++)
        minor = 10 * minor + (unsigned)(*at - '0');
    return minor < FIRST_THAT_DOES_NOT;
}

// runs_in_memory_of_parent returns true in a child of vfork, for which libc still gives
// the thread that called that. In a child that has memory of its own and was made by a
// direct system call it does so too, so then the kernel compares their memory. A filter
// that this process has inherited could end it for kcmp. A parent that is not in the
// child's pid namespace is not found: vfork makes no such child. All calls are libc's,
// which a program that dispatches its own expects.
static bool runs_in_memory_of_parent(void)
{
    enum { VM = 1, PER_THREAD = 8 }; // KCMP_VM; a thread's clock is ~tid * 8 + its kind
    clockid_t clock = 0;
    if (pthread_getcpuclockid(pthread_self(), &clock) != 0 ||
        (uint32_t)~clock / PER_THREAD == (uint32_t)syscall(SYS_gettid))
        return false;
    if (!crash_may_call(CRASH_CALLS_PRCTL) ||
        syscall(SYS_prctl, PR_GET_SECCOMP, 0) != 0)
        return true;
    const int error = errno;
    errno = 0;
    bool shared =
        syscall(SYS_kcmp, getpid(), getppid(), VM, 0, 0) <= 0 && errno != ESRCH;
    errno = error;
    return shared;
}

bool actions_are_shared(void)
{
    if (!crash_may_call(CRASH_CALLS_PID))
        return false;
    if (crash_process == NULL)
        return runs_in_memory_of_parent();
    if (*crash_process == 0)
        *crash_process = getpid();
    return *crash_process != getpid();
}

// is_relayed returns true if the kernel is to have our handler for a signal that is no
// crash: theirs is moved to its own stack, or its sender noted (crash_relay.c).
static bool is_relayed(int signal, const struct sigaction *action)
{
    bool moved = (action->sa_flags & SA_ONSTACK) != 0 ||
                 (signal == SIGTERM && crash_state.ended != NULL);
    return moved && action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN &&
           action->sa_sigaction != crash_handle && plan_is_in_force() && signal > 0 &&
           signal <= SYS_SIGNALS;
}

// relay_action keeps the action for our handler and makes the one for the kernel. A
// child that shares its parent's memory sets its own alone.
static void relay_action(int signal, struct sigaction *action,
                         struct crash_action *out_before)
{
    struct crash_action theirs;
    action_from_libc(&theirs, action);
    map_process();
    bool same = memcmp(&theirs, out_before, sizeof(theirs)) == 0;
    if (!same && actions_are_shared())
        return;
    if (!same)
        crash_action_exchange(signal, &theirs, out_before);
    action->sa_sigaction = crash_handle;
    action->sa_flags |= SA_SIGINFO;
}

static int exchange_relayed(int signal, const struct sigaction *action,
                            struct sigaction *old)
{
    struct crash_action before;
    struct sigaction ours;
    bool relayed = action != NULL && is_relayed(signal, action);
    if (relayed) {
        crash_action_read(signal, &before);
        ours = *action;
        relay_action(signal, &ours, &before);
        action = &ours;
    }
    int result = next_sigaction(signal, action, old);
    if (result != 0 && relayed && ours.sa_sigaction == crash_handle)
        crash_action_exchange(signal, &before,
                              &before); // the one before stays in force
    if (result == 0 && old != NULL && old->sa_sigaction == crash_handle) {
        if (!relayed)
            crash_action_read(signal, &before);
        old->sa_sigaction = (void (*)(int, siginfo_t *, void *))before.handler;
        old->sa_flags ^= SA_SIGINFO ^ (int)(before.flags & SA_SIGINFO);
    }
    return result;
}

void actions_take(int signal)
{
    struct sys_action ours;
    struct sys_action before = { 0 };
    struct crash_action theirs = { 0 };
    struct crash_action old;

    if (signal_in(SIGNALS_FAULT, signal) || (signal == SIGABRT && !abort_unblocks()))
        crash_holds |= UINT64_C(1) << (signal - 1);
    crash_action_for_kernel(signal, &theirs, &ours);
    if (!kernel_action(signal, &ours, &before))
        return;
    if (before.handler == (uintptr_t)crash_handle) {
        crash_action_read(signal, &theirs); // we have relayed it
    } else {
        theirs = (struct crash_action){ .handler = before.handler,
                                        .flags = before.flags | CRASH_ACTION_UNSEEN,
                                        .mask = before.mask };
    }
    if (crash_action_calls(&theirs))
        prepare_for(signal, &theirs);
    crash_action_exchange(signal, &theirs, &old);
    if (before.handler != (uintptr_t)SIG_DFL)
        (void)tell_kernel(signal, &theirs, NULL);
}

void actions_give_back(int signal)
{
    struct crash_action theirs;
    struct sigaction action = { 0 };
    crash_action_read(signal, &theirs);
    action_to_libc(&theirs, &action);
    (void)exchange_relayed(signal, &action, NULL);
}

static int exchange_ours(int signal, const struct sigaction *action,
                         struct sigaction *old)
{
    struct crash_action theirs;
    struct crash_action before;
    struct sys_action kernel = { .handler = (uintptr_t)crash_handle };

    if (action == NULL) {
        crash_action_read(signal, &before);
        if (!kernel_action(signal, NULL, &kernel))
            return -1;
    } else {
        // The new action is read before the old one is written: they may be one object.
        action_from_libc(&theirs, action);
        if (crash_action_calls(&theirs))
            prepare_for(signal, &theirs);
        crash_action_exchange(signal, &theirs, &before);
        if (!tell_kernel(signal, &theirs, &kernel)) {
            crash_action_exchange(signal, &before, &theirs);
            return -1;
        }
    }
    if (old != NULL) {
        correct_action(&kernel, &before);
        action_to_libc(&before, old);
    }
    return 0;
}

int actions_exchange(int signal, const struct sigaction *action, struct sigaction *old)
{
    if (!is_ours(signal))
        return exchange_relayed(signal, action, old);
    if (action == NULL || !actions_are_shared())
        return exchange_ours(signal, action, old);
    struct sigaction wanted = *action;
    if (exchange_ours(signal, NULL, old) != 0)
        return -1;
    return next_sigaction(signal, &wanted, NULL);
}

// action_is_taken returns true if code has set the signal's action by a direct system
// call.
__attribute__((noinline)) static bool action_is_taken(int signal)
{
    struct sys_action now = { 0 };
    return is_ours(signal) && kernel_action(signal, NULL, &now) &&
           now.handler != (uintptr_t)crash_handle && now.handler != (uintptr_t)SIG_IGN;
}

void actions_take_back(void)
{
    static uint32_t turn;
    if (!crash_may_call(CRASH_CALLS_ACTION))
        return;
    uint32_t other = __atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % SIGNALS_END;
    // Another thread's crash may have set the default action, to die by it.
    if ((!action_is_taken(SIGSEGV) && !action_is_taken((int)other)) ||
        actions_are_shared() || crash_state.dying != 0)
        return;
    for (int signal = 1; signal < SIGNALS_END; signal++) {
        if (action_is_taken(signal))
            actions_take(signal);
    }
}
