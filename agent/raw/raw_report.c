// SPDX-License-Identifier: Apache-2.0
//
// How it works: raw_report_write examines the crash, then streams one JSON object to
// the descriptor, in this order: head (times, process, host, crash), threads, images,
// memory around registers, fingerprint, flight events, surroundings, problems, agent.
// Nothing is kept as a tree, and the process is held all the while.
//
// The order matters:
// - first_fault_find and trap_place_correct may change capture->crash, so they are
//   called before crash_examine.
// - Threads are written before images, because frames decide which images are listed
//   and which number each gets (raw_threads_write, write_raw_images).
// - The fingerprint needs the frames of the crashed thread, so it follows the threads.
// - Problems come late, because every earlier part may add one.
// - The times come last; that of reading the process is subtracted from the rest.
//
// Invariant: a member that cannot be read is left out, and a problem says why. The
// report is valid JSON whatever fails; only a failed write ends it
// (json_writer_finish).
#include "agent/raw/raw_report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/facts/context.h"
#include "agent/facts/first_fault.h"
#include "agent/facts/raw_write.h"
#include "agent/facts/surroundings.h"
#include "agent/facts/termination.h"
#include "agent/facts/watch.h"
#include "agent/flight/flight_report.h"
#include "agent/live/capture.h"
#include "agent/messages/unwritten.h"
#include "agent/raw/crash_examine.h"
#include "agent/raw/raw_memory.h"
#include "agent/raw/raw_sampled_heap.h"
#include "agent/raw/raw_threads.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/system/rights.h"
#include "formats/debug/maps.h"
#include "formats/interchange/image_map.h"
#include "report/file/held_file.h"
#include "report/json/json_writer.h"
#include "report/secrets/sanitize.h"
#include "report/summary/crash_kind.h"
#include "report/summary/signal_name.h"
#include "report/summary/system_call_name.h"

// Where a trap was raised. The processor executes a breakpoint instruction before it
// reports it, so that the saved pc is after the instruction, perhaps in the next
// function: a breakpoint that compilers put after a call that does not return is often
// the last byte of its function.

// length_before gives the length of the breakpoint instruction that ends at pc; 0: none
// does. These are int3, icebp, and int3 as a software interrupt (Intel SDM volume 2).
static uint64_t length_before(const struct memory_reader *reader, uint64_t pc)
{
    static const struct {
        uint8_t bytes[2];
        uint8_t size;
    } breakpoints[] = { { { 0xcd, 0x03 }, 2 }, { { 0xcc }, 1 }, { { 0xf1 }, 1 } };
    for (size_t i = 0; i < sizeof(breakpoints) / sizeof(breakpoints[0]); i++) {
        uint8_t before[2];
        size_t size = breakpoints[i].size;
        if (memory_read(reader, pc - size, before, size) == CH_OK &&
            memcmp(before, breakpoints[i].bytes, size) == 0)
            return size;
    }
    return 0;
}

// trap_place_correct moves the pc of a crash by a breakpoint instruction of x86-64 back
// to that instruction. It leaves other crashes, and traps after anything else, alone.
static void trap_place_correct(struct capture *capture)
{
    const struct target_crash *crash = capture->crash;
    // SI_KERNEL is int3's code; single steps and hardware breakpoints have their own.
    if (crash == NULL || crash->signal_only || crash->info.si_signo != SIGTRAP ||
        (crash->info.si_code != SI_KERNEL && crash->info.si_code != TRAP_BRKPT) ||
        capture->arch->id != UNWIND_ARCH_AMD64)
        return;
    struct target_crash corrected = *crash;
    uint64_t *pc = &corrected.registers.value[capture->arch->pc];
    uint64_t length = length_before(&capture->reader, *pc);
    if (length == 0)
        return;
    *pc -= length;
    capture->first = corrected;
    capture->crash = &capture->first;
}

// The member `crash` of the raw report: the kind, the facts, the libraries' messages,
// and what the free phase needs to add more, such as the bytes of the instruction that
// failed.

