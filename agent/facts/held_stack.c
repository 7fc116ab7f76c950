// SPDX-License-Identifier: Apache-2.0
#include "agent/facts/held_stack.h"

#include <stdlib.h>
#include <string.h>

#include "agent/live/capture.h"
#include "agent/live/stop_registers.h"
#include "formats/debug/maps.h"
#include "report/file/held_file.h"
#include "report/file/system_image.h"

// The vector registers of a thread, copied for the free phase: floating-point variables
// are in them. No call preserves all of them, so a thread that sleeps in a system call
// has none that matter.

// saved_vectors_x86 gives the address of xmm0 in what the kernel's ucontext of x86-64
// points to (struct sigcontext); 0: there is none.
static uint64_t saved_vectors_x86(const struct memory_reader *memory, uint64_t context)
{
    enum { CONTEXT_FPSTATE = 224, FPSTATE_XMM0 = 160 };
    uint64_t saved;
    return memory_read_word(memory, context + CONTEXT_FPSTATE, &saved) == CH_OK &&
                   saved != 0
               ? saved + FPSTATE_XMM0
               : 0;
}

// saved_vectors_arm gives the address of v0 in the kernel's ucontext of AArch64, which
// ends in records of a magic number and a size, 4 bytes each; 0: there is none.
static uint64_t saved_vectors_arm(const struct memory_reader *memory, uint64_t context)
{
    enum { RECORDS = 464, RECORDS_BYTES = 4096, FPSIMD_V0 = 16, RECORD_MIN = 8 };
    const uint32_t fpsimd_magic = 0x46508001;
    uint32_t head[2] = { 0 };
    for (uint64_t at = 0; at <= RECORDS_BYTES - RECORD_MIN; at += head[1]) {
        uint64_t record = context + RECORDS + at;
        if (memory_read(memory, record, head, sizeof(head)) != CH_OK ||
            head[1] < RECORD_MIN)
            return 0;
        if (head[0] == fpsimd_magic)
            return record + FPSIMD_V0;
    }
    return 0;
}

static size_t vector_count(const struct capture *capture)
{
    return capture->arch->id == UNWIND_ARCH_AARCH64 ? 32 : 16;
}

uint64_t held_vectors_saved(const struct memory_reader *memory,
                            enum unwind_arch_id arch, uint64_t context)
{
    return arch == UNWIND_ARCH_AARCH64 ? saved_vectors_arm(memory, context)
                                       : saved_vectors_x86(memory, context);
}

// vectors_of_crash reads the crashed thread's vector registers.
static bool vectors_of_crash(const struct capture *capture,
                             uint8_t out[HELD_VECTORS_BYTES])
{
    uint64_t context = capture->crash->context;
    uint64_t at =
        context == 0 ? 0
                     : held_vectors_saved(&capture->reader, capture->arch->id, context);
    return at != 0 && memory_read(&capture->reader, at, out,
                                  vector_count(capture) * HELD_VECTOR_BYTES) == CH_OK;
}

// held_vectors_add appends the thread's vector registers to the capture's held file, as
// far as they can be read: where the kernel has saved them for the handler, from a
// core, or from the thread itself.
static void held_vectors_add(const struct capture *capture,
                             const struct stopped_thread *thread)
{
    const struct target_crash *crash = capture->crash;
    bool crashed = crash != NULL && crash->tid == thread->tid;
    const uint8_t *known = crashed ? crash->vectors_of : thread->vectors;
    uint8_t bytes[HELD_VECTORS_BYTES];
    if (known == NULL && crashed && crash->has_vectors)
        known = crash->vectors;
    if (known == NULL && crashed && vectors_of_crash(capture, bytes))
        known = bytes;
    if (known == NULL && !crashed && capture_is_process(capture) &&
        thread->run_state == 'R' && stop_registers_vectors(thread->tid, bytes))
        known = bytes;
    if (known != NULL)
        held_file_add_vectors(capture->held, known, vector_count(capture));
}

// hold_stack copies a stack from at on, and notes the pointers in it if pointers is not
// NULL.
static void hold_stack(struct capture *capture, uint64_t at, uint64_t end,
                       struct held_pointers *pointers)
{
    uint8_t bytes[16384];
    size_t searched = 0;
    while (at < end) {
        size_t wanted = end - at < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
        size_t got = capture->reader.read(capture->reader.source, at, bytes, wanted);
        if (got == 0 || got > wanted)
            return;
        held_file_add_memory(capture->held, at, bytes, got);
        if (pointers != NULL && searched < HELD_POINTERS_STACK)
            held_pointers_search(pointers, bytes, got);
        searched += got;
        at += got;
    }
}

