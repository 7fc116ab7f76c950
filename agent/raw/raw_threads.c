// SPDX-License-Identifier: Apache-2.0
//
// How it works: raw_threads_write walks the stack of each thread and writes it at once;
// the crashed thread is first. Then it writes goroutines, and the tables of places and
// stacks (raw_stacks.h).
//
// For each thread (write_raw_thread):
//   bound_backtrace -> write_raw_registers -> unwind_thread -> held_stack_add (copies
//   the stack for the free phase) -> write_thread_stack (finds an equal stack, or adds
//   one)
//
// keep_frame, or keep_frames, receives the frames of a walk and passes them on to the
// readers of languages (raw_languages.h), which add calls of their own.
//
// A thread that runs Go may have left its goroutine's stack (find_go_switch): the walk
// then continues in the goroutine (unwind_goroutine), and its creator is appended.
//
// Invariants: t->backtrace holds one thread's frames at a time. An image gets its
// number when a frame mentions it first (image_number). The number of frames of all
// threads together is limited; what is left out is one marker with a count.
#include "agent/raw/raw_threads.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/facts/held_pointers.h"
#include "agent/facts/held_stack.h"
#include "agent/facts/raw_write.h"
#include "agent/facts/surroundings.h"
#include "agent/live/facts.h"
#include "base/hex.h"
#include "base/register_name.h"
#include "images/image_frames.h"
#include "report/file/system_image.h"
#include "unwind/unwind_types.h"

// The registers of a 32-bit program on x86-64. They are kept in the places of the wider
// ones, eax in that of rax, so that the rest of the agent needs to know nothing; unwind
// rules use i386's own numbers.

// narrow_registers_numbered gives the registers by i386's DWARF numbers.
static struct unwind_registers
narrow_registers_numbered(const struct unwind_registers *registers)
{
    // eax, ecx, edx, ebx, esp, ebp, esi, edi and eip, by the numbers of rax and so on.
    static const uint8_t places[] = { 0, 2, 1, 3, 7, 6, 4, 5, 16 };
    struct unwind_registers out = { { 0 } };
    for (size_t i = 0; i < sizeof(places); i++)
        out.value[i] = registers->value[places[i]];
    return out;
}

// narrow_register_name is the register's name; NULL: there is none at number.
static const char *narrow_register_name(size_t number)
{
    // In a 32-bit program there is no r8.
    enum { GENERAL = 8, INSTRUCTION_POINTER = 16 };
    bool there = number < GENERAL || number == INSTRUCTION_POINTER;
    return there ? register_name_amd64(number, sizeof(uint32_t)) : NULL;
}

enum { JITDUMPS_MAX = 4, JITTED_PATH_BYTES = 4096 };

// jitted_address is an address inside of the code that a place is in.
static uint64_t jitted_address(const struct raw_place *place)
{
    return place->address - (place->kind == UNWIND_KIND_RA);
}

// read_jitted_file reads one of the process's files. False: there is none.
static bool read_jitted_file(struct raw_jitted *jitted, const char *path,
                             struct text *out)
{
    struct capture *capture = jitted->capture;
    enum ch_status status = process_file_read(
        capture->process.pid, path, capture->process.uid, JITTED_FILE_BYTES, out);
    if (status == CH_ERR_LIMIT)
        capture_problem(capture, "jit", "a list of its code is too large", 0);
    return (status == CH_OK || status == CH_ERR_LIMIT) && out->size != 0;
}

// is_jitdump: the writer maps a page of the file as code, so that profilers find it.
static bool is_jitdump(const struct target_mapping *mapping)
{
    const char *slash = memrchr(mapping->path, '/', mapping->path_size);
    size_t size =
        slash != NULL ? mapping->path_size - (size_t)(slash - mapping->path) : 0;
    return size > 10 && size < JITTED_PATH_BYTES && memcmp(slash, "/jit-", 5) == 0 &&
           memcmp(slash + size - 5, ".dump", 5) == 0 &&
           mapping->path_size < JITTED_PATH_BYTES;
}