// write_thrown writes the stack that the exception was thrown with.
static void write_thrown(struct json_writer *w, const struct thrown_stack *thrown)
{
    char base64[BASE64_SIZE(THROW_CBF_BYTES)];
    if (thrown->size == 0)
        return;
    base64_encode(thrown->cbf, thrown->size, base64);
    json_write_key(w, "backtrace");
    json_write_object(w);
    raw_write_count(w, "thread", (uint64_t)thrown->tid);
    json_write_key(w, "cbf");
    json_write_plain(w, base64);
    json_write_end(w, '}');
}

static void write_exception(struct json_writer *w, const struct capture *capture,
                            const struct crash_examination *crash)
{
    const struct crash_facts *facts = &crash->facts;
    if (facts->message != NULL || facts->exception_type == NULL)
        return;
    json_write_key(w, "exception");
    json_write_object(w);
    raw_write_string(w, "type", facts->exception_type);
    raw_write_words(w, capture, "what", facts->exception_what);
    if (crash->exception.nested_count != 0) {
        json_write_key(w, "nested");
        json_write_array(w);
    }
    for (size_t i = 0; i < crash->exception.nested_count; i++) {
        json_write_object(w);
        raw_write_string(w, "type", facts->nested[i].type);
        raw_write_words(w, capture, "what", facts->nested[i].what);
        json_write_end(w, '}');
    }
    if (crash->exception.nested_count != 0)
        json_write_end(w, ']');
    write_thrown(w, &crash->thrown);
    json_write_end(w, '}');
}

static void write_heap_event(struct json_writer *w, const char *key,
                             const struct heap_event *event,
                             const struct crash_heap_event *facts)
{
    if (facts->thread == 0)
        return;
    json_write_key(w, key);
    json_write_object(w);
    raw_write_count(w, "thread", facts->thread);
    raw_write_string(w, "thread_name", facts->name);
    raw_write_string(w, "by", facts->by);
    if (facts->age_ms != CRASH_HEAP_NO_AGE) {
        raw_write_time(w, "time", event->realtime_ns / 1000000);
        raw_write_count(w, "age_ms", (uint64_t)facts->age_ms);
    }
    if (event->cbf_size != 0)
        raw_sampled_heap_write_backtrace(w, event);
    json_write_end(w, '}');
}

// write_heap writes the guarded block that was misused, and its stacks.
static void write_heap(struct json_writer *w, const struct crash_examination *crash)
{
    const struct crash_heap *heap = &crash->facts.heap;
    if (heap->kind == CRASH_KIND_NONE)
        return;
    json_write_key(w, "heap");
    json_write_object(w);
    json_write_key(w, "block");
    json_write_object(w);
    raw_write_address(w, "address", heap->block);
    raw_write_count(w, "size", heap->size);
    json_write_key(w, "offset");
    json_write_int(w, (int64_t)(heap->address - heap->block));
    json_write_end(w, '}');
    raw_write_address(w, "address", heap->address);
    raw_write_string(w, "found_by", heap->found_by);
    write_heap_event(w, "allocated", &crash->heap.block.allocated, &heap->allocated);
    write_heap_event(w, "freed", &crash->heap.block.freed, &heap->freed);
    json_write_end(w, '}');
}

static void write_sender(struct json_writer *w, const struct crash_facts *facts)
{
    if (!facts->sent)
        return;
    json_write_key(w, "sender");
    json_write_object(w);
    raw_write_count(w, "pid", (uint64_t)facts->sender);
    raw_write_count(w, "uid", facts->sender_user);
    raw_write_string(w, "name", facts->sender_name);
    if (facts->sender == facts->pid && facts->had_children) {
        json_write_key(w, "had_children");
        json_write_bool(w, true);
    }
    json_write_end(w, '}');
}

static void write_crash_memory(struct json_writer *w, const struct crash_memory *memory)
{
    if (memory->limit == NULL)
        return;
    json_write_key(w, "memory_limit");
    json_write_object(w);
    raw_write_string(w, "name", memory->limit);
    raw_write_count(w, "limit_bytes", memory->limit_bytes);
    raw_write_count(w, "used_bytes", memory->used_bytes);
    json_write_end(w, '}');
}