// hold_pointed copies what the registers and the stack of a thread point to.
static void hold_pointed(struct capture *capture, struct held_pointers *pointers,
                         const struct unwind_registers *registers, uint64_t at,
                         uint64_t end)
{
    for (size_t i = 0; i < capture->arch->register_count; i++)
        held_pointers_note(pointers, registers->value[i]);
    hold_stack(capture, at, end, pointers);
    held_pointers_copy(pointers);
}

void held_stack_add(struct capture *capture, struct held_pointers *pointers,
                    const struct stopped_thread *from,
                    const struct unwind_registers *registers,
                    const struct backtrace_limit *frames, uint64_t stack_end)
{
    uint64_t at = registers->value[capture->arch->sp];
    const struct target_mapping *stack = images_mapping(&capture->images, at);
    if (capture->held == NULL || capture->settings->arguments == SETTING_NO ||
        stack == NULL || capture->narrow)
        return;
    bool crashed = capture->crash != NULL && from->tid == capture->crash->tid;
    const struct held_thread thread = { .tid = (uint64_t)from->tid,
                                        .arch = capture->arch,
                                        .registers = *registers,
                                        .thread_pointer =
                                            crashed ? capture->crash->thread_pointer
                                                    : from->thread_pointer };
    held_file_add_thread(capture->held, &thread);
    held_vectors_add(capture, from);
    uint64_t below = at - stack->start;
    at -= below < TARGET_BELOW_STACK ? below : TARGET_BELOW_STACK;
    uint64_t end = stack_end > at && stack_end < stack->end ? stack_end : stack->end;
    if (end - at > HELD_STACK_MAX)
        end = at + HELD_STACK_MAX;
    held_pointers_set_stack(pointers, at, end);
    if (crashed)
        held_globals_add(capture, pointers, frames, thread.thread_pointer);
    if (crashed || capture->crash == NULL)
        hold_pointed(capture, pointers, registers, at, end);
    else
        hold_stack(capture, at, end, NULL);
}

// A globals is what is to be copied: blocks of HELD_GLOBALS_BLOCK bytes, and the
// variables that begin in them.
struct globals {
    struct capture *capture;
    struct held_pointers *pointers;
    const struct target_image *image; // of the code that is searched
    uint64_t thread_pointer;          // 0: not known
    bool locals;                      // the code uses thread locals, not known which
    bool modules;                     // likewise, by the thread's table of modules
    uint64_t blocks[HELD_GLOBALS_BLOCKS];
    size_t block_count;
    uint64_t found[HELD_GLOBALS_BLOCKS];
    size_t found_count;
    uint64_t searched[HELD_GLOBALS_FRAMES][2]; // code, from and up to an address
    size_t searched_count;
};

static void globals_add_block(struct globals *g, uint64_t address)
{
    uint64_t block = address / HELD_GLOBALS_BLOCK * HELD_GLOBALS_BLOCK;
    for (size_t i = 0; i < g->block_count; i++)
        if (g->blocks[i] == block)
            return;
    if (g->block_count < HELD_GLOBALS_BLOCKS)
        g->blocks[g->block_count++] = block;
}

// globals_mapping gives the mapping of data at address; NULL: none.
static const struct target_mapping *globals_mapping(const struct globals *g,
                                                    uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(&g->capture->images, address);
    return mapping != NULL && mapping->permissions & MAPS_READ &&
                   !(mapping->permissions & MAPS_EXECUTE)
               ? mapping
               : NULL;
}

// globals_note_variable notes a variable, if the program can change what is there.
static void globals_note_variable(struct globals *g, uint64_t address)
{
    const struct target_mapping *mapping = globals_mapping(g, address);
    uint64_t word = address / sizeof(uint64_t) * sizeof(uint64_t);
    if (mapping == NULL || !(mapping->permissions & MAPS_WRITE) ||
        g->found_count == HELD_GLOBALS_BLOCKS)
        return;
    for (size_t i = 0; i < g->found_count; i++)
        if (g->found[i] == word)
            return;
    g->found[g->found_count++] = word;
    globals_add_block(g, address);
    globals_add_block(g, address + HELD_GLOBALS_BLOCK / 2);
}

// is_below returns true if thread locals are below the thread pointer, as on x86-64.
static bool is_below(const struct globals *g)
{
    return g->capture->arch->id == UNWIND_ARCH_AMD64;
}