static void read_jitdumps(struct raw_jitted *jitted)
{
    const struct target_images *images = &jitted->capture->images;
    size_t found = 0;
    for (size_t i = 0; i < images->mapping_count && found < JITDUMPS_MAX; i++) {
        const struct target_mapping *mapping = &images->mappings[i];
        struct text CH_CLEANUP(text_deinit) bytes = { 0 };
        char path[JITTED_PATH_BYTES];
        if (!is_jitdump(mapping))
            continue;
        found++;
        memcpy(path, mapping->path, mapping->path_size);
        path[mapping->path_size] = 0;
        if (read_jitted_file(jitted, path, &bytes))
            jitted_read_dump(&jitted->jitted, bytes.bytes, bytes.size);
    }
}

static void read_perf_map(struct raw_jitted *jitted)
{
    struct text CH_CLEANUP(text_deinit) bytes = { 0 };
    char path[64];
    pid_t number = process_file_number(jitted->capture->process.pid);
    if (number <= 0)
        return;
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", number);
    if (read_jitted_file(jitted, path, &bytes))
        jitted_read_map(&jitted->jitted, bytes.bytes, bytes.size);
}

// find_jitted_sections is an unwind_sections_fn over struct raw_jitted.
static size_t find_jitted_sections(void *context, const struct unwind_section **out)
{
    struct raw_jitted *jitted = context;
    const struct capture *capture = jitted->capture;
    jit_descriptor_read(&jitted->debuggers, &capture->reader, &capture->images);
    return jit_descriptor_sections(&jitted->debuggers, out);
}

// raw_jitted_init has space ask for the rules of such code; capture must outlive both.
static void raw_jitted_init(struct raw_jitted *jitted, struct capture *capture,
                            struct unwind_space *space)
{
    jitted->capture = capture;
    if (!capture->narrow && !capture->reader.big_endian)
        unwind_space_set_sections(space, find_jitted_sections, jitted);
}

// raw_jitted_read looks for the names of stacks' places.
static void raw_jitted_read(struct raw_jitted *jitted, const struct raw_stacks *stacks)
{
    struct capture *capture = jitted->capture;
    if (capture->narrow)
        return;
    for (size_t i = 0; i < stacks->place_count; i++) {
        const struct raw_place *place = &stacks->places[i];
        uint64_t address = jitted_address(place);
        if (place->image == SIZE_MAX &&
            images_find(&capture->images, address) == NULL &&
            images_is_code(&capture->images, address))
            jitted_want(&jitted->jitted, address);
    }
    if (jitted->jitted.count == 0)
        return;
    for (size_t i = 0; i < capture->images.count; i++) {
        const struct target_image *image = &capture->images.images[i];
        if (memmem(image->path, image->path_size, "/libjvm.so", 10) != NULL)
            jitted->hotspot = true;
    }
    jitted_sort(&jitted->jitted);
    jit_descriptor_read(&jitted->debuggers, &capture->reader, &capture->images);
    jit_descriptor_name(&jitted->debuggers, &jitted->jitted);
    if (!capture_is_process(capture))
        return; // its files may be another process's by now
    read_jitdumps(jitted);
    read_perf_map(jitted);
}

static void raw_jitted_deinit(struct raw_jitted *jitted)
{
    jit_descriptor_deinit(&jitted->debuggers);
    jitted_deinit(&jitted->jitted);
}

static void write_jitted_part(struct json_writer *w, const char *key, const char *text,
                              size_t size)
{
    json_write_key(w, key);
    json_write_bytes(w, text, size);
}

