// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/facts/origin_heap.h"
#include "agent/facts/raw_write.h"
#include "agent/raw/raw_threads.h"
#include "base/hex.h"
#include "base/text.h"
#include "formats/debug/maps.h"
#include "report/secrets/sanitize.h"

// Where registers point to.

// No address that a program can have is below, or above.
#define LOWEST_ADDRESS UINT64_C(0x10000)
#define HIGHEST_ADDRESS UINT64_C(0x0000800000000000)

// is_on_stack returns true if the thread's stack pointer is in the mapping
// and address is in the stack from there on. glibc and musl have the thread's own data
// at the stack's end, at the thread pointer.
static bool is_on_stack(const struct target_mapping *mapping, uint64_t address,
                        uint64_t sp, uint64_t thread_pointer)
{
    enum { RED_ZONE_BYTES = 128 };
    bool inside = sp >= mapping->start && sp < mapping->end;
    bool bounded = thread_pointer > sp && thread_pointer < mapping->end;
    return inside && address >= sp - RED_ZONE_BYTES &&
           (!bounded || address < thread_pointer);
}

// find_stack gives the thread whose stack address is in: of several, the one whose
// stack pointer is nearest. 0: none.
static pid_t find_stack(const struct capture *capture,
                        const struct target_mapping *mapping, uint64_t address)
{
    const struct target_crash *crash = capture->crash;
    const unsigned sp = capture->arch->sp;
    uint64_t nearest = crash->registers.value[sp];
    pid_t found =
        is_on_stack(mapping, address, nearest, crash->thread_pointer) ? crash->tid : 0;
    for (size_t i = 0; i < capture->stop.count; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        uint64_t own = thread->registers.value[sp];
        if (thread->tid == crash->tid || thread->state != STOP_STOPPED ||
            (found != 0 && own < nearest) ||
            !is_on_stack(mapping, address, own, thread->thread_pointer))
            continue;
        nearest = own;
        found = thread->tid;
    }
    return found;
}

static void write_pointed_block(struct json_writer *w, const struct origin_block *block)
{
    raw_write_string(w, "to", block->freed ? "freed" : "heap");
    raw_write_address(w, "block", block->address);
    raw_write_count(w, "block_bytes", block->size);
}

static void write_target(struct json_writer *w, const struct capture *capture,
                         uint64_t address)
{
    const struct target_mapping *mapping = images_mapping(&capture->images, address);
    struct origin_block block;
    if (mapping == NULL) {
        raw_write_string(w, "to", "unmapped");
        return;
    }
    pid_t thread = find_stack(capture, mapping, address);
    if (thread != 0) {
        raw_write_string(w, "to", "stack");
        raw_write_count(w, "thread", (uint64_t)thread);
    } else if (mapping->inode != 0 && mapping->path_size != 0) {
        raw_write_string(w, "to", "file");
        raw_write_path(w, capture, "path", mapping->path, mapping->path_size);
    } else if (!capture->narrow && origin_heap_find_block(capture, address, &block)) {
        write_pointed_block(w, &block);
    } else {
        raw_write_string(w, "to", "memory");
        raw_write_path(w, capture, "path", mapping->path, mapping->path_size);
    }
    const unsigned access = mapping->permissions;
    const char permissions[4] = { access & MAPS_READ ? 'r' : '-',
                                  access & MAPS_WRITE ? 'w' : '-',
                                  access & MAPS_EXECUTE ? 'x' : '-', 0 };
    raw_write_string(w, "permissions", permissions);
}