// globals_note_entry notes the variable whose address is in an image's table of
// addresses, which is protected when the program runs.
static void globals_note_entry(struct globals *g, uint64_t entry)
{
    uint64_t word;
    if (memory_read_word(&g->capture->reader, entry, &word) != CH_OK)
        return;
    held_file_add_memory(g->capture->held, entry, &word, sizeof(word));
    globals_note_variable(g, word);
    uint64_t distance = is_below(g) ? 0 - word : word;
    if (distance != 0 && distance < HELD_LOCALS_BYTES)
        globals_add_block(g, g->thread_pointer + word);
}

// globals_note_module notes that the thread's table of modules is needed, if pair is
// what __tls_get_addr is called with: the number of a module, and an offset.
static void globals_note_module(struct globals *g, uint64_t pair)
{
    enum { MODULES_MAX = 4096 };
    uint64_t words[2];
    if (memory_read(&g->capture->reader, pair, words, sizeof(words)) != CH_OK ||
        words[0] == 0 || words[0] >= MODULES_MAX || words[1] > INT32_MAX)
        return;
    g->modules = true;
    held_file_add_memory(g->capture->held, pair, words, sizeof(words));
}

// globals_note_relative notes what the instruction whose opcode ends at code refers to
// by its distance from the next one. Only libraries have thread locals in blocks that
// their table of addresses leads to.
static void globals_note_relative(struct globals *g, const uint8_t *code,
                                  uint64_t address)
{
    enum { MOVE = 0x8b, LOAD_ADDRESS = 0x8d, TO_RDI = 0x3d };
    if (address < g->image->base || address >= g->image->end)
        return;
    const struct target_mapping *mapping = globals_mapping(g, address);
    if (mapping == NULL)
        return;
    if (mapping->permissions & MAPS_WRITE)
        globals_note_variable(g, address);
    else if (code[0] == MOVE)
        globals_note_entry(g, address);
    else if (code[0] == LOAD_ADDRESS && code[1] == TO_RDI && g->image->entry == 0)
        globals_note_module(g, address);
}

// globals_note_local notes the thread local of an instruction that begins with the
// prefix of fs: at a distance from the thread pointer, or not known which.
static void globals_note_local(struct globals *g, const uint8_t *code)
{
    enum { WIDE_MASK = 0xf0, WIDE = 0x40, NO_BASE = 0x25, MODE_MASK = 0xc7, SIB = 4 };
    size_t at = (code[1] & WIDE_MASK) == WIDE ? 3 : 2; // of the byte with the mode
    int32_t distance;
    memcpy(&distance, &code[at + 2], sizeof(distance));
    if ((code[at] & MODE_MASK) != SIB || code[at + 1] != NO_BASE)
        g->locals = g->locals || code[at] < WIDE;
    else if (distance < 0 && distance > -HELD_LOCALS_BYTES)
        globals_add_block(g, g->thread_pointer + (uint64_t)(int64_t)distance);
    else
        g->locals = g->locals || distance == 0;
}

// globals_search searches size bytes of code, which are at address.
static void globals_search(struct globals *g, const uint8_t *code, size_t size,
                           uint64_t address)
{
    enum {
        MODE_MASK = 0xc7,
        PC_RELATIVE = 5,
        FIXED_END = 1 << 30,
        FS = 0x64,
        LONG = 9
    };
    bool fixed = address < FIXED_END;
    int32_t word;
    for (size_t at = 1; at + LONG <= size; at++) {
        memcpy(&word, &code[at + 1], sizeof(word));
        uint64_t next = address + at + 1 + sizeof(word);
        if ((code[at] & MODE_MASK) == PC_RELATIVE)
            globals_note_relative(g, &code[at - 1], next + (uint64_t)(int64_t)word);
        if (fixed && word > 0 && (uint64_t)word >= g->image->base &&
            (uint64_t)word < g->image->end)
            globals_note_variable(g, (uint64_t)word);
        if (code[at] == FS && g->thread_pointer != 0)
            globals_note_local(g, &code[at]);
    }
}

// globals_note_address notes what an address that code of AArch64 makes refers to. In
// what the program cannot write are tables of addresses, and descriptors of thread
// locals, whose second word is a distance.
static void globals_note_address(struct globals *g, uint64_t address)
{
    const struct target_mapping *mapping = globals_mapping(g, address);
    if (mapping == NULL || address < g->image->base || address >= g->image->end)
        return;
    if (mapping->permissions & MAPS_WRITE) {
        globals_note_variable(g, address);
        return;
    }
    globals_note_entry(g, address);
    globals_note_entry(g, address + sizeof(uint64_t));
}