// raw_jitted_write writes the members of a place's name, unless it has none.
static void raw_jitted_write(const struct raw_jitted *jitted, struct json_writer *w,
                             const struct raw_place *place)
{
    const struct jitted_code *code =
        place->image == SIZE_MAX ? jitted_find(&jitted->jitted, jitted_address(place))
                                 : NULL;
    if (code == NULL)
        return;
    const struct jitted_place name =
        jitted_name_split(code->name.bytes, code->name.size, jitted->hotspot);
    write_jitted_part(w, "function", name.function, name.function_size);
    if (name.language != NULL) {
        write_jitted_part(w, "raw_name", code->name.bytes, code->name.size);
        raw_write_string(w, "language", name.language);
    }
    if (name.file_size != 0)
        raw_write_path(w, jitted->capture, "file", name.file, name.file_size);
    raw_write_string(w, "source", code->source);
}

#define NOT_LISTED SIZE_MAX

void raw_thread_name(struct capture *capture, pid_t tid,
                     char out[static RAW_THREAD_NAME_SIZE])
{
    if (capture->core_name == NULL && tid == capture->process.tid) {
        snprintf(out, RAW_THREAD_NAME_SIZE, "%s", capture->process.thread_name);
        return;
    }
    if (capture->core_name == NULL) {
        thread_names_get(&capture->names, &capture->stop, tid, out);
        return;
    }
    out[0] = 0;
    if (tid ==
        (capture->core_name_tid != 0 ? capture->core_name_tid : capture->stop.pid))
        snprintf(out, RAW_THREAD_NAME_SIZE, "%s", capture->core_name);
}

static enum ch_status list_images(struct raw_threads *t)
{
    size_t count = t->capture->images.count;
    bool all = t->capture->settings->images == IMAGES_ALL;
    t->images = calloc(count + 1, sizeof(*t->images));
    t->image_number = calloc(count + 1, sizeof(*t->image_number));
    if (t->images == NULL || t->image_number == NULL)
        return CH_ERR_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        t->image_number[i] = all ? i : NOT_LISTED;
        t->images[i] = i;
    }
    t->image_count = all ? count : 0;
    return CH_OK;
}

// image_number is the image's number in the report's list, SIZE_MAX: it is not listed.
// An image that is listed when first mentioned gets its number here.
static size_t image_number(struct raw_threads *t, const struct target_image *image)
{
    size_t index = (size_t)(image - t->capture->images.images);
    if (t->image_number[index] == NOT_LISTED &&
        t->capture->settings->images != IMAGES_ALL) {
        t->image_number[index] = t->image_count;
        t->images[t->image_count++] = index;
    }
    return t->image_number[index];
}

void raw_threads_list_image(struct raw_threads *threads, uint64_t address)
{
    const struct target_image *image = images_find(&threads->capture->images, address);
    if (image != NULL)
        (void)image_number(threads, image);
}

// frame_image is the image of the frame's instruction; for a return address, that of
// the call before it, which may end one image while the return address begins the next.
static const struct target_image *frame_image(const struct raw_threads *t,
                                              const struct unwind_frame *frame)
{
    uint64_t inside = frame->address - (frame->kind == UNWIND_KIND_RA);
    return images_find(&t->capture->images, inside);
}

// find_place_image is a raw_stacks_image_fn.
static void find_place_image(void *context, struct raw_place *place)
{
    struct raw_threads *t = context;
    const struct unwind_frame frame = { .address = place->address,
                                        .kind = place->kind };
    const struct target_image *image = frame_image(t, &frame);
    if (image == NULL)
        return;
    place->image = image_number(t, image);
    place->offset = place->address - image->base;
}

// write_place_group is a raw_stacks_group_fn.
static void write_place_group(void *context, struct json_writer *w, uint32_t group)
{
    const struct raw_threads *t = context;
    raw_languages_write(&t->languages, w, group);
}

// write_place_name is a raw_stacks_name_fn.
static void write_place_name(void *context, struct json_writer *w,
                             const struct raw_place *place)
{
    const struct raw_threads *t = context;
    if (raw_languages_names(&t->languages, place->group))
        raw_languages_write_name(&t->languages, w, place->group);
    else
        raw_jitted_write(&t->jitted, w, place);
}