void raw_pointers_write(struct json_writer *w, const struct capture *capture)
{
    if (capture->images.mapping_count == 0)
        return; // what was mapped is not known
    json_write_key(w, "pointers");
    json_write_array(w);
    for (size_t i = 0; i < capture->arch->register_count; i++) {
        uint64_t address = capture->crash->registers.value[i];
        const char *name = raw_register_name(capture, i);
        if (name == NULL || address < LOWEST_ADDRESS || address >= HIGHEST_ADDRESS)
            continue;
        json_write_object(w);
        raw_write_string(w, "register", name);
        raw_write_address(w, "address", address);
        write_target(w, capture, address);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

enum { BEFORE = 32, AFTER = 96, SP_AFTER = 256, WINDOW = BEFORE + SP_AFTER };
enum { SHORTEST_RUN = 4 };

// What is kept of a stack, from its innermost frame on, and of all stacks together.
enum {
    STACK_CRASHED_MAX = 256 << 10,
    STACK_OTHER_MAX = 64 << 10,
    STACKS_MAX = 4 << 20
};

// mask_run overwrites a run of characters if sanitizing would change it.
static void mask_run(uint8_t *run, size_t size, const char *home)
{
    struct text words = { 0 };
    struct text masked = { 0 };
    text_append(&words, run, size);
    if (text_ok(&words))
        sanitize_string(words.bytes, home, &masked);
    bool same = text_ok(&masked) && masked.bytes != NULL && masked.size == size &&
                memcmp(masked.bytes, run, size) == 0;
    if (!same)
        memset(run, '*', size);
    text_deinit(&words);
    text_deinit(&masked);
}

static void mask_near_secrets(uint8_t *bytes, size_t size, const char *home)
{
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && bytes[end] >= ' ' && bytes[end] < 0x7f)
            end++;
        if (end - at >= SHORTEST_RUN)
            mask_run(bytes + at, end - at, home);
        at = end + 1;
    }
}

// read_window reads the bytes around address, of which after follow it, and returns how
// many. Where the part before address is not readable, only that part is lost.
static size_t read_window(const struct capture *capture, uint64_t address, size_t after,
                          uint8_t *bytes, uint64_t *out_start)
{
    const struct memory_reader *memory = &capture->reader;
    uint64_t page = address & ~UINT64_C(4095);
    uint64_t start = address > BEFORE ? address - BEFORE : 0;
    size_t size = memory_read_part(memory, start, bytes, BEFORE + after);
    if (start + size <= address) {
        start = start < page ? page : address;
        size = memory_read_part(memory, start, bytes, BEFORE + after);
    }
    *out_start = start;
    return size;
}

static void write_window(struct json_writer *w, const struct capture *capture,
                         size_t number)
{
    uint8_t bytes[WINDOW];
    char hex[2 * WINDOW + 1];
    uint64_t start = 0;
    size_t size =
        read_window(capture, capture->crash->registers.value[number],
                    number == capture->arch->sp ? SP_AFTER : AFTER, bytes, &start);
    if (size == 0)
        return;
    if (capture->settings->sanitize != SETTING_NO)
        mask_near_secrets(bytes, size, capture->home);
    hex_encode(bytes, size, hex);
    json_write_object(w);
    raw_write_string(w, "register", raw_register_name(capture, number));
    raw_write_address(w, "address", start);
    raw_write_string(w, "bytes", hex);
    json_write_end(w, '}');
}

// write_windows writes, for each register that points to memory other than code, 32
// bytes before it and 96 from there on, of the stack pointer 256, as far as they are
// mapped.
static void write_windows(struct json_writer *w, const struct capture *capture)
{
    for (size_t i = 0; i < capture->arch->register_count; i++) {
        uint64_t address = capture->crash->registers.value[i];
        const struct target_mapping *mapping =
            images_mapping(&capture->images, address);
        if (mapping != NULL && (mapping->permissions & MAPS_EXECUTE) == 0)
            write_window(w, capture, i);
    }
}

// stack_memory is what is written of a thread's stack, from a little below sp.
struct stack_memory {
    pid_t tid;
    uint64_t sp;
    uint64_t start; // of the stack
    uint64_t end;   // 0: it is not known
};

