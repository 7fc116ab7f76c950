// SPDX-License-Identifier: Apache-2.0
#include "agent/raw_threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/narrow_walk.h"
#include "base/hex.h"
#include "formats/cbf.h"
#include "report/held_file.h"
#include "report/system_image.h"

#define NOT_LISTED SIZE_MAX

void raw_thread_name(const struct capture *capture, pid_t tid,
                     char out[static RAW_THREAD_NAME_SIZE])
{
    char path[32];
    out[0] = 0;
    if (capture->core_name != NULL) {
        if (tid ==
            (capture->core_name_tid != 0 ? capture->core_name_tid : capture->stop.pid))
            snprintf(out, RAW_THREAD_NAME_SIZE, "%s", capture->core_name);
        return;
    }
    if (capture->stop.tasks_fd == 0)
        return;
    snprintf(path, sizeof(path), "%d/comm", tid);
    int fd = openat(capture->stop.tasks_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t size = read(fd, out, RAW_THREAD_NAME_SIZE - 1);
    close(fd);
    out[size > 0 ? size : 0] = 0;
    out[strcspn(out, "\n")] = 0;
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

enum ch_status raw_threads_init(struct raw_threads *t, struct capture *capture)
{
    const struct settings *settings = capture->settings;
    *t = (struct raw_threads){ .capture = capture };
    backtrace_limit_init(&t->backtrace, settings->limit, settings->top);
    enum ch_status status =
        unwind_space_create(capture->arch, &capture->reader, capture->images.unwind,
                            capture->images.count, &t->space);
    if (status == CH_OK)
        status = list_images(t);
    if (status != CH_OK) {
        raw_threads_deinit(t);
        return status;
    }
    unwind_space_set_code(t->space, images_is_code, &capture->images);
    return CH_OK;
}

void raw_threads_deinit(struct raw_threads *t)
{
    unwind_space_destroy(t->space);
    backtrace_limit_deinit(&t->backtrace);
    free(t->cbf);
    free(t->base64);
    free(t->images);
    free(t->image_number);
    *t = (struct raw_threads){ 0 };
}

static bool keep_frame(void *context, const struct unwind_frame *frame,
                       const struct unwind_state *state)
{
    (void)state;
    return backtrace_limit_add(context, frame);
}

// unwind_thread walks one stack into t->backtrace.
static enum unwind_end unwind_thread(struct raw_threads *t,
                                     const struct unwind_registers *registers)
{
    struct capture *capture = t->capture;
    uint64_t begin = capture_clock_us();
    uint64_t sp = registers->value[capture->arch->sp];
    const struct target_mapping *stack = images_mapping(&capture->images, sp);

    if (stack != NULL)
        target_memory_set_stack(&capture->memory, stack->start, stack->end);
    enum unwind_end end =
        capture->narrow ? narrow_walk(capture, registers, &t->backtrace)
                        : unwind_walk(t->space, registers, capture->settings->unwind,
                                      keep_frame, &t->backtrace);
    capture->timings.unwind_us += capture_clock_us() - begin;
    return end;
}

// image_number is where the image stands in the report's list, SIZE_MAX: it is not
// listed. Images that are listed when mentioned take their place here.
static size_t image_number(struct raw_threads *t, const struct target_image *image)
{
    size_t index = (size_t)(image - t->capture->images.images);
    if (t->image_number[index] == NOT_LISTED &&
        t->capture->settings->images == IMAGES_MENTIONED) {
        t->image_number[index] = t->image_count;
        t->images[t->image_count++] = index;
    }
    return t->image_number[index];
}

// frame_image is the image of the instruction that the frame is in: for a return
// address that of the call before it.
static const struct target_image *frame_image(const struct raw_threads *t,
                                              const struct unwind_frame *frame)
{
    uint64_t inside = frame->address - (frame->kind == UNWIND_KIND_RA);
    return images_find(&t->capture->images, inside);
}

static void write_frame(struct raw_threads *t, struct json_writer *w,
                        const struct unwind_frame *frame)
{
    const struct target_image *image = frame_image(t, frame);
    size_t number = image != NULL ? image_number(t, image) : NOT_LISTED;

    json_write_object(w);
    json_write_key(w, "kind");
    json_write_plain(w, frame->kind == UNWIND_KIND_PC ? "pc" : "ra");
    json_write_key(w, "address");
    json_write_hex(w, frame->address);
    json_write_key(w, "trust");
    json_write_plain(w, unwind_trust_name(frame->trust));
    if (number != NOT_LISTED) {
        json_write_key(w, "image");
        json_write_uint(w, number);
        json_write_key(w, "image_offset");
        json_write_hex(w, frame->address - image->base);
    }
    json_write_end(w, '}');
}

static void write_entry(struct raw_threads *t, struct json_writer *w,
                        const struct backtrace_entry *entry)
{
    if (entry->kind == BACKTRACE_FRAME) {
        write_frame(t, w, &entry->frame);
        return;
    }
    json_write_object(w);
    json_write_key(w, "kind");
    json_write_plain(w, entry->kind == BACKTRACE_OMITTED ? "omit" : "trunc");
    if (entry->kind == BACKTRACE_OMITTED) {
        json_write_key(w, "count");
        json_write_uint(w, entry->omitted);
    }
    json_write_end(w, '}');
}

static void write_frames(struct raw_threads *t, struct json_writer *w)
{
    json_write_key(w, "frames");
    json_write_array(w);
    size_t count = backtrace_limit_count(&t->backtrace);
    for (size_t i = 0; i < count; i++) {
        struct backtrace_entry entry = backtrace_limit_entry(&t->backtrace, i);
        write_entry(t, w, &entry);
    }
    json_write_end(w, ']');
}

// reserve_cbf makes room for a backtrace of count entries.
static bool reserve_cbf(struct raw_threads *t, size_t count)
{
    size_t needed = CBF_OVERHEAD + count * CBF_FRAME_MAX;
    if (needed <= t->cbf_capacity)
        return true;
    free(t->cbf);
    free(t->base64);
    t->cbf = malloc(needed);
    t->base64 = malloc(BASE64_SIZE(needed));
    t->cbf_capacity = t->cbf != NULL && t->base64 != NULL ? needed : 0;
    return t->cbf_capacity != 0;
}

static enum ch_status encode_cbf(struct raw_threads *t, size_t count)
{
    static const enum cbf_op ops[] = {
        [UNWIND_KIND_PC] = CBF_PC, [UNWIND_KIND_RA] = CBF_RETURN_ADDRESS
    };
    struct cbf_writer writer;
    enum ch_status status =
        cbf_writer_init(&writer, 64, CBF_SPECIFIED, t->cbf, t->cbf_capacity);
    for (size_t i = 0; status == CH_OK && i < count; i++) {
        struct backtrace_entry entry = backtrace_limit_entry(&t->backtrace, i);
        if (entry.kind == BACKTRACE_FRAME)
            status =
                cbf_write_frame(&writer, ops[entry.frame.kind], entry.frame.address);
        if (entry.kind == BACKTRACE_OMITTED)
            status = cbf_write_frame(&writer, CBF_OMIT, entry.omitted);
        if (entry.kind == BACKTRACE_TRUNCATED)
            status = cbf_write_frame(&writer, CBF_TRUNC, 0);
    }
    if (status != CH_OK)
        return status;
    cbf_write_end(&writer);
    base64_encode(t->cbf, writer.size, t->base64);
    return CH_OK;
}

static void write_backtrace(struct raw_threads *t, struct json_writer *w,
                            enum unwind_end end)
{
    size_t count = backtrace_limit_count(&t->backtrace);
    json_write_key(w, "backtrace");
    json_write_object(w);
    if (reserve_cbf(t, count) && encode_cbf(t, count) == CH_OK) {
        json_write_key(w, "cbf");
        json_write_plain(w, t->base64);
    } else {
        capture_problem(t->capture, "cbf", "not encoded", 0);
    }
    json_write_key(w, "ended");
    json_write_plain(w, unwind_end_name(end));
    write_frames(t, w);
    json_write_end(w, '}');
}

const char *raw_register_name(const struct capture *capture, size_t number)
{
    static const char *const amd64[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                         "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                         "r12", "r13", "r14", "r15", "rip" };
    static const char *const aarch64[] = {
        "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
        "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
        "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc"
    };
    if (capture->narrow)
        return narrow_register_name(number);
    return capture->arch->id == UNWIND_ARCH_AMD64 ? amd64[number] : aarch64[number];
}

static void write_registers(struct json_writer *w, const struct capture *capture,
                            const struct unwind_registers *registers, uint64_t flags)
{
    const struct unwind_arch *arch = capture->arch;
    bool is_amd64 = arch->id == UNWIND_ARCH_AMD64;
    json_write_key(w, "registers");
    json_write_object(w);
    for (size_t i = 0; i < arch->register_count; i++) {
        const char *name = raw_register_name(capture, i);
        if (name == NULL)
            continue;
        json_write_key(w, name);
        json_write_hex(w, registers->value[i]);
    }
    json_write_key(w, is_amd64 ? "eflags" : "pstate");
    json_write_hex(w, flags);
    json_write_end(w, '}');
}

// note_fingerprint feeds the frames of the crashed thread to the fingerprint.
static void note_fingerprint(struct raw_threads *t)
{
    size_t count = backtrace_limit_count(&t->backtrace);
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

// hold_thread copies the thread's registers and its stack, from below its pointer
// (functions that call nothing may use that) up to its mapping's end, for the free
// phase to find arguments.
static void hold_thread(struct raw_threads *t, pid_t tid,
                        const struct unwind_registers *registers)
{
    enum { BELOW = 128 };
    uint8_t bytes[16384];
    struct capture *capture = t->capture;
    uint64_t at = registers->value[capture->arch->sp];
    const struct target_mapping *stack = images_mapping(&capture->images, at);
    if (capture->held == NULL || capture->settings->arguments == SETTING_NO ||
        stack == NULL || capture->narrow)
        return;
    const struct held_thread thread = { (uint64_t)tid, capture->arch, *registers };
    held_file_add_thread(capture->held, &thread);
    at -= at - stack->start < BELOW ? at - stack->start : BELOW;
    uint64_t end = stack->end;
    if (end - at > RAW_THREAD_STACK_MAX)
        end = at + RAW_THREAD_STACK_MAX;
    while (at < end) {
        size_t wanted = end - at < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);
        size_t got = capture->reader.read(capture->reader.source, at, bytes, wanted);
        if (got == 0 || got > wanted)
            return;
        held_file_add_memory(capture->held, at, bytes, got);
        at += got;
    }
}

// bound_backtrace leaves the stack of the next thread what is left for all.
static void bound_backtrace(struct raw_threads *t, const struct json_writer *w)
{
    enum { FRAME_BYTES = 64 }; // of one with an image, with its share of the CBF
    const struct settings *settings = t->capture->settings;
    uint64_t size = json_writer_size(w);
    uint64_t left = size < RAW_THREADS_FRAMES_BYTES
                        ? (RAW_THREADS_FRAMES_BYTES - size) / FRAME_BYTES
                        : 0;
    uint32_t limit = settings->limit;
    uint32_t top = settings->top;
    if (left + 2 < limit) {
        limit = (uint32_t)left + 2; // one frame, and that more were there
        top = left != 0 ? top : 0;
    }
    backtrace_limit_set(&t->backtrace, limit, top);
}

static void write_thread(struct raw_threads *t, struct json_writer *w,
                         const struct stopped_thread *thread)
{
    const struct target_crash *crash = t->capture->crash;
    bool crashed = crash != NULL && thread->tid == crash->tid;
    bool readable = crashed || thread->state == STOP_STOPPED;
    const struct unwind_registers *registers =
        crashed ? &crash->registers : &thread->registers;
    char name[RAW_THREAD_NAME_SIZE];
    enum unwind_end end = UNWIND_END_FAULT;

    raw_thread_name(t->capture, thread->tid, name);
    json_write_object(w);
    json_write_key(w, "tid");
    json_write_uint(w, (uint64_t)thread->tid);
    json_write_key(w, "name");
    json_write_string(w, name);
    if (thread->run_state != 0) {
        json_write_key(w, "state");
        json_write_bytes(w, &thread->run_state, 1);
    }
    json_write_key(w, "crashed");
    json_write_bool(w, crashed);
    bound_backtrace(t, w);
    if (readable) {
        write_registers(w, t->capture, registers,
                        crashed ? crash->flags : thread->flags);
        end = unwind_thread(t, registers);
        hold_thread(t, thread->tid, registers);
    }
    write_backtrace(t, w, end);
    json_write_end(w, '}');
    if (crashed)
        note_fingerprint(t);
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
        write_thread(t, w, thread);
    }
}

void raw_threads_write(struct raw_threads *t, struct json_writer *w)
{
    const struct capture *capture = t->capture;
    json_write_key(w, "threads");
    json_write_array(w);
    if (capture->crash != NULL) {
        struct stopped_thread crashed = { .tid = capture->crash->tid,
                                          .state = STOP_FREE,
                                          .run_state = 'R' };
        write_thread(t, w, &crashed);
    }
    if (capture->crash == NULL || capture->settings->threads == THREADS_ALL)
        write_others(t, w, capture->crash != NULL ? capture->crash->tid : 0);
    json_write_end(w, ']');
}