enum ch_status raw_threads_init(struct raw_threads *t, struct capture *capture)
{
    const struct settings *settings = capture->settings;
    t->capture = capture;
    held_pointers_init(&t->pointers, capture);
    backtrace_limit_init(&t->backtrace, settings->limit, settings->top);
    enum ch_status status = unwind_space_create(
        capture->narrow ? &unwind_arch_i386 : capture->arch, &capture->reader,
        capture->images.unwind, capture->images.count, &t->space);
    if (status == CH_OK)
        status = list_images(t);
    if (status != CH_OK) {
        raw_threads_deinit(t);
        return status;
    }
    unwind_space_set_code(t->space, images_is_code, &capture->images);
    image_frames_serve(&capture->images, t->space);
    raw_jitted_init(&t->jitted, capture, t->space);
    uint64_t begin = capture_clock_us();
    raw_languages_init(&t->languages, capture);
    otel_context_read(capture, &t->otel);
    raw_languages_serve(&t->languages, t->space);
    t->capture_us += capture_clock_us() - begin;
    t->stacks.find_image = find_place_image;
    t->stacks.write_group = write_place_group;
    t->stacks.write_name = write_place_name;
    t->stacks.context = t;
    return CH_OK;
}

void raw_threads_deinit(struct raw_threads *t)
{
    unwind_space_destroy(t->space);
    backtrace_limit_deinit(&t->backtrace);
    raw_stacks_deinit(&t->stacks);
    raw_languages_deinit(&t->languages);
    raw_jitted_deinit(&t->jitted);
    free(t->images);
    free(t->image_number);
    otel_context_deinit(&t->otel);
}

static bool keep_frame(void *context, const struct unwind_frame *frame,
                       const struct unwind_state *state)
{
    struct raw_threads *t = context;
    const struct capture *capture = t->capture;
    raw_languages_frame(&t->languages, frame, state);
    if (!backtrace_limit_add(&t->backtrace, frame))
        return false;
    t->changed = t->change.goroutine != 0 &&
                 go_switch_is_at(&capture->reader, &t->change,
                                 state->registers.value[capture->arch->sp]);
    return !t->changed;
}

// keep_frames is keep_frame for walks of which nothing needs the registers of each
// frame.
static bool keep_frames(void *context, const struct unwind_frame *frames, size_t count,
                        const struct unwind_state *state)
{
    struct raw_threads *t = context;
    raw_languages_frames(&t->languages, frames, count, state);
    return backtrace_limit_add_many(&t->backtrace, frames, count);
}

// keep_goroutine_frame is keep_frame for the stack of a goroutine. Its first frame was
// not interrupted but called, or is none.
static bool keep_goroutine_frame(void *context, const struct unwind_frame *frame,
                                 const struct unwind_state *state)
{
    struct raw_threads *t = context;
    struct unwind_frame called = *frame;
    if (!t->changed)
        return keep_frame(context, frame, state);
    t->changed = false;
    t->change.goroutine = 0; // it is left once
    called.kind = UNWIND_KIND_RA;
    if (t->change.placeholder)
        return true;
    raw_languages_frame(&t->languages, &called, state);
    return backtrace_limit_add(&t->backtrace, &called);
}

// unwind_goroutine goes on in the goroutine that the thread left for the scheduler's
// stack.
static enum unwind_end unwind_goroutine(struct raw_threads *t)
{
    struct capture *capture = t->capture;
    struct unwind_registers registers = { 0 };
    const struct target_mapping *stack = images_mapping(&capture->images, t->change.sp);
    unwind_space_set_shadow(t->space, NULL);
    registers.value[UNWIND_PC] = t->change.pc;
    registers.value[UNWIND_SP] = t->change.sp;
    registers.value[UNWIND_FP] = t->change.fp;
    if (stack != NULL)
        target_memory_set_stack(&capture->memory, stack->start, stack->end);
    return unwind_walk(t->space, &registers, capture->settings->unwind,
                       keep_goroutine_frame, t);
}

