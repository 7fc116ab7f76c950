// SPDX-License-Identifier: Apache-2.0
#include "languages/v8.h"

#include <stdio.h>

#include "support/bytes.h"
#include "support/fake_memory.h"
#include "support/test.h"
#include "support/v8_builder.h"

// A held_v8 is the memory of a process that runs V8.
struct held_v8 {
    uint8_t bytes[V8_MEMORY_BYTES];
    struct fake_region region;
    struct fake_memory memory;
    struct memory_reader reader;
    struct target_image image;
    struct interpreted table;
    struct v8 v8;
    char shown[512];
};

static void hold_v8(struct held_v8 *held, const void *bytes, size_t size)
{
    held->region = (struct fake_region){ V8_MEMORY, bytes, size };
    held->memory = (struct fake_memory){ .regions = &held->region, .region_count = 1 };
    held->reader = fake_memory_reader(&held->memory);
    held->image = (struct target_image){ 0 };
    held->table = (struct interpreted){ 0 };
    held->v8 = v8_of(&held->reader, &held->image);
}

static void build(struct held_v8 *held)
{
    v8_build(held->bytes);
    hold_v8(held, held->bytes, sizeof(held->bytes));
}

// shown_at gives the functions of a frame, as `name file:line` each.
static const char *shown_at(struct held_v8 *held, uint64_t fp, uint64_t pc)
{
    const struct v8_frame frame = { V8_MEMORY + fp, pc, pc != 0 };
    uint32_t group = v8_collect(&held->v8, &frame, &held->table);
    held->shown[0] = 0;
    if (group == INTERPRETED_NONE)
        return held->shown;
    const struct interpreted_run *run = &held->table.groups[group].run;
    for (uint32_t i = 0; i < run->count; i++) {
        struct v8_place place;
        size_t used = strlen(held->shown);
        v8_describe(&held->v8, &held->table.frames[run->first + i], &place);
        (void)snprintf(held->shown + used, sizeof(held->shown) - used, "%s%s %s:%u",
                       i != 0 ? ", " : "", place.function.bytes,
                       place.file.size != 0 ? place.file.bytes : "", place.line);
        v8_place_deinit(&place);
    }
    return held->shown;
}

static void shows(struct held_v8 *held, uint64_t fp, uint64_t pc, const char *expected)
{
    char shown[sizeof(held->shown)];
    (void)snprintf(shown, sizeof(shown), "%s", shown_at(held, fp, pc));
    interpreted_deinit(&held->table);
    memset(held->v8.frames, 0, sizeof(held->v8.frames));
    assert_string_equal(shown, expected);
}

static void an_interpreted_frame_has_function_file_and_line(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    shows(&held, V8_FP_INTERPRETED, 0, "outer /srv/shop.js:2");
}

static void lines_are_counted_where_v8_has_not_done_it(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    v8_put_small(held.bytes, V8_AT_SCRIPT + 56, 0);
    shows(&held, V8_FP_INTERPRETED, 0, "outer /srv/shop.js:2");
    memcpy(held.bytes + V8_AT_TEXTS + 0xc0 + 16, "\n\n\r\n\r", 5);
    shows(&held, V8_FP_INTERPRETED, 0, "outer /srv/shop.js:6");
}

static void without_positions_there_is_no_line(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    v8_put_object(held.bytes, V8_AT_BYTECODES + 32, V8_AT_FUNCTION);
    shows(&held, V8_FP_INTERPRETED, 0, "outer /srv/shop.js:0");
}

static void optimized_code_has_what_was_inlined(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    shows(&held, V8_FP_OPTIMIZED, V8_PC_OPTIMIZED,
          "inner /srv/shop.js:3, outer /srv/shop.js:2");
}

static void code_that_is_not_the_functions_own_has_no_line(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    shows(&held, V8_FP_OPTIMIZED, V8_MEMORY + V8_AT_STACK, "outer /srv/shop.js:0");
}

