// SPDX-License-Identifier: Apache-2.0
//
// The stacks that Swift 6.2 walked, walked again: limit, top and offset keep the frames
// that they keep there (the rows of the source "limit" in cases/formats/swift).
#include "backtrace/capture_options.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/fake_memory.h"
#include "support/test.h"
#include "unwind/unwind.h"

enum { STACK_AT = 0x10000000, STACK_FRAMES_MAX = 8192 };

// A frame record, as functions with a frame pointer leave one at its address.
struct record {
    uint64_t caller;
    uint64_t returns_to;
};

static struct record records[STACK_FRAMES_MAX];

static uint64_t number_at(const json_t *array, size_t index)
{
    const char *text = json_string_value(json_array_get(array, index));
    return text != NULL ? strtoull(text, NULL, 0) : 0;
}

// build_stack lays the records of stack's frames out from STACK_AT on, and stores the
// range that its addresses lie in.
static void build_stack(const json_t *stack, struct unwind_image *code)
{
    size_t count = json_array_size(stack);
    *code = (struct unwind_image){ .start = UINT64_MAX };
    for (size_t i = 0; i < count; i++) {
        uint64_t address = number_at(stack, i);
        code->start = address - 1 < code->start ? address - 1 : code->start;
        code->end = address + 1 > code->end ? address + 1 : code->end;
        records[i].returns_to = number_at(stack, i + 1);
        records[i].caller = i + 2 < count ? STACK_AT + (i + 1) * sizeof(records[0]) : 0;
    }
}

static void walk_stack(const json_t *stack, struct capture_frames *frames)
{
    struct unwind_image code;
    struct unwind_space *space;
    const struct fake_region region = { STACK_AT, records, sizeof(records) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    struct unwind_registers registers = { { 0 } };
    build_stack(stack, &code);
    registers.value[unwind_arch_amd64.pc] = number_at(stack, 0);
    registers.value[unwind_arch_amd64.sp] = STACK_AT;
    registers.value[unwind_arch_amd64.fp] = json_array_size(stack) > 1 ? STACK_AT : 0;
    assert_int_equal(unwind_space_create(&unwind_arch_amd64, &reader, &code, 1, &space),
                     CH_OK);
    (void)unwind_walk(space, &registers, SETTING_UNWIND_FP, capture_frames_keep,
                      frames);
    unwind_space_destroy(space);
}

static bool is_entry(const struct backtrace_entry *entry, const json_t *wanted)
{
    const char *kind = json_string_value(json_array_get(wanted, 0));
    switch (entry->kind) {
    case BACKTRACE_TRUNCATED:
        return strcmp(kind, "trunc") == 0;
    case BACKTRACE_OMITTED:
        return strcmp(kind, "omit") == 0 && entry->omitted == number_at(wanted, 1);
    default:
        return strcmp(kind, entry->frame.kind == UNWIND_KIND_PC ? "pc" : "ra") == 0 &&
               entry->frame.address == number_at(wanted, 1);
    }
}

static bool is_as_wanted(const struct backtrace_limit *kept, const json_t *wanted)
{
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        const json_t *row = json_array_get(wanted, i);
        const json_t *times = json_array_get(row, 2);
        json_int_t count = times != NULL ? json_integer_value(times) : 1;
        for (json_int_t n = 0; n < count; n++, at++) {
            struct backtrace_entry entry;
            if (at >= backtrace_limit_count(kept))
                return false;
            entry = backtrace_limit_entry(kept, at);
            if (!is_entry(&entry, row))
                return false;
        }
    }
    return at == backtrace_limit_count(kept);
}

// keeps_the_same walks the stack of one row within its limits.
static bool keeps_the_same(const json_t *row)
{
    const json_t *limit = json_object_get(row, "limit");
    const struct crashhook_capture_options given = {
        .size = sizeof(given),
        .limit = json_is_null(limit) ? CRASHHOOK_NO_LIMIT
                                     : (size_t)json_integer_value(limit),
        .top = (size_t)json_integer_value(json_object_get(row, "top")),
    };
    struct capture_options options;
    struct backtrace_limit kept = { 0 };
    struct capture_frames frames = {
        .kept = &kept,
        .skip = (size_t)json_integer_value(json_object_get(row, "offset")),
    };
    assert_int_equal(capture_options_read(&given, &options), CH_OK);
    capture_frames_begin(&frames, &options);
    walk_stack(json_object_get(row, "stack"), &frames);
    bool same = is_as_wanted(&kept, json_object_get(row, "frames"));
    backtrace_limit_deinit(&kept);
    return same;
}

static void stacks_that_swift_walked_give_the_frames_that_it_kept(void **state)
{
    (void)state;
    int checked = 0;
    int failed = 0;
    char *line = NULL;
    size_t capacity = 0;
    FILE *file = fopen(CASES "/swift/cbf.jsonl", "re");
    assert_non_null(file);
    while (getline(&line, &capacity, file) > 0) {
        json_t *row = json_loads(line, 0, NULL);
        const char *source = json_string_value(json_object_get(row, "source"));
        if (source != NULL && strcmp(source, "limit") == 0) {
            bool same = keeps_the_same(row);
            checked++;
            failed += !same;
            if (!same)
                print_message("%s\n", json_string_value(json_object_get(row, "name")));
        }
        json_decref(row);
    }
    free(line);
    fclose(file);
    assert_int_equal(failed, 0);
    assert_int_equal(checked, 27);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_that_swift_walked_give_the_frames_that_it_kept),
    };
    return cmocka_run_group_tests_name("backtrace/swift_limits", tests, NULL, NULL);
}