// find_go_switch finds where the thread left a goroutine's stack. Most processes run no
// Go: after some threads without a goroutine the others are not searched.
static void find_go_switch(struct raw_threads *t, uint64_t thread_pointer)
{
    enum { THREADS_SEARCHED = 16 };
    const struct capture *capture = t->capture;
    t->change = (struct go_switch){ 0 };
    t->changed = false;
    t->goroutine = 0;
    if (capture->arch->id != UNWIND_ARCH_AMD64 || capture->narrow ||
        t->not_go >= THREADS_SEARCHED)
        return;
    t->goroutine = go_runtime_goroutine(&capture->reader, thread_pointer);
    if (t->goroutine == 0)
        t->not_go += t->go_pc == 0;
    else if (go_switch_find(&capture->reader, thread_pointer, &t->change))
        t->go_pc = t->change.pc;
    else if (t->go_pc == 0)
        t->go_pc = go_runtime_program(&capture->reader, t->goroutine);
}

// open_goroutines opens the list of the program in Go once.
static enum ch_status open_goroutines(struct raw_threads *t)
{
    struct capture *capture = t->capture;
    struct elf_view file;
    if (t->opened)
        return t->opened_status;
    const struct target_image *found = images_find(&capture->images, t->go_pc);
    t->opened = true;
    t->opened_status = CH_ERR_NOT_FOUND;
    if (t->go_pc == 0 || found == NULL)
        return CH_ERR_NOT_FOUND;
    struct target_image *image =
        &capture->images.images[found - capture->images.images];
    t->opened_status = image_frames_open(image, &file);
    if (t->opened_status == CH_OK)
        t->opened_status =
            goroutines_open(&t->goroutines, &capture->reader, &file, image->bias);
    return t->opened_status;
}

// append_creator appends the call that created a goroutine to its frames.
static void append_creator(struct raw_threads *t, uint64_t creator)
{
    const struct unwind_frame frame = { .address = creator,
                                        .kind = UNWIND_KIND_RA,
                                        .trust = UNWIND_TRUST_CONTEXT };
    if (creator == 0 || !images_is_code(&t->capture->images, creator))
        return;
    raw_languages_creator(&t->languages);
    t->created = backtrace_limit_add(&t->backtrace, &frame);
}

// read_origin reads which goroutine the walked thread runs. False: none, or nothing is
// known of it.
static bool read_origin(struct raw_threads *t, struct goroutine *out)
{
    return t->goroutine != 0 && open_goroutines(t) == CH_OK &&
           goroutines_read_origin(&t->goroutines, t->goroutine, out);
}

// find_shadow_stack finds the shadow stack of the thread that is walked next, if it has
// one that can be read.
static void find_shadow_stack(struct raw_threads *t,
                              const struct stopped_thread *thread,
                              const struct target_crash *crash)
{
    const struct capture *capture = t->capture;
    uint64_t word;
    uint64_t next = crash != NULL ? crash->shadow_stack : thread->shadow_stack;
    const struct target_mapping *mapping = images_mapping(&capture->images, next);
    t->shadow = (struct shadow_stack){ 0 };
    unwind_space_set_shadow(t->space, NULL);
    if (next == 0 || mapping == NULL || capture->narrow)
        return;
    t->shadow.next = next;
    t->shadow.end = mapping->end;
    for (unsigned i = 0; crash != NULL && i < crash->handlers; i++)
        if (!shadow_stack_leave_handler(&t->shadow, capture->arch, &capture->reader))
            return;
    if (shadow_stack_read(&t->shadow, capture->arch, &capture->reader, &word) == CH_OK)
        unwind_space_set_shadow(t->space, &t->shadow);
}