// globals_search_aarch64 searches code for ADRP and the instructions that add to its
// page: ADD, and loads and stores.
static void globals_search_aarch64(struct globals *g, const uint8_t *code, size_t size,
                                   uint64_t address)
{
    enum { INSTRUCTION = 4, PAGE = 0xfff, IMMEDIATE = 0xfff };
    uint64_t pages[32] = { 0 };
    for (size_t at = 0; at + INSTRUCTION <= size; at += INSTRUCTION) {
        uint32_t word;
        memcpy(&word, &code[at], sizeof(word));
        uint64_t base = pages[word >> 5 & 31];
        uint64_t added = word >> 10 & IMMEDIATE;
        bool vector = word & 1u << 26;
        unsigned scale = vector && word & 1u << 23 ? 4 : word >> 30;
        if ((word & 0x9f000000) == 0x90000000) { // ADRP
            int64_t distance = (int64_t)((uint64_t)(word >> 5 & 0x7ffff) << 45) >> 43 |
                               (word >> 29 & 3);
            pages[word & 31] =
                ((address + at) & ~(uint64_t)PAGE) + ((uint64_t)distance << 12);
        } else if ((word & 0xffc00000) == 0x91000000 && base != 0) { // ADD
            globals_note_address(g, base + added);
        } else if ((word & 0x3b000000) == 0x39000000 && base != 0) {
            globals_note_address(g, base + (added << scale));
        } else if ((word & 0xffffffe0) == 0xd53bd040) { // of the thread pointer
            g->locals = true;
        }
    }
}

// globals_leave_out cuts off what was searched already, but for the instructions at its
// ends, which belong together.
static void globals_leave_out(const struct globals *g, uint64_t *from, uint64_t *end)
{
    enum { TOGETHER_BYTES = 64 };
    for (size_t i = 0; i < g->searched_count; i++) {
        const uint64_t *known = g->searched[i];
        if (*from >= known[0] && *from + TOGETHER_BYTES < known[1])
            *from = known[1] - TOGETHER_BYTES;
        if (*end <= known[1] && *end > known[0] + TOGETHER_BYTES)
            *end = known[0] + TOGETHER_BYTES;
    }
}

static void globals_search_around(struct globals *g, uint64_t pc, uint64_t before,
                                  uint64_t after)
{
    uint8_t code[HELD_GLOBALS_BEFORE + HELD_GLOBALS_AFTER];
    const struct memory_reader *reader = &g->capture->reader;
    const struct target_mapping *mapping = images_mapping(&g->capture->images, pc);
    g->image = images_find(&g->capture->images, pc);
    if (mapping == NULL || !(mapping->permissions & MAPS_EXECUTE) || g->image == NULL)
        return;
    uint64_t from = pc - mapping->start < before ? mapping->start : pc - before;
    uint64_t end = mapping->end - pc < after ? mapping->end : pc + after;
    globals_leave_out(g, &from, &end);
    if (from >= end)
        return;
    if (g->searched_count < HELD_GLOBALS_FRAMES) {
        g->searched[g->searched_count][0] = from;
        g->searched[g->searched_count++][1] = end;
    }
    size_t size = memory_read_part(reader, from, code, (size_t)(end - from));
    if (is_below(g))
        globals_search(g, code, size, from);
    else
        globals_search_aarch64(g, code, size, from);
}

static bool globals_is_system(const struct globals *g, uint64_t pc)
{
    char path[256];
    const struct target_image *image = images_find(&g->capture->images, pc);
    if (image == NULL)
        return true;
    size_t size = image->path_size < sizeof(path) ? image->path_size : sizeof(path) - 1;
    memcpy(path, image->path, size);
    path[size] = 0;
    return system_image(path);
}

// globals_search_frames searches the code of the innermost frames. Of the system's code
// only that at the pc of the first counts, for what led to the fault.
static void globals_search_frames(struct globals *g,
                                  const struct backtrace_limit *frames)
{
    uint64_t found[HELD_GLOBALS_FRAMES];
    uint64_t fetched[3 * HELD_GLOBALS_FRAMES];
    size_t count = 0;
    size_t fetched_count = 0;
    size_t depth = backtrace_limit_count(frames);
    depth = depth < HELD_GLOBALS_DEPTH ? depth : HELD_GLOBALS_DEPTH;
    for (size_t i = 0; i < depth && count < HELD_GLOBALS_FRAMES; i++) {
        const struct backtrace_entry entry = backtrace_limit_entry(frames, i);
        uint64_t pc = entry.frame.address;
        if (entry.kind != BACKTRACE_FRAME)
            break;
        bool system = globals_is_system(g, pc);
        if (system && i == 0)
            globals_search_around(g, pc, HELD_GLOBALS_SYSTEM, HELD_GLOBALS_SYSTEM);
        if (system)
            continue;
        found[count++] = pc;
        fetched[fetched_count++] = pc - HELD_GLOBALS_BEFORE;
        fetched[fetched_count++] = pc;
        fetched[fetched_count++] = pc + HELD_GLOBALS_AFTER;
    }
    memory_fetch(&g->capture->reader, fetched, fetched_count);
    for (size_t i = 0; i < count; i++)
        globals_search_around(g, found[i], HELD_GLOBALS_BEFORE, HELD_GLOBALS_AFTER);
}

