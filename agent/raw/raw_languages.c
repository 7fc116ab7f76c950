// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_languages.h"

#include <stdlib.h>

#include "agent/facts/raw_write.h"
#include "base/array.h"

// open_python reads the frames of Python.
static void open_python(struct raw_languages *languages)
{
    struct capture *capture = languages->capture;
    const struct settings *settings = capture->settings;
    enum ch_status status =
        python_open(&languages->python, &capture->reader, &capture->images);
    if (status == CH_ERR_UNSUPPORTED)
        capture_problem(capture, "python", "an unknown version",
                        languages->python.runtime);
    if (status != CH_OK)
        return;
    languages->table.limit = settings->limit;
    languages->table.top = settings->top;
    status = python_collect(&languages->python, &languages->table);
    if (status != CH_OK)
        capture_problem(capture, "python", ch_status_name(status),
                        languages->python.runtime);
    else if (languages->python.problem != NULL)
        capture_problem(capture, "python", languages->python.problem, 0);
    if (status == CH_OK && python_lacks(&languages->python) != NULL)
        capture_problem(capture, "python", python_lacks(&languages->python), 0);
    languages->any = languages->table.run_count != 0;
}

// open_java finds a virtual machine of Java, which is queried for frames one by one.
static void open_java(struct raw_languages *languages)
{
    struct capture *capture = languages->capture;
    enum ch_status status = hotspot_open(&languages->hotspot, &capture->reader,
                                         capture->arch, &capture->images);
    if (status == CH_ERR_UNSUPPORTED)
        capture_problem(capture, "java", "an unknown version", 0);
    else if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        capture_problem(capture, "java", ch_status_name(status), 0);
}

void raw_languages_init(struct raw_languages *languages, struct capture *capture)
{
    languages->capture = capture;
    if (capture->narrow)
        return;
    open_python(languages);
    open_java(languages);
}

void raw_languages_serve(struct raw_languages *languages, struct unwind_space *space)
{
    if (languages->hotspot.heap_count != 0)
        unwind_space_set_leave(space, hotspot_step, &languages->hotspot);
}

void raw_languages_end_all(struct raw_languages *languages)
{
    if (languages->hotspot.problem != NULL)
        capture_problem(languages->capture, "java", languages->hotspot.problem, 0);
    if (languages->v8.problem != NULL)
        capture_problem(languages->capture, "javascript", languages->v8.problem, 0);
}

void raw_languages_deinit(struct raw_languages *languages)
{
    interpreted_deinit(&languages->table);
    free(languages->hits);
    free(languages->groups);
    *languages = (struct raw_languages){ 0 };
}

void raw_languages_begin(struct raw_languages *languages, uint64_t thread_pointer)
{
    languages->thread = 0;
    languages->next_frame = 0;
    languages->hit_count = 0;
    languages->thread_pointer = thread_pointer;
    languages->calls = 0;
}

// note_group notes that the interpreter ran a group in a frame of the walk.
static void note_group(struct raw_languages *languages, uint64_t frame, uint32_t group)
{
    if (group == INTERPRETED_NONE ||
        !array_reserve(&languages->hits, &languages->hit_capacity, languages->hit_count,
                       sizeof(languages->hits[0])))
        return;
    languages->hits[languages->hit_count++] =
        (struct raw_languages_hit){ frame, group };
}

// note_last_frame notes what has its place in the last frame's part of the stack, which
// ends at high.
static void note_last_frame(struct raw_languages *languages, uint64_t high)
{
    if (languages->next_frame == 0 || high <= languages->low)
        return;
    uint32_t group =
        interpreted_find(&languages->table, languages->low, high, &languages->thread);
    note_group(languages, languages->next_frame - 1, group);
}

// note_call notes the next frame of the thread if this one is a call of the
// interpreter's function.
static void note_call(struct raw_languages *languages, const struct unwind_frame *frame)
{
    uint64_t address = frame->address - (frame->kind == UNWIND_KIND_RA);
    if (languages->thread_pointer == 0 || !python_is_call(&languages->python, address))
        return;
    uint32_t group = interpreted_find_call(&languages->table, languages->thread_pointer,
                                           languages->calls++, &languages->thread);
    note_group(languages, languages->next_frame, group);
}

// note_python notes what Python ran in the frame before this one, or in this one.
static void note_python(struct raw_languages *languages,
                        const struct unwind_frame *frame,
                        const struct unwind_state *state)
{
    const struct capture *capture = languages->capture;
    if (python_counts_calls(&languages->python)) {
        note_call(languages, frame);
        return;
    }
    uint64_t sp = state->registers.value[capture->arch->sp];
    note_last_frame(languages, sp < languages->high ? sp : languages->high);
    // A signal may have changed the stack.
    if (frame->kind == UNWIND_KIND_PC) {
        const struct target_mapping *stack = images_mapping(&capture->images, sp);
        languages->high = stack != NULL ? stack->end : sp;
    }
    languages->low = sp;
}

