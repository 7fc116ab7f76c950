// SPDX-License-Identifier: Apache-2.0
#include "agent/raw_languages.h"

#include <stdlib.h>

#include "agent/raw_write.h"
#include "base/array.h"

void raw_languages_init(struct raw_languages *languages, struct capture *capture)
{
    const struct settings *settings = capture->settings;
    *languages = (struct raw_languages){ .capture = capture };
    if (capture->narrow)
        return;
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
    languages->any = languages->table.run_count != 0;
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
    uint64_t number = languages->next_frame++;
    if (languages->thread_pointer == 0 || !python_is_call(&languages->python, address))
        return;
    uint32_t group = interpreted_find_call(&languages->table, languages->thread_pointer,
                                           languages->calls++, &languages->thread);
    note_group(languages, number, group);
}

void raw_languages_frame(struct raw_languages *languages,
                         const struct unwind_frame *frame,
                         const struct unwind_state *state)
{
    const struct capture *capture = languages->capture;
    if (!languages->any)
        return;
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

static void write_interpreted(const struct raw_languages *languages,
                              struct json_writer *w,
                              const struct interpreted_frame *frame, uint32_t omitted)
{
    const struct capture *capture = languages->capture;
    struct python_place place;
    python_describe(&languages->python, frame, &place);
    json_write_object(w);
    if (place.function.size != 0) {
        raw_write_string(w, "function", place.function.bytes);
        if (place.file.size != 0)
            raw_write_path(w, capture, "file", place.file.bytes, place.file.size);
        if (place.file.size != 0 && place.line != 0)
            raw_write_count(w, "line", place.line);
    }
    json_write_key(w, "inline");
    json_write_bool(w, true);
    raw_write_string(w, "language", "python");
    raw_write_string(w, "source", "interpreter");
    if (omitted != 0)
        raw_write_count(w, "omitted", omitted);
    json_write_end(w, '}');
    python_place_deinit(&place);
}

void raw_languages_write(const struct raw_languages *languages, struct json_writer *w,
                         uint32_t group)
{
    const struct interpreted *table = &languages->table;
    const struct interpreted_run *run = &table->groups[group].run;
    json_write_key(w, "inlined");
    json_write_array(w);
    for (uint32_t i = 0; i < run->count; i++)
        write_interpreted(languages, w, &table->frames[run->first + i],
                          i + 1 == run->gap ? run->omitted : 0);
    json_write_end(w, ']');
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