// globals_add_locals notes the thread locals: those of the images that the program was
// started with are below the thread pointer, or above it on AArch64.
static void globals_add_locals(struct globals *g)
{
    const struct target_mapping *mapping = globals_mapping(g, g->thread_pointer);
    if (mapping == NULL)
        return;
    uint64_t room = is_below(g) ? g->thread_pointer - mapping->start
                                : mapping->end - 1 - g->thread_pointer;
    room = room < HELD_LOCALS_BYTES ? room : HELD_LOCALS_BYTES;
    for (uint64_t at = 0; at <= room; at += HELD_GLOBALS_BLOCK)
        globals_add_block(g, is_below(g) ? g->thread_pointer - at
                                         : g->thread_pointer + at);
}

// globals_copy_modules copies the thread's table of modules, and notes the blocks that
// it leads to.
static void globals_copy_modules(struct globals *g)
{
    uint64_t words[2 * HELD_LOCALS_MODULES];
    uint64_t place = g->thread_pointer + sizeof(words[0]);
    uint64_t table;
    if (memory_read_word(&g->capture->reader, place, &table) != CH_OK ||
        memory_read(&g->capture->reader, table, words, sizeof(words)) != CH_OK)
        return;
    held_file_add_memory(g->capture->held, place, &table, sizeof(table));
    held_file_add_memory(g->capture->held, table, words, sizeof(words));
    for (size_t i = 2; i < 2 * HELD_LOCALS_MODULES; i += 2)
        if (g->thread_pointer - words[i] > HELD_LOCALS_BYTES)
            held_pointers_note(g->pointers, words[i]);
}

static int globals_compare(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *other = b;
    return (*one > *other) - (*one < *other);
}

// globals_copy copies the blocks, and searches the variables in them for pointers.
static void globals_copy(struct globals *g)
{
    uint8_t bytes[HELD_GLOBALS_BLOCK];
    const struct memory_reader *reader = &g->capture->reader;
    for (size_t i = 0; i < g->block_count; i += TARGET_FETCH_BLOCKS) {
        size_t left = g->block_count - i;
        memory_fetch(reader, &g->blocks[i],
                     left < TARGET_FETCH_BLOCKS ? left : TARGET_FETCH_BLOCKS);
    }
    for (size_t i = 0; i < g->block_count; i++) {
        size_t got = reader->read(reader->source, g->blocks[i], bytes, sizeof(bytes));
        if (got != 0 && got <= sizeof(bytes))
            held_file_add_memory(g->capture->held, g->blocks[i], bytes, got);
    }
    if (g->found_count != 0)
        qsort(g->found, g->found_count, sizeof(g->found[0]), globals_compare);
    uint64_t searched = 0; // everything up to here
    for (size_t i = 0; i < g->found_count; i++) {
        uint64_t from = g->found[i] > searched ? g->found[i] : searched;
        searched = g->found[i] + HELD_GLOBALS_SEARCHED;
        size_t wanted = (size_t)(searched - from);
        size_t got = reader->read(reader->source, from, bytes, wanted);
        held_pointers_search(g->pointers, bytes, got < wanted ? got : wanted);
    }
}

void held_globals_add(struct capture *capture, struct held_pointers *pointers,
                      const struct backtrace_limit *frames, uint64_t thread_pointer)
{
    struct globals globals = { .capture = capture,
                               .pointers = pointers,
                               .thread_pointer = thread_pointer };
    if (capture->arch->id != UNWIND_ARCH_AMD64 &&
        capture->arch->id != UNWIND_ARCH_AARCH64)
        return;
    globals_search_frames(&globals, frames);
    globals.locals = globals.locals || globals.modules;
    if (globals.locals && thread_pointer != 0)
        globals_add_locals(&globals);
    globals_copy(&globals);
    if (globals.modules && thread_pointer != 0)
        globals_copy_modules(&globals);
}