// write_instruction writes what a disassembler needs later, in the free phase.
static void write_instruction(struct json_writer *w, const struct capture *capture,
                              const struct crash_examination *crash)
{
    char hex[2 * CRASH_INSTRUCTION_BYTES + 1];
    if (!crash_has_address(&crash->facts) && crash->instruction_size == 0)
        return;
    hex_encode(crash->instruction, crash->instruction_size, hex);
    json_write_key(w, "instruction");
    json_write_object(w);
    raw_write_address(w, "address", crash->facts.pc);
    raw_write_string(w, "arch", capture->arch->name);
    raw_write_string(w, "bytes", hex);
    if (crash->has_stack_top)
        raw_write_address(w, "stack_top", crash->stack_top);
    json_write_end(w, '}');
}

// write_operation writes the kind of access that the processor reported.
static void write_operation(struct json_writer *w, const struct crash_facts *facts)
{
    static const char *const names[] = { [CRASH_ACCESS_READ] = "read",
                                         [CRASH_ACCESS_WRITE] = "write",
                                         [CRASH_ACCESS_EXECUTE] = "execute" };
    if (!crash_has_address(facts) || facts->access == CRASH_ACCESS_UNKNOWN)
        return;
    json_write_key(w, "access");
    json_write_object(w);
    raw_write_string(w, "operation", names[facts->access]);
    json_write_end(w, '}');
}

// write_region writes what is mapped at the fault's address.
static void write_region(struct json_writer *w, const struct capture *capture,
                         const struct crash_facts *facts)
{
    const struct crash_place *place = &facts->address_place;
    char permissions[4] = { place->readable ? 'r' : '-', place->writable ? 'w' : '-',
                            place->executable ? 'x' : '-', 0 };
    if (!crash_has_address(facts) || facts->general_protection)
        return;
    json_write_key(w, "region");
    json_write_object(w);
    raw_write_string(w, "state",
                     place->mapped     ? "mapped"
                     : place->unmapped ? "unmapped"
                                       : "free");
    if (place->mapped)
        raw_write_string(w, "permissions", permissions);
    if (place->path_size != 0)
        raw_write_path(w, capture, "path", place->path, place->path_size);
    json_write_end(w, '}');
}

static void write_fault_stack(struct json_writer *w, const struct crash_facts *facts)
{
    if (!crash_has_address(facts) || facts->stack.end <= facts->stack.start)
        return;
    json_write_key(w, "stack");
    json_write_object(w);
    raw_write_address(w, "start", facts->stack.start);
    raw_write_address(w, "end", facts->stack.end);
    if (facts->stack.grows) {
        json_write_key(w, "grows");
        json_write_bool(w, true);
    }
    if (facts->stack.limit_bytes != 0)
        raw_write_count(w, "limit_bytes", facts->stack.limit_bytes);
    json_write_end(w, '}');
}

// write_way writes that a return led to where no code is.
static void write_way(struct json_writer *w, const struct crash_facts *facts)
{
    if (facts->way != CRASH_WAY_RETURN)
        return;
    json_write_key(w, "target");
    json_write_object(w);
    raw_write_string(w, "by", "return");
    raw_write_address(w, "address", facts->way_address);
    json_write_end(w, '}');
}

static void write_system_call(struct json_writer *w, const struct crash_facts *facts)
{
    if (facts->signal != SIGSYS)
        return;
    json_write_key(w, "system_call");
    json_write_object(w);
    json_write_key(w, "number");
    json_write_int(w, facts->system_call);
    raw_write_address(w, "machine", facts->system_call_machine);
    raw_write_string(w, "name",
                     system_call_name(facts->system_call_machine, facts->system_call));
    json_write_end(w, '}');
}

