// SPDX-License-Identifier: Apache-2.0
//
// How it works (crash_examine), in the order of what later parts need:
// 1. what libraries reported, after SIGABRT (read_stack_words, with agent/messages):
//    the report of a sanitizer, an abort message or an assertion, the C++ exception,
//    and where there is none of these, a panic of Go or Rust.
// 2. the facts of the signal: registers, kind of access, the sender (note_sender), the
//    system call of a SIGSYS.
// 3. where the address, the pc and the stack pointer are (place_of_examined, stack_of),
//    and corrections that depend on it (find_refused_stack, infer_access).
// 4. what may have caused it: limits of memory (note_memory), the instruction
//    (read_crash_code), how the address came about (origins_find).
//
// The process is only read. Texts point into *out or into the capture, and live as long
// as these. What can be derived from the report alone is not done here: the process is
// held.
#include "agent/raw/crash_examine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "agent/facts/termination.h"
#include "agent/messages/abort_message.h"
#include "agent/messages/exception.h"
#include "agent/messages/panics.h"
#include "agent/raw/raw_threads.h"
#include "base/text.h"
#include "formats/debug/elf.h"
#include "formats/debug/maps.h"
#include "images/read_file.h"
#include "report/summary/crash_facts.h"
#include "report/summary/crash_kind.h"
#include "report/summary/system_call_name.h"

// Whether a process was close to a limit on its memory: RLIMIT_AS, RLIMIT_DATA, or that
// of its cgroup or of an ancestor, in either version of cgroups.
//
// Inactive file pages do not count as used, because the cgroup can reclaim them at
// once. A few small files are read; an unlimited process costs two system calls.

enum { STATUS_LIMIT_BYTES = 16 << 10, LEVELS_MAX = 16 };

// A limit above this means that there is none.
#define UNLIMITED_BYTES (UINT64_C(1) << 60)

static bool is_near(const struct crash_memory *memory)
{
    return memory->limit_bytes != 0 && memory->limit_bytes < UNLIMITED_BYTES &&
           memory->used_bytes >= memory->limit_bytes / 4 * 3;
}

// number_after gives the number after a line's name; 0: it is not there.
static uint64_t number_after(const struct text *text, const char *name)
{
    const char *at = text->bytes != NULL ? strstr(text->bytes, name) : NULL;
    return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

// soft_limit reads a soft limit; 0: there is none.
static uint64_t soft_limit(pid_t pid, int resource, const char *title)
{
    struct rlimit limit;
    struct text CH_CLEANUP(text_deinit) lines = { 0 };
    const bool known = facts_read_limit(pid, resource, title, &lines, &limit);
    return known && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur : 0;
}

static bool find_resource(pid_t pid, struct crash_memory *out)
{
    static const struct {
        int resource;
        const char *name;
        const char *title;
        const char *line; // of /proc/PID/status, in KiB
    } resources[] = {
        { RLIMIT_AS, "RLIMIT_AS", "Max address space", "\nVmSize:" },
        { RLIMIT_DATA, "RLIMIT_DATA", "Max data size", "\nVmData:" },
    };
    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
        struct text status = { 0 };
        uint64_t limit = soft_limit(pid, resources[i].resource, resources[i].title);
        if (limit == 0 ||
            read_process_file(pid, "status", STATUS_LIMIT_BYTES, &status) != CH_OK) {
            text_deinit(&status);
            continue;
        }
        struct crash_memory found = {
            .limit = resources[i].name,
            .limit_bytes = limit,
            .used_bytes = number_after(&status, resources[i].line) * 1024,
        };
        text_deinit(&status);
        if (is_near(&found)) {
            *out = found;
            return true;
        }
    }
    return false;
}

// A hierarchy is one of the two versions of cgroups: where a process's group is named,
// and its files.
struct hierarchy {
    const char *line; // what precedes the group in /proc/PID/cgroup
    const char *folder;
    const char *limit;
    const char *used;
    const char *stat_line;
    const char *name;
};