// write_difference writes which return address the program has overwritten.
static void write_difference(struct json_writer *w,
                             const struct shadow_difference *difference)
{
    if (difference->address == 0)
        return;
    json_write_key(w, "overwritten");
    json_write_object(w);
    raw_write_address(w, "address", difference->address);
    raw_write_address(w, "expected", difference->expected);
    raw_write_address(w, "found", difference->found);
    json_write_end(w, '}');
}

// unwind_thread walks one stack into t->backtrace.
static enum unwind_end unwind_thread(struct raw_threads *t,
                                     const struct unwind_registers *registers,
                                     uint64_t thread_pointer)
{
    struct capture *capture = t->capture;
    find_go_switch(t, thread_pointer);
    uint64_t begin = capture_clock_us();
    uint64_t sp = registers->value[capture->arch->sp];
    const struct target_mapping *stack = images_mapping(&capture->images, sp);

    if (stack != NULL)
        target_memory_set_stack(&capture->memory, stack->start, stack->end);
    struct unwind_registers narrow;
    if (capture->narrow)
        narrow = narrow_registers_numbered(registers);
    const struct unwind_registers *from = capture->narrow ? &narrow : registers;
    enum setting_unwind how = capture->settings->unwind;
    bool one_by_one =
        t->change.goroutine != 0 || raw_languages_needs_registers(&t->languages);
    enum unwind_end end = one_by_one
                              ? unwind_walk(t->space, from, how, keep_frame, t)
                              : unwind_walk_frames(t->space, from, how, keep_frames, t);
    if (t->changed)
        end = unwind_goroutine(t);
    raw_languages_end(&t->languages);
    capture->timings.unwind_us += capture_clock_us() - begin;
    struct goroutine origin;
    if (read_origin(t, &origin))
        append_creator(t, origin.creator);
    return end;
}

// write_thread_stack writes the number of the stack in t->backtrace.
static void write_thread_stack(struct raw_threads *t, struct json_writer *w,
                               enum unwind_end end)
{
    size_t number;
    t->frame_count += backtrace_limit_count(&t->backtrace);
    if (raw_stacks_add(&t->stacks, &t->backtrace,
                       raw_languages_groups(&t->languages, &t->backtrace), end,
                       &number) != CH_OK) {
        capture_problem(t->capture, "stacks", "no memory for one", 0);
        return;
    }
    raw_write_count(w, "stack", number);
}

const char *raw_register_name(const struct capture *capture, size_t number)
{
    if (capture->narrow)
        return narrow_register_name(number);
    return capture->arch->id == UNWIND_ARCH_AMD64
               ? register_name_amd64(number, sizeof(uint64_t))
               : register_name_aarch64(number);
}

static void write_raw_registers(struct json_writer *w, const struct capture *capture,
                                const struct unwind_registers *registers,
                                uint64_t flags, uint64_t fs_base, uint64_t gs_base)
{
    const struct unwind_arch *arch = capture->arch;
    bool is_amd64 = arch->id == UNWIND_ARCH_AMD64;
    json_write_key(w, "registers");
    json_write_object(w);
    for (size_t i = 0; i < arch->register_count; i++) {
        const char *name = raw_register_name(capture, i);
        if (name == NULL)
            continue;
        raw_write_address(w, name, registers->value[i]);
    }
    raw_write_address(w, is_amd64 ? "eflags" : "pstate", flags);
    if (is_amd64 && fs_base != 0)
        raw_write_address(w, "fs_base", fs_base);
    if (is_amd64 && gs_base != 0)
        raw_write_address(w, "gs_base", gs_base);
    json_write_end(w, '}');
}