// open_v8 finds V8, once a walk comes to what may be its code, because that takes
// longer than anything else. It is queried for frames one by one.
static void open_v8(struct raw_languages *languages)
{
    struct capture *capture = languages->capture;
    languages->sought_v8 = true;
    enum ch_status status = v8_open(&languages->v8, &capture->reader, &capture->images);
    if (status == CH_ERR_UNSUPPORTED)
        capture_problem(capture, "javascript", "an unknown version", 0);
    else if (status != CH_OK && status != CH_ERR_NOT_FOUND)
        capture_problem(capture, "javascript", ch_status_name(status), 0);
}

// note_v8 notes which functions of JavaScript the frame before this one is of. V8's
// code has frame pointers, and no other rules: where this frame was found by one, that
// one had its frame pointer.
static void note_v8(struct raw_languages *languages, const struct unwind_frame *frame,
                    const struct unwind_state *state)
{
    const struct capture *capture = languages->capture;
    const struct unwind_frame *before = &languages->before;
    uint64_t pc = before->address - (before->kind == UNWIND_KIND_RA);
    if (frame->trust != UNWIND_TRUST_FP || languages->next_frame == 0)
        return;
    if (!languages->sought_v8)
        open_v8(languages);
    const struct target_image *image = images_find(&capture->images, pc);
    if (languages->v8.image == NULL || (image != NULL && image != languages->v8.image))
        return;
    const struct v8_frame one = {
        .fp = state->registers.value[capture->arch->sp] - capture->arch->frame_record,
        .pc = pc,
        .compiled = image == NULL,
    };
    note_group(languages, languages->next_frame - 1,
               v8_collect(&languages->v8, &one, &languages->table));
}

void raw_languages_frame(struct raw_languages *languages,
                         const struct unwind_frame *frame,
                         const struct unwind_state *state)
{
    if (languages->any)
        note_python(languages, frame, state);
    if (languages->hotspot.heap_count != 0)
        note_group(
            languages, languages->next_frame,
            hotspot_collect(&languages->hotspot, frame, state, &languages->table));
    note_v8(languages, frame, state);
    languages->before = *frame;
    languages->next_frame++;
}

bool raw_languages_needs_registers(const struct raw_languages *languages)
{
    return languages->any || languages->hotspot.heap_count != 0;
}

void raw_languages_frames(struct raw_languages *languages,
                          const struct unwind_frame *frames, size_t count,
                          const struct unwind_state *state)
{
    // V8's frames, which are found by their frame pointers, come one by one.
    languages->next_frame += count - 1;
    if (count > 1)
        languages->before = frames[count - 2];
    raw_languages_frame(languages, &frames[count - 1], state);
}

void raw_languages_creator(struct raw_languages *languages)
{
    size_t first = languages->table.frame_count;
    const struct interpreted_frame none = { .offset = INTERPRETED_NO_OFFSET };
    if (interpreted_add(&languages->table, none) == CH_OK)
        note_group(
            languages, languages->next_frame,
            interpreted_end_group(&languages->table, first, INTERPRETED_CREATOR));
    languages->next_frame++;
}

void raw_languages_end(struct raw_languages *languages)
{
    if (languages->any && !python_counts_calls(&languages->python))
        note_last_frame(languages, languages->high);
}

const uint32_t *raw_languages_groups(struct raw_languages *languages,
                                     const struct backtrace_limit *backtrace)
{
    size_t count = backtrace_limit_count(backtrace);
    size_t hit = 0;
    uint64_t left_out = 0;
    if (languages->hit_count == 0 ||
        !array_reserve_many(&languages->groups, &languages->group_capacity, 0, count,
                            sizeof(languages->groups[0])))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        struct backtrace_entry entry = backtrace_limit_entry(backtrace, i);
        uint64_t frame = i + left_out;
        languages->groups[i] = INTERPRETED_NONE;
        if (entry.kind == BACKTRACE_OMITTED)
            left_out += entry.omitted - 1; // the entry itself counts as one
        while (hit < languages->hit_count && languages->hits[hit].frame < frame)
            hit++;
        if (entry.kind == BACKTRACE_FRAME && hit < languages->hit_count &&
            languages->hits[hit].frame == frame)
            languages->groups[i] = languages->hits[hit].group;
    }
    return languages->groups;
}

static void write_function(const struct raw_languages *languages, struct json_writer *w,
                           const struct text *function, const struct text *file,
                           uint32_t line)
{
    if (function->size == 0)
        return;
    raw_write_string(w, "function", function->bytes);
    if (file->size != 0)
        raw_write_path(w, languages->capture, "file", file->bytes, file->size);
    if (file->size != 0 && line != 0)
        raw_write_count(w, "line", line);
}