static uint64_t read_limit_number(const char *folder, const char *group,
                                  const char *file)
{
    char path[PATH_MAX];
    struct text text = { 0 };
    int length = snprintf(path, sizeof(path), "%s%s/%s", folder, group, file);
    bool fits = length > 0 && (size_t)length < sizeof(path);
    // "max" is not a number and reads as 0.
    uint64_t number = fits && read_file(path, STATUS_LIMIT_BYTES, &text) == CH_OK
                          ? strtoull(text.bytes, NULL, 10)
                          : 0;
    text_deinit(&text);
    return number;
}

static uint64_t read_inactive(const struct hierarchy *h, const char *group)
{
    char path[PATH_MAX];
    struct text text = { 0 };
    int length = snprintf(path, sizeof(path), "%s%s/memory.stat", h->folder, group);
    uint64_t bytes = 0;
    if (length > 0 && (size_t)length < sizeof(path) &&
        read_file(path, STATUS_LIMIT_BYTES, &text) == CH_OK)
        bytes = number_after(&text, h->stat_line);
    text_deinit(&text);
    return bytes;
}

static bool find_group(const struct hierarchy *h, const char *group,
                       struct crash_memory *out)
{
    struct crash_memory found = {
        .limit = h->name,
        .limit_bytes = read_limit_number(h->folder, group, h->limit),
    };
    if (found.limit_bytes == 0)
        return false;
    uint64_t used = read_limit_number(h->folder, group, h->used);
    uint64_t inactive = read_inactive(h, group);
    found.used_bytes = used > inactive ? used - inactive : 0;
    if (!is_near(&found))
        return false;
    *out = found;
    return true;
}

// find_hierarchy checks a process's group and its ancestors, except the root, which has
// no limit.
static bool find_hierarchy(const struct hierarchy *h, const struct text *cgroup,
                           struct crash_memory *out)
{
    char group[PATH_MAX];
    const char *at = cgroup->bytes != NULL ? strstr(cgroup->bytes, h->line) : NULL;
    if (at == NULL || (h->line[0] == '0' && at != cgroup->bytes && at[-1] != '\n'))
        return false;
    at += strlen(h->line);
    size_t size = strcspn(at, "\n");
    // A group outside this cgroup namespace begins with "/..".
    if (size >= sizeof(group) || strncmp(at, "/..", 3) == 0)
        return false;
    memcpy(group, at, size);
    group[size] = 0;
    for (int level = 0; level < LEVELS_MAX && strlen(group) > 1; level++) {
        if (find_group(h, group, out))
            return true;
        *strrchr(group, '/') = 0;
    }
    return false;
}

// memory_limits_find fills out with the first limit of which process pid uses at least
// three quarters. cgroup is the content of /proc/PID/cgroup. Without such a limit,
// out->limit is NULL.
static void memory_limits_find(pid_t pid, const struct text *cgroup,
                               struct crash_memory *out)
{
    static const struct hierarchy hierarchies[] = {
        { "0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file ",
          "memory.max of its cgroup" },
        { ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes",
          "memory.usage_in_bytes", "total_inactive_file ",
          "memory.limit_in_bytes of its cgroup" },
    };
    *out = (struct crash_memory){ 0 };
    if (find_resource(pid, out))
        return;
    for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
        if (find_hierarchy(&hierarchies[i], cgroup, out))
            return;
    }
}

enum {
    PAGE_BYTES = 4096,
    // How far below the lowest mapping of a region something may have been unmapped.
    UNMAPPED_REACH_BYTES = 64 << 20,
    // A larger hole was never filled.
    UNMAPPED_HOLE_BYTES = 1 << 30,
    COMMAND_LIMIT_BYTES = 64,
    // How far the stack pointer may be from an unnamed stack, and from an identified
    // one.
    STACK_REACH_BYTES = 1 << 20,
    STACK_JUMP_BYTES = 256 << 20,
};

// STACK_LEAP_BYTES is how far it may be where the frame pointer is still in the stack.
#define STACK_LEAP_BYTES (UINT64_C(64) << 30)

// has_fixed_place returns true if the kernel chose the mapping's place, away from what
// mmap places.
static bool has_fixed_place(const struct target_mapping *mapping)
{
    static const char anonymous[] = "[anon";
    return mapping->path_size != 0 && mapping->path[0] == '[' &&
           strncmp(mapping->path, anonymous,
                   mapping->path_size < strlen(anonymous) ? mapping->path_size
                                                          : strlen(anonymous)) != 0;
}