// write_chunk writes the chunk of the heap that is damaged.
static void write_chunk(struct json_writer *w, const struct crash_chunk *chunk)
{
    if (chunk->address == 0)
        return;
    json_write_key(w, "chunk");
    json_write_object(w);
    raw_write_address(w, "address", chunk->address);
    raw_write_string(w, "field", chunk->field);
    if (chunk->size != 0)
        raw_write_count(w, "size", chunk->size);
    raw_write_address(w, "value", chunk->value);
    if (chunk->is_text) {
        json_write_key(w, "is_text");
        json_write_bool(w, true);
    }
    raw_write_string(w, "text", chunk->text);
    if (chunk->before != 0) {
        json_write_key(w, "before");
        json_write_object(w);
        raw_write_address(w, "address", chunk->before);
        raw_write_count(w, "size", chunk->before_size);
        raw_write_string(w, "text", chunk->before_text);
        if (chunk->runs_on) {
            json_write_key(w, "runs_on");
            json_write_bool(w, true);
        }
        json_write_end(w, '}');
    }
    json_write_end(w, '}');
}

// write_then writes what the program's own handler did about the crash.
static void write_then(struct json_writer *w, const struct target_crash *crash)
{
    const siginfo_t *then = &crash->then;
    if (then->si_signo == 0 && !crash->exits)
        return;
    json_write_key(w, "then");
    json_write_array(w);
    json_write_object(w);
    if (then->si_signo != 0) {
        raw_write_count(w, "signal", (uint64_t)then->si_signo);
        raw_write_string(w, "name", signal_name(then->si_signo));
        json_write_key(w, "code");
        json_write_int(w, then->si_code);
        if (then->si_code > 0)
            raw_write_address(w, "address", (uint64_t)(uintptr_t)then->si_addr);
    } else {
        json_write_key(w, "exit_status");
        json_write_int(w, crash->exit_status);
    }
    json_write_end(w, '}');
    json_write_end(w, ']');
}

// raw_crash_write writes the member from the examination of capture's crash.
static void raw_crash_write(struct json_writer *w, const struct capture *capture,
                            const struct crash_examination *crash)
{
    const struct crash_facts *facts = &crash->facts;
    json_write_key(w, "crash");
    json_write_object(w);
    raw_write_count(w, "signal", (uint64_t)facts->signal);
    raw_write_string(w, "name", signal_name(facts->signal));
    json_write_key(w, "code");
    json_write_int(w, facts->code);
    if (!facts->signal_only)
        raw_write_string(w, "code_name", signal_code_name(facts->signal, facts->code));
    // The kernel reports 0 where the processor gave no address.
    if (crash_has_address(facts) && !facts->general_protection)
        raw_write_address(w, "address", facts->address);
    if (crash_kind(facts) == CRASH_KIND_PROTECTION_KEY)
        raw_write_count(w, "protection_key", capture->crash->info.si_pkey);
    if (capture->crash->has_memory_tag)
        raw_write_count(w, "memory_tag", capture->crash->memory_tag);
    if (facts->signal_only) {
        json_write_key(w, "signal_only");
        json_write_bool(w, true);
    }
    raw_write_count(w, "thread", (uint64_t)capture->crash->tid);
    raw_write_string(w, "kind", crash_kind_word(crash_kind(facts)));
    if (capture->termination != NULL)
        termination_write(w, capture);
    raw_write_words(w, capture, "message", facts->message);
    write_exception(w, capture, crash);
    write_heap(w, crash);
    write_chunk(w, &facts->chunk);
    write_sender(w, facts);
    write_crash_memory(w, &facts->memory);
    write_operation(w, facts);
    write_region(w, capture, facts);
    write_fault_stack(w, facts);
    write_way(w, facts);
    write_system_call(w, facts);
    write_instruction(w, capture, crash);
    raw_pointers_write(w, capture);
    origins_write(w, capture, &crash->origins);
    waits_write(w, crash->waits);
    unwritten_write(w, capture);
    write_then(w, capture->crash);
    json_write_end(w, '}');
}