static void write_python(const struct raw_languages *languages, struct json_writer *w,
                         const struct interpreted_frame *frame)
{
    struct python_place place;
    python_describe(&languages->python, frame, &place);
    write_function(languages, w, &place.function, &place.file, place.line);
    python_place_deinit(&place);
    raw_write_string(w, "language", "python");
    raw_write_string(w, "source", "interpreter");
}

static void write_java(const struct raw_languages *languages, struct json_writer *w,
                       const struct interpreted_frame *frame)
{
    struct hotspot_place place;
    hotspot_describe(&languages->hotspot, frame, &place);
    write_function(languages, w, &place.function, &place.file, place.line);
    hotspot_place_deinit(&place);
    raw_write_string(w, "language", "java");
    raw_write_string(w, "source", "vmstructs");
}

static void write_javascript(const struct raw_languages *languages,
                             struct json_writer *w,
                             const struct interpreted_frame *frame)
{
    struct v8_place place;
    v8_describe(&languages->v8, frame, &place);
    write_function(languages, w, &place.function, &place.file, place.line);
    v8_place_deinit(&place);
    raw_write_string(w, "language", "javascript");
    raw_write_string(w, "source", "v8dbg");
}

// write_runtime writes the name of other code of the virtual machine of Java.
static void write_runtime(const struct raw_languages *languages, struct json_writer *w,
                          const struct interpreted_frame *frame)
{
    enum { RUNTIME_NAME_BYTES = 128 };
    char name[RUNTIME_NAME_BYTES];
    enum ch_status status = memory_read_string(&languages->capture->reader, frame->code,
                                               name, sizeof(name));
    if ((status == CH_OK || status == CH_ERR_TRUNCATED) && name[0] != 0) {
        raw_write_string(w, "function", name);
        raw_write_string(w, "source", "vmstructs");
    }
}

static void write_frame(const struct raw_languages *languages, struct json_writer *w,
                        enum interpreted_owner owner,
                        const struct interpreted_frame *frame)
{
    switch (owner) {
    case INTERPRETED_PYTHON:
        write_python(languages, w, frame);
        break;
    case INTERPRETED_JAVA:
        write_java(languages, w, frame);
        break;
    case INTERPRETED_RUNTIME:
        write_runtime(languages, w, frame);
        break;
    case INTERPRETED_CREATOR:
        json_write_key(w, "creator");
        json_write_bool(w, true);
        break;
    case INTERPRETED_JAVASCRIPT:
    case INTERPRETED_JAVASCRIPT_CODE:
        write_javascript(languages, w, frame);
        break;
    }
}

static void write_inlined(const struct raw_languages *languages, struct json_writer *w,
                          const struct interpreted_run *run, uint32_t number)
{
    const struct interpreted_frame *frame =
        &languages->table.frames[run->first + number];
    json_write_object(w);
    write_frame(languages, w, run->owner, frame);
    json_write_key(w, "inline");
    json_write_bool(w, true);
    if (run->omitted != 0 && number + 1 == run->gap)
        raw_write_count(w, "omitted", run->omitted);
    json_write_end(w, '}');
}

void raw_languages_write(const struct raw_languages *languages, struct json_writer *w,
                         uint32_t group)
{
    const struct interpreted_run *run = &languages->table.groups[group].run;
    uint32_t count = run->count - raw_languages_names(languages, group);
    if (count == 0)
        return;
    json_write_key(w, "inlined");
    json_write_array(w);
    for (uint32_t i = 0; i < count; i++)
        write_inlined(languages, w, run, i);
    json_write_end(w, ']');
}

bool raw_languages_names(const struct raw_languages *languages, uint32_t group)
{
    if (group == INTERPRETED_NONE)
        return false;
    enum interpreted_owner owner = languages->table.groups[group].run.owner;
    return owner != INTERPRETED_PYTHON && owner != INTERPRETED_JAVASCRIPT;
}

void raw_languages_write_name(const struct raw_languages *languages,
                              struct json_writer *w, uint32_t group)
{
    const struct interpreted *table = &languages->table;
    const struct interpreted_run *run = &table->groups[group].run;
    write_frame(languages, w, run->owner, &table->frames[run->first + run->count - 1]);
}

void raw_languages_write_exception(const struct raw_languages *languages,
                                   struct json_writer *w)
{
    struct python_exception exception;
    if (!languages->any ||
        !python_read_exception(&languages->python, languages->thread, &exception))
        return;
    json_write_key(w, "exception");
    json_write_object(w);
    raw_write_string(w, "language", "python");
    raw_write_string(w, "type", exception.type.bytes);
    raw_write_words(w, languages->capture, "what", exception.what.bytes);
    json_write_key(w, "handled");
    json_write_bool(w, exception.handled);
    json_write_end(w, '}');
    python_exception_deinit(&exception);
}