// was_mapped guesses whether something was once mapped at address, where nothing is
// now. mmap fills a region from its top without holes, so a hole in it, or the room
// just below it, is where something was unmapped. The page right after a mapping is
// excluded: an access there may be an overrun of that mapping. The first hole of all,
// if it is small, is the room between the program and its heap, which the kernel
// chooses at random; in a core, no name tells the heap.
static bool was_mapped(const struct target_images *images, uint64_t address)
{
    size_t above = 0;
    size_t hole = 1;
    while (above < images->mapping_count && images->mappings[above].start <= address)
        above++;
    while (hole < above &&
           images->mappings[hole].start == images->mappings[hole - 1].end)
        hole++;
    if (above == 0 || above == images->mapping_count ||
        has_fixed_place(&images->mappings[above]))
        return false;
    uint64_t start = images->mappings[above - 1].end;
    uint64_t end = images->mappings[above].start;
    bool small = end - start <= UNMAPPED_HOLE_BYTES;
    return address >= start + PAGE_BYTES && !(small && hole >= above) &&
           (small || end - address <= UNMAPPED_REACH_BYTES);
}

static struct crash_place place_of_examined(const struct target_images *images,
                                            uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(images, address);
    if (mapping == NULL)
        return (struct crash_place){ .unmapped = was_mapped(images, address) };
    return (struct crash_place){
        .mapped = true,
        .readable = mapping->permissions & MAPS_READ,
        .writable = mapping->permissions & MAPS_WRITE,
        .executable = mapping->permissions & MAPS_EXECUTE,
        .file = mapping->inode != 0,
        .path = mapping->path,
        .path_size = mapping->inode != 0 ? mapping->path_size : 0,
    };
}

// stack_reaches returns true if sp can have moved to where it is from the stack in
// mapping.
static bool stack_reaches(const struct target_mapping *mapping, uint64_t sp,
                          uint64_t reach)
{
    return mapping != NULL && mapping->permissions & MAPS_WRITE && sp < mapping->end &&
           (sp >= mapping->start || mapping->start - sp <= reach);
}

static bool mapping_has_path(const struct target_mapping *mapping, const char *path)
{
    return mapping->path_size == strlen(path) &&
           memcmp(mapping->path, path, mapping->path_size) == 0;
}

// has_frame_pointer_in returns true if the frame pointer is in the mapping: an array
// whose size the program computed has moved the stack pointer alone.
static bool has_frame_pointer_in(const struct capture *capture,
                                 const struct target_mapping *mapping)
{
    enum { FRAME_POINTER = 6 };
    uint64_t frame = capture->crash->registers.value[FRAME_POINTER];
    return capture->arch->id == UNWIND_ARCH_AMD64 && mapping != NULL &&
           frame >= mapping->start && frame < mapping->end;
}

// stack_mapping is the stack that sp is in, or was in until it moved past the inner
// end, perhaps by the size of a large array. A stack begins where its guard, or other
// memory that cannot be written, ends. The descriptor of a thread other than the first
// is at the outer end of its stack, and the first thread's stack has a name. Where
// nothing identifies it, writable memory close by that maps no file is taken.
static const struct target_mapping *stack_mapping(const struct capture *capture,
                                                  uint64_t sp)
{
    const struct target_images *images = &capture->images;
    const struct target_mapping *own =
        images_mapping(images, capture->crash->thread_pointer);
    const struct target_mapping *at = images_mapping(images, sp);
    if (stack_reaches(at, sp, 0))
        return at;
    const struct target_mapping *guarded =
        at != NULL ? images_mapping(images, at->end) : NULL;
    if (guarded != NULL && guarded->inode == 0 &&
        stack_reaches(guarded, sp, STACK_REACH_BYTES))
        return guarded;
    bool first_thread = capture->crash->tid == capture->process.pid;
    if (!first_thread &&
        stack_reaches(own, sp,
                      has_frame_pointer_in(capture, own) ? STACK_LEAP_BYTES
                                                         : STACK_JUMP_BYTES))
        return own;
    for (size_t i = 0; i < images->mapping_count; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        bool first = mapping_has_path(mapping, "[stack]");
        uint64_t jump = has_frame_pointer_in(capture, mapping) ? STACK_LEAP_BYTES
                                                               : STACK_JUMP_BYTES;
        if (mapping->inode == 0 &&
            stack_reaches(mapping, sp, first ? jump : STACK_REACH_BYTES))
            return mapping;
    }
    return NULL;
}