// note_raw_fingerprint adds the frames of the crashed thread to the fingerprint.
static void note_raw_fingerprint(struct raw_threads *t)
{
    size_t count = backtrace_limit_count(&t->backtrace) - t->created;
    for (size_t i = 0; i < count; i++) {
        struct backtrace_entry entry = backtrace_limit_entry(&t->backtrace, i);
        const struct target_image *image =
            entry.kind == BACKTRACE_FRAME ? frame_image(t, &entry.frame) : NULL;
        char build_id[2 * IMAGE_BUILD_ID_MAX + 1];
        char path[256];
        if (image == NULL)
            continue;
        size_t size =
            image->path_size < sizeof(path) ? image->path_size : sizeof(path) - 1;
        memcpy(path, image->path + (image->path_size - size), size);
        path[size] = 0;
        hex_encode(image->build_id, image->build_id_size, build_id);
        fingerprint_add(&t->fingerprint,
                        &(struct fingerprint_frame){
                            .image = path,
                            .build_id = image->build_id_size != 0 ? build_id : NULL,
                            .image_offset = entry.frame.address - image->base,
                            .system = system_image(path),
                        });
    }
}

// bound_backtrace limits the next thread's stack to what is left of the limit for all.
static void bound_backtrace(struct raw_threads *t)
{
    const struct settings *settings = t->capture->settings;
    uint64_t left =
        t->frame_count < RAW_FRAMES_MAX ? RAW_FRAMES_MAX - t->frame_count : 0;
    uint32_t limit = settings->limit;
    uint32_t top = settings->top;
    if (left + 2 < limit) {
        limit = (uint32_t)left + 2; // one frame, and the element for the omitted ones
        top = left != 0 ? top : 0;
    }
    backtrace_limit_set(&t->backtrace, limit, top);
}

// name_raw_thread reads a thread's name. Its time counts as capture, because the
// process is read, although this happens while the report is written.
static void name_raw_thread(struct raw_threads *t, pid_t tid,
                            char out[static RAW_THREAD_NAME_SIZE])
{
    uint64_t begin = capture_clock_us();
    raw_thread_name(t->capture, tid, out);
    t->capture_us += capture_clock_us() - begin;
}

static void write_raw_thread(struct raw_threads *t, struct json_writer *w,
                             const struct stopped_thread *thread)
{
    const struct target_crash *crash = t->capture->crash;
    bool crashed = crash != NULL && thread->tid == crash->tid;
    bool readable = crashed || thread->state == STOP_STOPPED;
    const struct unwind_registers *registers =
        crashed ? &crash->registers : &thread->registers;
    char name[RAW_THREAD_NAME_SIZE];
    enum unwind_end end = UNWIND_END_FAULT;

    name_raw_thread(t, thread->tid, name);
    json_write_object(w);
    raw_write_count(w, "tid", (uint64_t)thread->tid);
    json_write_key(w, "name");
    json_write_string(w, name);
    if (thread->run_state != 0) {
        json_write_key(w, "state");
        json_write_bytes(w, &thread->run_state, 1);
    }
    json_write_key(w, "crashed");
    json_write_bool(w, crashed);
    surroundings_thread_write(w, t->capture, thread->tid, t->timed++);
    bound_backtrace(t);
    t->created = false;
    t->goroutine = 0;
    uint64_t pointer = crashed ? crash->thread_pointer : thread->thread_pointer;
    struct goroutine origin = { .id = 0 };
    raw_languages_begin(&t->languages, pointer);
    if (readable) {
        write_raw_registers(w, t->capture, registers,
                            crashed ? crash->flags : thread->flags, pointer,
                            crashed ? crash->gs_base : thread->gs_base);
        find_shadow_stack(t, thread, crashed ? crash : NULL);
        end = unwind_thread(t, registers, pointer);
        write_difference(w, &t->shadow.difference);
        uint64_t begin = capture_clock_us();
        (void)!read_origin(t, &origin);
        held_stack_add(t->capture, &t->pointers, thread, registers, &t->backtrace,
                       origin.stack_end);
        t->capture_us += capture_clock_us() - begin;
    }
    write_thread_stack(t, w, end);
    if (readable)
        otel_thread_write(w, t->capture, &t->otel, pointer);
    if (origin.id != 0)
        raw_write_count(w, "goroutine", origin.id);
    raw_languages_write_exception(&t->languages, w);
    json_write_end(w, '}');
    if (crashed)
        note_raw_fingerprint(t);
}