static void code_that_a_loop_went_over_to_is_found_by_its_address(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    v8_put_object(held.bytes, V8_AT_FUNCTION + 48,
                  V8_AT_FUNCTION); // has other code now
    v8_put_object(held.bytes, V8_FP_OPTIMIZED - 32, V8_AT_BYTECODES);
    v8_put_small(held.bytes, V8_FP_OPTIMIZED - 40, 53 + 2);
    // Instructions begin where what is aligned begins.
    memmove(held.bytes + V8_AT_STREAM + 0x10, held.bytes + V8_AT_STREAM, 0x40);
    v8_put_object(held.bytes, V8_AT_CODE + 32, V8_AT_STREAM + 0x10);
    v8_put(held.bytes, V8_AT_CODE + 40, V8_MEMORY + V8_AT_STREAM + 0x20, 8);
    shows(&held, V8_FP_OPTIMIZED, V8_PC_OPTIMIZED + 0x10,
          "inner /srv/shop.js:3, outer /srv/shop.js:2");
}

static void a_function_inlined_into_itself_ends(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    // The entry of what was inlined says that it was called in itself.
    v8_put(held.bytes, V8_AT_INLINED + 16, UINT64_C(1) << 31 | 11 << 1, 8);
    const struct v8_frame frame = { V8_MEMORY + V8_FP_OPTIMIZED, V8_PC_OPTIMIZED,
                                    true };
    (void)v8_collect(&held.v8, &frame, &held.table);
    size_t count = held.table.frame_count;
    interpreted_deinit(&held.table);
    assert_int_equal(count, V8_INLINED_MAX + 1);
}

static void a_call_out_of_javascript_has_its_function(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    shows(&held, V8_FP_EXIT, 0, "outer /srv/shop.js:0");
    v8_put(held.bytes, V8_FP_EXIT - 8, 24 << 1, 8); // a frame of another type
    shows(&held, V8_FP_EXIT, 0, "");
}

static void the_name_may_be_in_the_scope(void **state)
{
    (void)state;
    struct held_v8 held;
    build(&held);
    v8_put_object(held.bytes, V8_AT_OUTER + 16, V8_AT_SCOPE);
    v8_put_head(held.bytes, V8_AT_SCOPE, V8_MAP_SCOPE, 0);
    v8_put_small(held.bytes, V8_AT_SCOPE + 8 + 8 * 2, 1); // one variable: name, place
    v8_put_object(held.bytes, V8_AT_SCOPE + 8 + 8 * 3, V8_AT_TEXTS);
    v8_put_object(held.bytes, V8_AT_SCOPE + 8 + 8 * 5, V8_AT_TEXTS + 0x40);
    shows(&held, V8_FP_INTERPRETED, 0, "inner /srv/shop.js:2");
    v8_put_small(held.bytes, V8_AT_SCOPE + 8 + 8 * 5, 0);
    shows(&held, V8_FP_INTERPRETED, 0, "(anonymous) /srv/shop.js:2");
}

static void texts_may_refer_to_others(void **state)
{
    (void)state;
    enum { JOINED = 0xb40, SLICED = 0xb80, THIN = 0xbc0, WIDE = 0xc00 };
    static const uint16_t wide[] = { 0x4fa1, 0xd83d, 0xde00, 0xdc00 };
    struct held_v8 held;
    build(&held);
    v8_put_head(held.bytes, JOINED, V8_MAP_JOINED, 0);
    v8_put(held.bytes, JOINED + 12, 10, 4);
    v8_put_object(held.bytes, JOINED + 16, THIN);
    v8_put_object(held.bytes, JOINED + 24, SLICED);
    v8_put_head(held.bytes, THIN, V8_MAP_THIN, 5);
    v8_put_object(held.bytes, THIN + 16, V8_AT_TEXTS);
    v8_put_head(held.bytes, SLICED, V8_MAP_SLICED, 3);
    v8_put_object(held.bytes, SLICED + 16, V8_AT_TEXTS + 0x40);
    v8_put_small(held.bytes, SLICED + 24, 2);
    v8_put_object(held.bytes, V8_AT_OUTER + 16, JOINED);
    shows(&held, V8_FP_INTERPRETED, 0, "outerner /srv/shop.js:2");
    v8_put_head(held.bytes, WIDE, V8_MAP_TWO_BYTES, 4);
    memcpy(held.bytes + WIDE + 16, wide, sizeof(wide));
    v8_put_object(held.bytes, V8_AT_OUTER + 16, WIDE);
    shows(&held, V8_FP_INTERPRETED, 0, "\xe4\xbe\xa1\xf0\x9f\x98\x80? /srv/shop.js:2");
    v8_put_object(held.bytes, JOINED + 16, JOINED); // without an end
    v8_put_object(held.bytes, JOINED + 24, JOINED);
    v8_put_object(held.bytes, V8_AT_OUTER + 16, JOINED);
    shows(&held, V8_FP_INTERPRETED, 0, "(anonymous) /srv/shop.js:2");
}