// stack_of is the extent of the stack at sp. The kernel may have merged an adjacent
// mapping with it; that one begins after the thread's own descriptor, which is at the
// stack's outer end.
static struct crash_stack stack_of(const struct capture *capture, uint64_t sp)
{
    const struct target_mapping *mapping = stack_mapping(capture, sp);
    uint64_t thread = capture->crash->thread_pointer;
    if (mapping == NULL)
        return (struct crash_stack){ 0 };
    struct crash_stack stack = { .start = mapping->start, .end = mapping->end };
    stack.grows = mapping_has_path(mapping, "[stack]");
    if (stack.grows && capture_is_process(capture))
        stack.limit_bytes =
            soft_limit(capture->memory.pid, RLIMIT_STACK, "Max stack size");
    uint64_t thread_end = (thread | (PAGE_BYTES - 1)) + 1;
    if (thread >= stack.start && thread > sp && thread_end < stack.end)
        stack.end = thread_end;
    return stack;
}

static enum crash_access access_of(const struct target_crash *crash)
{
#if defined(__x86_64__)
    // Exception 14 is the page fault; its error code gives the access (Intel SDM volume
    // 3, section 4.7).
    enum { PAGE_FAULT = 14, FAULT_WRITE = 2, FAULT_EXECUTE = 16 };
    if (crash->fault_trap != PAGE_FAULT)
        return CRASH_ACCESS_UNKNOWN;
    if (crash->fault_error & FAULT_EXECUTE)
        return CRASH_ACCESS_EXECUTE;
    return crash->fault_error & FAULT_WRITE ? CRASH_ACCESS_WRITE : CRASH_ACCESS_READ;
#else
    (void)crash;
    return CRASH_ACCESS_UNKNOWN;
#endif
}

// infer_access finds the kind of access where the processor's error code is not known,
// as in a core: code is fetched from the pc alone, and of memory that may be read an
// access without permission was a write.
static enum crash_access infer_access(const struct crash_facts *facts)
{
    const struct crash_place *place = &facts->address_place;
    if (facts->access != CRASH_ACCESS_UNKNOWN || facts->signal != SIGSEGV ||
        facts->signal_only || facts->sent || facts->general_protection)
        return facts->access;
    if (facts->address == facts->pc && !facts->pc_place.executable)
        return CRASH_ACCESS_EXECUTE;
    if (facts->code == SEGV_ACCERR && place->readable && !place->writable)
        return CRASH_ACCESS_WRITE;
    return CRASH_ACCESS_UNKNOWN;
}

// find_refused_stack recognizes a stack on which the kernel found no room for a signal.
// It then ends the program in the way of a general protection fault, without the
// address of the fault; only the processor's trap number, which a core lacks,
// distinguishes them. The stack pointer has left the stack in the first case.
static void find_refused_stack(const struct capture *capture, struct crash_facts *facts)
{
    const struct target_crash *crash = capture->crash;
    if ((facts->signal != SIGSEGV && facts->signal != SIGBUS) ||
        facts->code != SI_KERNEL || crash->fault_trap != 0 || crash->signal_only ||
        capture_is_process(capture) || capture->arch->id != UNWIND_ARCH_AMD64)
        return;
    if (!facts->sp_place.mapped && facts->stack.end > facts->stack.start) {
        facts->address = facts->sp;
        facts->address_place = facts->sp_place;
    } else {
        facts->general_protection = true;
    }
}