// write_goroutine writes one of the program's goroutines; the stack of one that runs is
// its thread's.
static void write_goroutine(struct raw_threads *t, struct json_writer *w,
                            const struct goroutine *goroutine)
{
    json_write_object(w);
    raw_write_count(w, "id", goroutine->id);
    json_write_key(w, "state");
    json_write_plain(w, goroutine->state);
    if (goroutine->reason[0] != 0) {
        json_write_key(w, "reason");
        json_write_string(w, goroutine->reason);
    }
    if (goroutine->parent != 0)
        raw_write_count(w, "parent", goroutine->parent);
    if (!goroutine->runs) {
        bound_backtrace(t);
        raw_languages_begin(&t->languages, 0);
        t->change = (struct go_switch){
            .pc = goroutine->pc,
            .sp = goroutine->sp,
            .fp = goroutine->fp,
            .placeholder = go_switch_is_placeholder(&t->capture->reader, goroutine->pc),
        };
        t->changed = goroutine->called;
        enum unwind_end end = unwind_goroutine(t);
        append_creator(t, goroutine->creator);
        write_thread_stack(t, w, end);
    }
    json_write_end(w, '}');
}

// write_goroutines writes the member `goroutines` of a program in Go.
static void write_goroutines(struct raw_threads *t, struct json_writer *w)
{
    struct capture *capture = t->capture;
    struct goroutine one;
    if (images_find(&capture->images, t->go_pc) == NULL ||
        capture->settings->threads != THREADS_ALL)
        return;
    enum ch_status status = open_goroutines(t);
    if (status != CH_OK) {
        capture_problem(capture, "goroutines",
                        status == CH_ERR_UNSUPPORTED
                            ? "an unknown version of Go, without debug information"
                            : "the program has no symbols",
                        0);
        return;
    }
    json_write_key(w, "goroutines");
    json_write_array(w);
    for (size_t i = 0; goroutines_next(&t->goroutines, &one); i++) {
        if (i == GOROUTINES_MAX || json_writer_size(w) > RAW_THREADS_BYTES) {
            capture_problem(capture, "goroutines", "too many: the rest is left out", 0);
            break;
        }
        write_goroutine(t, w, &one);
    }
    json_write_end(w, ']');
}

static void write_others(struct raw_threads *t, struct json_writer *w,
                         pid_t crashed_tid)
{
    const struct stop *stop = &t->capture->stop;
    for (size_t i = 0; i < stop->count; i++) {
        const struct stopped_thread *thread = &stop->threads[i];
        if (thread->tid == crashed_tid || thread->state == STOP_GONE)
            continue;
        if (json_writer_size(w) > RAW_THREADS_BYTES) {
            capture_problem(t->capture, "threads", "too many: the rest is left out", 0);
            return;
        }
        write_raw_thread(t, w, thread);
    }
}

void raw_threads_write(struct raw_threads *t, struct json_writer *w)
{
    const struct capture *capture = t->capture;
    json_write_key(w, "threads");
    json_write_array(w);
    if (capture->crash != NULL && !capture->gone) {
        struct stopped_thread crashed = { .tid = capture->crash->tid,
                                          .state = STOP_FREE,
                                          .run_state = 'R' };
        write_raw_thread(t, w, &crashed);
    }
    if (capture->crash == NULL || capture->settings->threads == THREADS_ALL)
        write_others(t, w, capture->crash != NULL ? capture->crash->tid : 0);
    thread_names_end(&t->capture->names);
    json_write_end(w, ']');
    write_goroutines(t, w);
    raw_languages_end_all(&t->languages);
    uint64_t begin = capture_clock_us();
    raw_jitted_read(&t->jitted, &t->stacks);
    t->capture_us += capture_clock_us() - begin;
    if (raw_stacks_write(&t->stacks, w) != CH_OK)
        capture_problem(t->capture, "cbf", "not encoded", 0);
}