static void write_process_arguments(struct json_writer *w,
                                    const struct capture *capture)
{
    const struct text *all = &capture->process.arguments;
    struct sanitize_arguments line = { .home = capture->home };
    struct text masked = { 0 };

    json_write_key(w, "arguments");
    json_write_array(w);
    for (size_t at = 0; at < all->size; at += strlen(all->bytes + at) + 1) {
        const char *argument = all->bytes + at;
        text_clear(&masked);
        if (capture->settings->sanitize != SETTING_NO)
            sanitize_argument(&line, argument, &masked);
        else
            text_append_string(&masked, argument);
        if (text_ok(&masked))
            json_write_string(w, masked.bytes != NULL ? masked.bytes : "");
    }
    json_write_end(w, ']');
    text_deinit(&masked);
}

static void write_ancestors(struct json_writer *w, pid_t parent)
{
    pid_t ancestors[FACTS_ANCESTORS];
    size_t count = facts_read_ancestors(parent, ancestors);
    json_write_key(w, "ancestors");
    json_write_array(w);
    for (size_t i = 0; i < count; i++)
        json_write_int(w, ancestors[i]);
    json_write_end(w, ']');
}

// write_read_as writes which rights to read files with, if those are fewer than ours.
static void write_read_as(struct json_writer *w)
{
    const struct rights *rights = rights_applied();
    if (rights == NULL)
        return;
    json_write_key(w, "read_as");
    json_write_object(w);
    raw_write_count(w, "uid", rights->user);
    raw_write_count(w, "gid", rights->group);
    raw_write_count(w, "capabilities", rights->capabilities);
    json_write_key(w, "groups");
    json_write_array(w);
    for (size_t i = 0; i < rights->group_count; i++)
        json_write_uint(w, rights->groups[i]);
    json_write_end(w, ']');
    json_write_end(w, '}');
}

static void write_process(struct json_writer *w, const struct capture *capture)
{
    const struct process_facts *p = &capture->process;
    json_write_key(w, "process");
    json_write_object(w);
    raw_write_count(w, "pid", (uint64_t)p->pid);
    raw_write_count(w, "ppid", (uint64_t)p->ppid);
    if (capture->stop.count != 0)
        write_ancestors(w, p->ppid);
    raw_write_path(w, capture, "executable", p->executable.bytes, p->executable.size);
    if (p->executable_deleted) {
        json_write_key(w, "executable_deleted");
        json_write_bool(w, true);
    }
    write_process_arguments(w, capture);
    if (p->started_ms != 0) {
        raw_write_time(w, "started", p->started_ms);
        raw_write_count(w, "uptime_ms", p->uptime_ms);
    }
    if (p->rss_bytes != 0)
        raw_write_count(w, "rss_bytes", p->rss_bytes);
    if (capture->termination != NULL)
        termination_write_memory(w, capture->termination);
    raw_write_count(w, "uid", p->uid);
    write_read_as(w);
    raw_write_string(w, "cgroup", p->cgroup.bytes);
    raw_write_path(w, capture, "working_directory", p->working_directory.bytes,
                   p->working_directory.size);
    json_write_end(w, '}');
}

static void write_raw_host(struct json_writer *w, const struct capture *capture)
{
    const struct host_facts *h = &capture->host;
    json_write_key(w, "host");
    json_write_object(w);
    raw_write_string(w, "hostname", h->names.nodename);
    raw_write_string(w, "kernel", h->names.release);
    raw_write_string(w, "os", h->os.bytes);
    raw_write_string(w, "arch", h->names.machine);
    if (h->cpus != 0)
        raw_write_count(w, "cpus", h->cpus);
    if (h->memory_bytes != 0)
        raw_write_count(w, "memory_bytes", h->memory_bytes);
    raw_write_string(w, "container", h->container.bytes);
    json_write_end(w, '}');
}

static const char *base_name(const struct target_image *image, size_t *out_size)
{
    const char *slash = memrchr(image->path, '/', image->path_size);
    const char *name = slash != NULL ? slash + 1 : image->path;
    *out_size = image->path_size - (size_t)(name - image->path);
    return name;
}