// is_protection returns true if the processor refused the instruction without giving an
// address (Intel SDM volume 3, section 6.15). A non-canonical address based on a stack
// register is a stack fault.
static bool is_protection(const struct target_crash *crash)
{
    enum { STACK_FAULT = 12, GENERAL_PROTECTION = 13 };
    return crash->info.si_code == SI_KERNEL &&
           ((crash->info.si_signo == SIGSEGV &&
             crash->fault_trap == GENERAL_PROTECTION) ||
            (crash->info.si_signo == SIGBUS && crash->fault_trap == STACK_FAULT));
}

// read_assertion reads the assertion of a C library that stores no message.
static void read_assertion(const struct capture *capture, struct crash_examination *out)
{
    const struct target_crash *crash = capture->crash;
    const struct assert_place place = {
        .function = crash->places.assert_fail != 0 ? crash->places.assert_fail
                                                   : runtime_find_assert_fail(capture),
        .sp = crash->registers.value[capture->arch->sp],
        .is_code = images_is_code,
        .context = (void *)(uintptr_t)&capture->images,
    };
    if (capture->arch->id != UNWIND_ARCH_AMD64 ||
        assert_call_read(&capture->reader, &place, out->message) != CH_OK)
        out->message[0] = 0;
}

// in_thread is the address of what is at offset from the crashed thread's pointer; 0:
// not known.
static uint64_t in_thread(const struct target_crash *crash, int64_t offset)
{
    return crash->thread_pointer != 0 && offset != 0
               ? crash->thread_pointer + (uint64_t)offset
               : 0;
}

// rust_thread_name is what Rust calls the crashed thread.
static const char *rust_thread_name(const struct capture *capture,
                                    const struct crash_examination *crash)
{
    bool main = capture->crash->tid == capture->stop.pid;
    return main ? "main" : crash->thread_name;
}

// read_stack_words fills in what the target's libraries reported before it aborted; a
// text that cannot be read counts as none.
static void read_stack_words(const struct capture *capture,
                             struct crash_examination *out)
{
    const struct target_crash *crash = capture->crash;
    if (crash->info.si_signo != SIGABRT)
        return;
    if (sanitizer_words_read(&capture->reader, crash->places.sanitizer_report,
                             out->message) == CH_OK)
        return;
    uint64_t message = crash->places.abort_message != 0
                           ? crash->places.abort_message
                           : runtime_find_abort_message(capture);
    if (abort_message_read(&capture->reader, message, out->message) != CH_OK)
        out->message[0] = 0;
    if (message == 0)
        read_assertion(capture, out);
    struct exception_place place = {
        .globals = in_thread(crash, crash->places.exception_globals),
        .terminate = crash->places.terminate,
        .set_terminate = crash->places.set_terminate,
        .get_terminate = crash->places.get_terminate,
        .sp = crash->registers.value[capture->arch->sp],
    };
    if (capture->arch->id == UNWIND_ARCH_AMD64 ||
        capture->arch->id == UNWIND_ARCH_AARCH64)
        place.code =
            (struct thrown_code){ .arch = capture->arch->id,
                                  .is_code = images_is_code,
                                  .context = (void *)(uintptr_t)&capture->images };
    const struct panic_search search = {
        .sp = place.sp,
        .thread = rust_thread_name(capture, out),
        .is_constant = images_is_data,
        .context = (void *)(uintptr_t)&capture->images,
    };
    uint64_t slot = in_thread(crash, crash->places.exception_slot);
    if (slot != 0 && memory_read_word(&capture->reader, slot, &place.globals) != CH_OK)
        place.globals = 0;
    if (place.globals == 0)
        runtime_find_exceptions(capture, &place);
    if (exception_read(&capture->reader, &place, &out->exception) != CH_OK)
        out->exception.type[0] = 0;
    if (out->message[0] == 0 && out->exception.type[0] == 0 &&
        go_panic_read(&capture->reader, crash->thread_pointer, out->message) != CH_OK &&
        panic_hook_read(&capture->reader, &search, out->message) != CH_OK &&
        panic_words_read(&capture->reader, place.sp, out->message) != CH_OK)
        out->message[0] = 0;
}

static const char *text_or_null(const char *text)
{
    return text[0] != 0 ? text : NULL;
}