// write_stack_memory writes up to limit bytes of the stack, and returns how many. bytes
// has room for them, and for them in hexadecimal.
static size_t write_stack_memory(struct json_writer *w, const struct capture *capture,
                                 const struct stack_memory *stack, uint8_t *bytes,
                                 size_t limit)
{
    char *hex = (char *)bytes + limit;
    uint64_t start = stack->start;
    if (stack->end == 0 || stack->sp >= stack->end)
        return 0;
    if (stack->sp > start && stack->sp - start > TARGET_BELOW_STACK)
        start = stack->sp - TARGET_BELOW_STACK;
    if (stack->end - start < limit)
        limit = (size_t)(stack->end - start);
    size_t size = memory_read_part(&capture->reader, start, bytes, limit);
    if (size == 0)
        return 0;
    if (capture->settings->sanitize != SETTING_NO)
        mask_near_secrets(bytes, size, capture->home);
    hex_encode(bytes, size, hex);
    json_write_object(w);
    raw_write_count(w, "thread", (uint64_t)stack->tid);
    raw_write_address(w, "address", start);
    raw_write_string(w, "bytes", hex);
    json_write_end(w, '}');
    return size;
}

// stack_memory_at is the mapping that sp points into.
static struct stack_memory stack_memory_at(const struct capture *capture, pid_t tid,
                                           uint64_t sp)
{
    const struct target_mapping *mapping = images_mapping(&capture->images, sp);
    struct stack_memory stack = { .tid = tid, .sp = sp };
    if (mapping != NULL) {
        stack.start = mapping->start;
        stack.end = mapping->end;
    }
    return stack;
}

// stack_memory_of_crash also knows the stack that sp has left by an overflow.
static struct stack_memory stack_memory_of_crash(const struct capture *capture,
                                                 const struct crash_stack *crashed)
{
    const struct target_crash *crash = capture->crash;
    struct stack_memory stack =
        stack_memory_at(capture, crash->tid, crash->registers.value[capture->arch->sp]);
    if (crashed->end != 0) {
        stack.start = crashed->start;
        stack.end = crashed->end;
    }
    return stack;
}

// write_stack_memories writes the stack of the crashed thread and then those of the
// others, until STACKS_MAX is reached.
static void write_stack_memories(struct json_writer *w, const struct capture *capture,
                                 const struct crash_stack *crashed)
{
    const struct target_crash *crash = capture->crash;
    struct stack_memory stack;
    size_t left = STACKS_MAX;
    uint8_t *bytes = malloc(3 * STACK_CRASHED_MAX + 1);
    if (bytes != NULL && crash != NULL) {
        stack = stack_memory_of_crash(capture, crashed);
        left -= write_stack_memory(w, capture, &stack, bytes, STACK_CRASHED_MAX);
    }
    for (size_t i = 0; bytes != NULL && i < capture->stop.count && left != 0; i++) {
        const struct stopped_thread *thread = &capture->stop.threads[i];
        if (thread->state != STOP_STOPPED ||
            (crash != NULL && thread->tid == crash->tid) ||
            (crash != NULL && capture->settings->threads == THREADS_CRASHED))
            continue;
        stack = stack_memory_at(capture, thread->tid,
                                thread->registers.value[capture->arch->sp]);
        left -= write_stack_memory(w, capture, &stack, bytes,
                                   left < STACK_OTHER_MAX ? left : STACK_OTHER_MAX);
    }
    free(bytes);
}

void raw_memory_write(struct json_writer *w, const struct capture *capture,
                      const struct crash_stack *crashed)
{
    bool windows = capture->crash != NULL && capture->settings->memory == SETTING_YES;
    bool stacks = capture->settings->stacks == SETTING_YES && !capture->narrow;
    if (!windows && !stacks)
        return;
    json_write_key(w, "memory");
    json_write_array(w);
    if (windows)
        write_windows(w, capture);
    if (stacks)
        write_stack_memories(w, capture, crashed);
    json_write_end(w, ']');
}