static void write_raw_image(struct json_writer *w, const struct capture *capture,
                            const struct target_image *image)
{
    char build_id[2 * IMAGE_BUILD_ID_MAX + 1];
    size_t name_size;
    const char *name = base_name(image, &name_size);

    json_write_object(w);
    json_write_key(w, "name");
    json_write_bytes(w, name, name_size);
    raw_write_path(w, capture, "path", image->path, image->path_size);
    hex_encode(image->build_id, image->build_id_size, build_id);
    raw_write_string(w, "build_id", build_id);
    raw_write_address(w, "base", image->base);
    raw_write_address(w, "end_of_text", image->end_of_text);
    json_write_key(w, "has_sframe");
    json_write_bool(w, image->sframe_size != 0);
    if (image->deleted) {
        json_write_key(w, "deleted");
        json_write_bool(w, true);
    }
    json_write_end(w, '}');
}

// append_image_map encodes the listed images; paths are masked, as in `images`.
static enum ch_status append_image_map(const struct capture *capture,
                                       const struct raw_threads *threads,
                                       struct text *map)
{
    struct image_map_writer writer;
    struct text path = { 0 };
    struct text copy = { 0 };
    const char *platform = capture->host.os.size != 0 && capture->host.os.size < 256
                               ? capture->host.os.bytes
                               : "Linux";
    enum ch_status status =
        image_map_writer_init(&writer, map, 64, platform, threads->image_count);
    for (size_t i = 0; status == CH_OK && i < threads->image_count; i++) {
        const struct target_image *image = &capture->images.images[threads->images[i]];
        text_clear(&path);
        text_clear(&copy);
        text_append(&copy, image->path, image->path_size);
        sanitize_path(copy.bytes, capture->home, &path);
        struct image_map_image entry = {
            .path = path.bytes,
            .path_size = path.size,
            .build_id = image->build_id_size != 0 ? image->build_id : NULL,
            .build_id_size = image->build_id_size,
            .base = image->base,
            .end_of_text = image->end_of_text,
        };
        status = image_map_write(&writer, &entry);
    }
    image_map_writer_deinit(&writer);
    text_deinit(&path);
    text_deinit(&copy);
    return status;
}

static void write_image_map(struct json_writer *w, struct capture *capture,
                            const struct raw_threads *threads)
{
    struct text map = { 0 };
    char *base64 = NULL;
    if (append_image_map(capture, threads, &map) == CH_OK && text_ok(&map))
        base64 = malloc(BASE64_SIZE(map.size));
    if (base64 != NULL) {
        base64_encode(map.bytes, map.size, base64);
        json_write_key(w, "image_map");
        json_write_plain(w, base64);
    } else {
        capture_problem(capture, "image_map", "not encoded", 0);
    }
    free(base64);
    text_deinit(&map);
}

static void write_raw_images(struct json_writer *w, struct capture *capture,
                             const struct raw_threads *threads)
{
    json_write_key(w, "images");
    json_write_array(w);
    for (size_t i = 0; i < threads->image_count; i++)
        write_raw_image(w, capture, &capture->images.images[threads->images[i]]);
    flight_images_write(w, capture);
    json_write_end(w, ']');
    if (threads->image_count != 0)
        write_image_map(w, capture, threads);
}

static void write_raw_problems(struct json_writer *w, const struct capture *capture)
{
    json_write_key(w, "problems");
    json_write_array(w);
    for (size_t i = 0; i < capture->problem_count; i++) {
        const struct capture_problem *problem = &capture->problems[i];
        json_write_object(w);
        raw_write_string(w, "stage", problem->stage);
        raw_write_string(w, "status", problem->status);
        if (problem->address != 0)
            raw_write_address(w, "address", problem->address);
        json_write_end(w, '}');
    }
    json_write_end(w, ']');
}