// note_sender looks up the name of the process that sent the signal. It may have exited
// and its number been reused, but that takes longer than we do.
static void note_sender(const struct capture *capture, struct crash_examination *out)
{
    const siginfo_t *info = &capture->crash->info;
    struct text name = { 0 };
    out->facts.sent = true;
    out->facts.address = 0;
    out->facts.sender = info->si_pid;
    out->facts.sender_user = info->si_uid;
    out->facts.had_children = capture->process.had_children;
    if (capture->core_name == NULL && info->si_pid > 0 &&
        read_process_file(info->si_pid, "comm", COMMAND_LIMIT_BYTES, &name) == CH_OK)
        snprintf(out->sender_name, sizeof(out->sender_name), "%.*s",
                 (int)strcspn(name.bytes, "\n"), name.bytes);
    text_deinit(&name);
    out->facts.sender_name = text_or_null(out->sender_name);
}

// heap_name_thread finds the name of a thread that allocated or freed: the one that it
// had given itself, or that of today, if it is alive.
static void heap_name_thread(struct capture *capture, const struct heap_event *recorded,
                             struct crash_heap_event *event,
                             char name[static CRASH_NAME_BYTES])
{
    snprintf(name, CRASH_NAME_BYTES, "%.*s", HEAP_NAME_BYTES - 1, recorded->name);
    if (name[0] == 0 && event->thread != 0 && capture_is_process(capture))
        raw_thread_name(capture, (pid_t)event->thread, name);
    event->name = text_or_null(name);
}

// note_heap looks for a guarded block that the fault is about.
static void note_heap(struct capture *capture, struct crash_examination *out)
{
    struct crash_facts *facts = &out->facts;
    if (!crash_has_address(facts) || facts->signal != SIGSEGV ||
        facts->general_protection || capture->narrow)
        return;
    heap_fault_find(capture, facts->address, &out->heap);
    heap_fault_facts(&out->heap, capture->crash->realtime_ns, &facts->heap);
    const struct heap_block *block = &out->heap.block;
    heap_name_thread(capture, &block->allocated, &facts->heap.allocated,
                     out->heap_threads[0]);
    heap_name_thread(capture, &block->freed, &facts->heap.freed, out->heap_threads[1]);
}

// note_memory looks for an exceeded memory limit where one may be the cause: the
// program aborted without giving a reason, or dereferenced the NULL of a failed
// allocation. A cgroup limit never makes an allocation fail, so the cgroup's, which is
// outside /proc/PID, is read in the first case only.
static void note_memory(const struct capture *capture, struct crash_facts *facts)
{
    static const struct text no_cgroup;
    bool silent = crash_is_own_abort(facts) && facts->message == NULL &&
                  (facts->exception_type == NULL ||
                   strcmp(facts->exception_type, "std::bad_alloc") == 0);
    bool is_null = crash_kind(facts) == CRASH_KIND_NULL_DEREFERENCE;
    if (capture->core_name == NULL && (silent || is_null))
        memory_limits_find(capture->memory.pid,
                           silent ? &capture->process.cgroup : &no_cgroup,
                           &facts->memory);
}

// is_return returns true if the processor reached the pc, where no code is, by a
// return: one through the link register, which a call would have set, or one that
// popped the address off the stack, where a call would have left its return address.
static bool is_return(const struct capture *capture, struct crash_examination *crash)
{
    const struct unwind_arch *arch = capture->arch;
    const uint64_t pc = crash->facts.pc;
    uint64_t taken;
    if (arch->link != UNWIND_NO_LINK) {
        taken = capture->crash->registers.value[arch->link];
        return taken == pc || unwind_arch_address(arch, taken) == pc;
    }
    return crash->has_stack_top &&
           !place_of_examined(&capture->images, crash->stack_top).executable &&
           memory_read_word(&capture->reader, crash->facts.sp - sizeof(taken),
                            &taken) == CH_OK &&
           taken == pc;
}