// show_damaged is a bytes_visit_fn.
static int show_damaged(const uint8_t *bytes, size_t size, void *context)
{
    struct held_v8 *held = context;
    hold_v8(held, bytes, size);
    (void)shown_at(held, V8_FP_INTERPRETED, 0);
    (void)shown_at(held, V8_FP_OPTIMIZED, V8_PC_OPTIMIZED);
    (void)shown_at(held, V8_FP_EXIT, 0);
    interpreted_deinit(&held->table);
    return 0;
}

static void damaged_memory_is_survived(void **state)
{
    (void)state;
    struct held_v8 held;
    struct held_v8 damaged;
    build(&held);
    int cut = 0;
    for (size_t size = 0; size < V8_FP_EXIT + 0x40; size += 8)
        cut += bytes_visit_copy(held.bytes, size, show_damaged, &damaged);
    int flipped =
        bytes_flip_every_bit(held.bytes, V8_FP_EXIT + 0x40, show_damaged, &damaged);
    assert_int_equal(cut, 0);
    assert_int_equal(flipped, 0);
}

static void metadata_that_lacks_something_or_cannot_be_is_refused(void **state)
{
    (void)state;
    struct v8_layout layout;
    struct v8_metadata all[V8_METADATA_COUNT];
    for (size_t i = 0; i < V8_METADATA_COUNT; i++) {
        memcpy(all, v8_metadata_11, sizeof(all));
        assert_int_equal(v8_layout_take(v8_metadata_number, all, &layout), CH_OK);
        all[i].value = INT32_MAX;
        assert_int_equal(v8_layout_take(v8_metadata_number, all, &layout),
                         CH_ERR_UNSUPPORTED);
        all[i].name = "";
        assert_int_equal(v8_layout_take(v8_metadata_number, all, &layout),
                         CH_ERR_UNSUPPORTED);
    }
}

static void v8_is_sought_where_it_may_be(void **state)
{
    (void)state;
    struct held_v8 held;
    struct v8 v8;
    struct target_image image = { .path = "/lib/libc.so", .path_size = 12 };
    struct target_images images = { .images = &image, .count = 1 };
    build(&held);
    assert_int_equal(v8_open(&v8, &held.reader, &images), CH_ERR_NOT_FOUND);
    image = (struct target_image){ .path = "/bin/node", .path_size = 9 };
    assert_int_equal(v8_open(&v8, &held.reader, &images), CH_ERR_NOT_FOUND);
    assert_null(v8.image);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interpreted_frame_has_function_file_and_line),
        cmocka_unit_test(lines_are_counted_where_v8_has_not_done_it),
        cmocka_unit_test(without_positions_there_is_no_line),
        cmocka_unit_test(optimized_code_has_what_was_inlined),
        cmocka_unit_test(code_that_is_not_the_functions_own_has_no_line),
        cmocka_unit_test(code_that_a_loop_went_over_to_is_found_by_its_address),
        cmocka_unit_test(a_function_inlined_into_itself_ends),
        cmocka_unit_test(a_call_out_of_javascript_has_its_function),
        cmocka_unit_test(the_name_may_be_in_the_scope),
        cmocka_unit_test(texts_may_refer_to_others),
        cmocka_unit_test(damaged_memory_is_survived),
        cmocka_unit_test(metadata_that_lacks_something_or_cannot_be_is_refused),
        cmocka_unit_test(v8_is_sought_where_it_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