static void write_raw_agent(struct json_writer *w, const struct capture *capture)
{
    const struct capture_timings *t = &capture->timings;
    json_write_key(w, "agent");
    json_write_object(w);
    raw_write_string(w, "version", CRASHHOOK_VERSION);
    raw_write_string(w, "tier", capture_tier(capture));
    json_write_key(w, "timings_us");
    json_write_object(w);
    raw_write_count(w, "spawn", t->spawn_us);
    raw_write_count(w, "attach", t->attach_us);
    raw_write_count(w, "capture", t->capture_us);
    raw_write_count(w, "unwind", t->unwind_us);
    raw_write_count(w, "write", t->write_us);
    json_write_end(w, '}');
    json_write_end(w, '}');
}

// write_telemetry writes what the program's environment, and the context that it
// publishes (otel_context.h), say of it to OpenTelemetry:
// reports are often sent by another process, which has another environment.
static void write_telemetry(struct json_writer *w, const struct capture *capture,
                            const struct otel_context *otel)
{
    static const char *const variables[][2] = {
        { "service", "OTEL_SERVICE_NAME" },
        { "attributes", "OTEL_RESOURCE_ATTRIBUTES" },
        { "traceparent", "TRACEPARENT" },
    };
    bool any = otel->payload.size != 0;
    if (any) {
        json_write_key(w, "telemetry");
        json_write_object(w);
        otel_context_write(w, capture, otel);
    }
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i][1]);
        if (value == NULL || value[0] == 0)
            continue;
        if (!any) {
            json_write_key(w, "telemetry");
            json_write_object(w);
        }
        any = true;
        raw_write_words(w, capture, variables[i][0], value);
    }
    if (any)
        json_write_end(w, '}');
}

static void write_raw_head(struct json_writer *w, const struct capture *capture,
                           const struct crash_examination *crash,
                           const struct waits *waits, const char *id,
                           const struct otel_context *otel)
{
    const struct settings *settings = capture->settings;
    uint64_t time_ms = capture->crash != NULL ? capture->crash->realtime_ns / 1000000
                                              : clock_now_ms(CLOCK_REALTIME);

    raw_write_string(w, "schema", "crashhook.report/2");
    raw_write_string(w, "id", id);
    raw_write_count(w, "revision", 0);
    raw_write_time(w, "time", time_ms);
    if (capture->crash != NULL)
        raw_crash_write(w, capture, crash);
    else
        waits_write(w, waits);
    write_process(w, capture);
    write_raw_host(w, capture);
    raw_write_words(w, capture, "release", settings->release);
    raw_write_words(w, capture, "environment", settings->environment);
    write_telemetry(w, capture, otel);
    context_write(w, capture);
}

static void write_fingerprint(struct json_writer *w, const struct raw_threads *threads)
{
    char key[FINGERPRINT_SIZE];
    fingerprint_finish(&threads->fingerprint, key);
    raw_write_string(w, "fingerprint", key);
}

// raw_report_note_times subtracts the time spent on unwinding and on reading the
// process from that of the whole report. Each is a sum of rounded times, so together
// they may exceed it.
static void raw_report_note_times(struct capture *capture, uint64_t all_us,
                                  uint64_t captured_us)
{
    struct capture_timings *t = &capture->timings;
    uint64_t others_us = t->unwind_us + captured_us;
    t->capture_us += captured_us;
    t->write_us = all_us > others_us ? all_us - others_us : 0;
}

// fingerprint_add_program distinguishes one program's kills from another's, where no
// frame does.
static void fingerprint_add_program(struct fingerprint *fingerprint,
                                    const struct capture *capture)
{
    const char *program = capture->process.executable.bytes;
    if (capture->gone && program != NULL)
        fingerprint_add(fingerprint, &(struct fingerprint_frame){
                                         .function = capture->termination->cause,
                                         .image = program });
}