// read_crash_code copies the instruction that failed or, where there is none, finds how
// the processor got there.
static void read_crash_code(const struct capture *capture,
                            struct crash_examination *out)
{
    const struct memory_reader *reader = &capture->reader;
    struct crash_facts *facts = &out->facts;
    // Where only the signal is known, the instruction may tell the address.
    bool is_fault =
        crash_has_address(facts) ||
        (facts->signal_only && (facts->signal == SIGSEGV || facts->signal == SIGBUS));
    if (!is_fault || capture->narrow)
        return; // the decoders take the code for that of a 64-bit program
    out->has_stack_top = memory_read_word(reader, facts->sp, &out->stack_top) == CH_OK;
    if (facts->pc_place.executable)
        out->instruction_size = memory_read_part(reader, facts->pc, out->instruction,
                                                 CRASH_INSTRUCTION_BYTES);
    else if (is_return(capture, out)) {
        facts->way = CRASH_WAY_RETURN;
        facts->way_address = facts->pc;
    }
}

static void note_system_call(const struct capture *capture, struct crash_facts *facts)
{
    const siginfo_t *info = &capture->crash->info;
    facts->system_call = info->si_syscall;
    facts->system_call_machine = info->si_arch;
    if (facts->system_call_machine == 0) // not in a core's notes
        facts->system_call_machine = capture->arch->id == UNWIND_ARCH_AMD64
                                         ? SYSTEM_CALL_X86_64
                                         : SYSTEM_CALL_AARCH64;
}

void crash_examine(struct capture *capture, const struct waits *waits,
                   struct crash_examination *out)
{
    const struct target_crash *crash = capture->crash;
    const siginfo_t *info = &crash->info;
    out->waits = waits;
    struct crash_facts *facts = &out->facts;
    raw_thread_name(capture, crash->tid, out->thread_name);
    read_stack_words(capture, out);
    *facts = (struct crash_facts){
        .memory_tag = -1, // comes with the operand, which is not known yet
        .signal_only = crash->signal_only,
        .signal = info->si_signo,
        .code = info->si_code,
        .address = (uint64_t)(uintptr_t)info->si_addr,
        .pc = crash->registers.value[capture->arch->pc],
        .sp = crash->registers.value[capture->arch->sp],
        .access = access_of(crash),
        .general_protection = is_protection(crash),
        .pid = capture->stop.pid,
        .termination =
            capture->termination != NULL ? capture->termination->kind : CRASH_KIND_NONE,
        .watchdog = !crash->signal_only && info->si_code == SI_QUEUE &&
                    (uint64_t)(uintptr_t)info->si_value.sival_ptr == REQUEST_WATCHDOG,
        .deadlock = waits->deadlock,
        .thread_name = out->thread_name,
        .message = text_or_null(out->message),
        .exception_type = text_or_null(out->exception.type),
        .exception_what = text_or_null(out->exception.what),
    };
    for (size_t i = 0; i < out->exception.nested_count; i++)
        facts->nested[i] =
            (struct crash_nested){ out->exception.nested[i].type,
                                   text_or_null(out->exception.nested[i].what) };
    if (capture->termination != NULL && capture->termination->message.size != 0)
        facts->message = capture->termination->message.bytes;
    if (!crash->signal_only && info->si_code <= 0 && info->si_code != SI_TIMER)
        note_sender(capture, out);
    if (facts->signal == SIGSYS)
        note_system_call(capture, facts);
    facts->address_place = place_of_examined(&capture->images, facts->address);
    facts->pc_place = place_of_examined(&capture->images, facts->pc);
    facts->sp_place = place_of_examined(&capture->images, facts->sp);
    facts->stack = stack_of(capture, facts->sp);
    find_refused_stack(capture, facts);
    facts->access = infer_access(facts);
    note_heap(capture, out);
    if (facts->message != NULL && crash_kind(facts) == CRASH_KIND_HEAP_CORRUPTION)
        malloc_chunks_find(capture, capture->settings->sanitize == SETTING_NO,
                           &out->chunks);
    facts->chunk = out->chunks.chunk;
    note_memory(capture, facts);
    read_crash_code(capture, out);
    if (crash_has_address(facts))
        origins_find(capture, facts->address, &out->origins);
    if (crash_has_address(facts) && facts->address_place.unmapped)
        origins_find_unloaded(capture, facts->address, &out->origins);
}