// hold_mappings appends what was mapped to the capture's held file, joining what is
// alike: an address elsewhere leads to nothing.
static void hold_mappings(struct capture *capture)
{
    struct held_mapping joined = { 0 };
    for (size_t i = 0; i < capture->images.mapping_count; i++) {
        const struct target_mapping *from = &capture->images.mappings[i];
        unsigned permissions = from->permissions;
        const struct held_mapping mapping = {
            .start = from->start,
            .end = from->end,
            .flags = (permissions & MAPS_READ ? HELD_READ : 0) |
                     (permissions & MAPS_WRITE ? HELD_WRITE : 0) |
                     (permissions & MAPS_EXECUTE ? HELD_EXECUTE : 0) |
                     (from->inode != 0 ? HELD_OF_FILE : 0)
        };
        if (mapping.start < joined.end || mapping.end < mapping.start)
            continue; // a core's may overlap
        if (mapping.start == joined.end && mapping.flags == joined.flags) {
            joined.end = mapping.end;
            continue;
        }
        if (joined.end != 0)
            held_file_add_mapping(capture->held, &joined);
        joined = mapping;
    }
    if (joined.end != 0)
        held_file_add_mapping(capture->held, &joined);
}

// A raw_work is on the heap, because a compiler that guards the stack touches each page
// of a frame, and most of these are never used.
struct raw_work {
    struct waits waits; // its long list is after its first members
    struct crash_examination crash;
    struct raw_threads threads;
};

static void examine(struct raw_work *work, struct capture *capture)
{
    struct crash_examination *crash = &work->crash;
    (void)first_fault_find(capture, work->threads.space);
    waits_read(capture, &work->waits);
    trap_place_correct(capture);
    if (capture->crash == NULL)
        return;
    crash_examine(capture, &work->waits, crash);
    if (crash->facts.exception_type != NULL)
        thrown_stack_find(capture, crash->exception.object, &crash->thrown);
    fingerprint_init(&work->threads.fingerprint, crash->facts.signal,
                     crash_kind_word(crash_kind(&crash->facts)));
    if (capture->termination != NULL)
        fingerprint_add_program(&work->threads.fingerprint, capture);
}

static void write_raw_members(struct raw_work *work, struct json_writer *w,
                              struct capture *capture, const char *id)
{
    struct raw_threads *threads = &work->threads;
    const struct crash_examination *crash = &work->crash;
    write_raw_head(w, capture, crash, &work->waits, id, &threads->otel);
    raw_threads_write(threads, w);
    if (capture->crash != NULL && crash->heap.kind != CRASH_KIND_NONE) {
        raw_sampled_heap_list_images(threads, &crash->heap.block.allocated);
        raw_sampled_heap_list_images(threads, &crash->heap.block.freed);
    }
    raw_sampled_heap_write(threads, w);
    if (capture->held != NULL) {
        watch_copy(capture, capture->held);
        hold_mappings(capture);
    }
    write_raw_images(w, capture, threads);
    raw_memory_write(w, capture, &crash->facts.stack);
    if (capture->crash != NULL)
        write_fingerprint(w, threads);
    flight_report_write(w, capture, threads->image_count);
    surroundings_write(w, capture);
    write_raw_problems(w, capture);
}

enum ch_status raw_report_write(struct capture *capture,
                                const char id[static REPORT_ID_SIZE], int fd,
                                struct text *out)
{
    struct json_writer w;
    uint64_t begin = capture_clock_us();
    struct raw_work *work = calloc(1, sizeof(*work));
    if (work == NULL)
        return CH_ERR_NO_MEMORY;
    enum ch_status status = raw_threads_init(&work->threads, capture);
    if (status != CH_OK) {
        free(work);
        return status;
    }
    examine(work, capture);
    json_writer_init(&w, fd);
    json_write_object(&w);
    write_raw_members(work, &w, capture, id);
    raw_report_note_times(capture, capture_clock_us() - begin,
                          work->threads.capture_us);
    write_raw_agent(&w, capture);
    json_write_end(&w, '}');
    status = json_writer_finish(&w);
    if (status == CH_OK && fd < 0)
        text_append(out, w.text.bytes, w.text.size);
    json_writer_deinit(&w);
    raw_threads_deinit(&work->threads);
    free(work);
    return status;
}
