// SPDX-License-Identifier: Apache-2.0
#include "languages/hotspot.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/fake_memory.h"
#include "support/hotspot_builder.h"
#include "support/test.h"
#include "unwind/unwind_state.h"

struct scene {
    uint8_t bytes[HOTSPOT_MEMORY_BYTES];
    struct fake_region region;
    struct fake_memory memory;
    struct memory_reader reader;
    struct interpreted table;
    struct hotspot hotspot;
    struct unwind_state state;
};

static void scene_begin(struct scene *scene)
{
    scene->region =
        (struct fake_region){ HOTSPOT_MEMORY, scene->bytes, sizeof(scene->bytes) };
    scene->memory =
        (struct fake_memory){ .regions = &scene->region, .region_count = 1 };
    scene->reader = fake_memory_reader(&scene->memory);
    scene->hotspot = hotspot_of(&scene->reader);
    scene->table = (struct interpreted){ 0 };
    scene->state = (struct unwind_state){ .known = UINT64_MAX };
}

static void scene_init(struct scene *scene)
{
    hotspot_build(scene->bytes);
    scene_begin(scene);
    assert_int_equal(hotspot_open_heaps(&scene->hotspot), CH_OK);
}

static void set_registers(struct scene *scene, uint64_t pc, uint64_t sp, uint64_t fp)
{
    scene->state.registers.value[UNWIND_PC] = HOTSPOT_MEMORY + pc;
    scene->state.registers.value[UNWIND_SP] = HOTSPOT_MEMORY + sp;
    scene->state.registers.value[UNWIND_FP] = HOTSPOT_MEMORY + fp;
}

static uint64_t at(const struct scene *scene, unsigned reg)
{
    return scene->state.registers.value[reg] - HOTSPOT_MEMORY;
}

// group_text is the frames of a group, as `function file:line` each.
static void group_text(struct scene *scene, uint32_t group, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    if (group == INTERPRETED_NONE)
        return;
    const struct interpreted_run *run = &scene->table.groups[group].run;
    for (uint32_t i = 0; i < run->count; i++) {
        const struct interpreted_frame *frame = &scene->table.frames[run->first + i];
        struct hotspot_place place = { 0 };
        if (run->owner == INTERPRETED_JAVA)
            hotspot_describe(&scene->hotspot, frame, &place);
        used +=
            (size_t)snprintf(out + used, size - used, "%s %s:%u\n",
                             place.function.size != 0 ? place.function.bytes : "?",
                             place.file.size != 0 ? place.file.bytes : "?", place.line);
        hotspot_place_deinit(&place);
    }
}

// collected is what the frame of the scene's registers ran.
static void collected(struct scene *scene, enum unwind_kind kind, char *out,
                      size_t size)
{
    const struct unwind_frame frame = { .address =
                                            scene->state.registers.value[UNWIND_PC],
                                        .kind = kind };
    uint32_t group =
        hotspot_collect(&scene->hotspot, &frame, &scene->state, &scene->table);
    group_text(scene, group, out, size);
}

// put_interpreted puts a frame of price on the stack, at its third bytecode but one.
static void put_interpreted(struct scene *scene)
{
    uint64_t fp = HOTSPOT_AT_STACK + 0x80;
    hotspot_put_address(scene->bytes, fp - 24, HOTSPOT_AT_PRICE);
    hotspot_put_address(scene->bytes, fp - 64, HOTSPOT_AT_PRICE + 0x80 + 48 + 4);
    hotspot_put_address(scene->bytes, fp - 8, HOTSPOT_AT_STACK + 0xa0);
    hotspot_put_address(scene->bytes, fp, HOTSPOT_AT_STACK + 0x200);
    hotspot_put_address(scene->bytes, fp + 8, HOTSPOT_AT_COMPILED + 0x840);
    set_registers(scene, HOTSPOT_AT_INTERPRETER + 0xa00, HOTSPOT_AT_STACK, fp);
}

static void an_interpreted_frame_has_its_method_and_line(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene);
    put_interpreted(&scene);
    collected(&scene, UNWIND_KIND_RA, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_string_equal(text, "shop.Cart.price Cart.java:21\n");
}

static void a_compiled_frame_has_the_methods_inlined_into_it(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene);
    set_registers(&scene, HOTSPOT_AT_COMPILED + 0x840, HOTSPOT_AT_STACK, 0);
    collected(&scene, UNWIND_KIND_RA, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_string_equal(text, "shop.Cart.price Cart.java:21\n"
                              "shop.Cart.total Cart.java:10\n");
}

// The lines keep the form that has bytes of 0, so none is looked at.
static void compiled_frames_of_version_25_have_their_methods(void **state)
{
    (void)state;
    static struct scene scene;
    const struct unwind_frame frame = { .kind = UNWIND_KIND_RA };
    char text[256];
    char deoptimized[256];
    scene_init(&scene);
    hotspot_put_compiled_25(scene.bytes, &scene.hotspot.layout);
    set_registers(&scene, HOTSPOT_AT_COMPILED + 0x840, HOTSPOT_AT_STACK, 0);
    collected(&scene, UNWIND_KIND_RA, text, sizeof(text));
    hotspot_put_address(scene.bytes, HOTSPOT_AT_STACK + 8, HOTSPOT_AT_COMPILED + 0x840);
    set_registers(&scene, HOTSPOT_AT_COMPILED + 0x900, HOTSPOT_AT_STACK, 0);
    collected(&scene, UNWIND_KIND_RA, deoptimized, sizeof(deoptimized));
    interpreted_deinit(&scene.table);
    assert_int_equal(hotspot_step(&scene.hotspot, &frame, &scene.state), CH_OK);
    assert_int_equal(at(&scene, UNWIND_SP), HOTSPOT_AT_STACK + 8 * HOTSPOT_FRAME_WORDS);
    assert_memory_equal(text, "shop.Cart.price ", 16);
    assert_non_null(strstr(text, "\nshop.Cart.total "));
    assert_string_equal(text, deoptimized);
}

static void where_compiled_code_has_no_record_its_method_stands_alone(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene);
    set_registers(&scene, HOTSPOT_AT_COMPILED + 0x844, HOTSPOT_AT_STACK, 0);
    collected(&scene, UNWIND_KIND_PC, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_string_equal(text, "shop.Cart.total Cart.java:0\n");
}

static void a_deoptimized_frame_is_named_by_where_it_stood(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene);
    hotspot_put_address(scene.bytes, HOTSPOT_AT_STACK + 8, HOTSPOT_AT_COMPILED + 0x840);
    set_registers(&scene, HOTSPOT_AT_COMPILED + 0x900, HOTSPOT_AT_STACK, 0);
    collected(&scene, UNWIND_KIND_RA, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_string_equal(text, "shop.Cart.price Cart.java:21\n"
                              "shop.Cart.total Cart.java:10\n");
}

static void equal_frames_are_one_group_and_other_code_has_a_name(void **state)
{
    (void)state;
    static struct scene scene;
    const struct unwind_frame frame = { .address =
                                            HOTSPOT_MEMORY + HOTSPOT_AT_STUB + 0x900,
                                        .kind = UNWIND_KIND_RA };
    scene_init(&scene);
    uint32_t first =
        hotspot_collect(&scene.hotspot, &frame, &scene.state, &scene.table);
    size_t frames = scene.table.frame_count;
    uint32_t second =
        hotspot_collect(&scene.hotspot, &frame, &scene.state, &scene.table);
    struct interpreted_run run = scene.table.groups[first].run;
    uint64_t name = scene.table.frames[run.first].code;
    size_t after = scene.table.frame_count;
    interpreted_deinit(&scene.table);
    assert_int_equal(first, second);
    assert_int_equal(frames, after);
    assert_int_equal(run.owner, INTERPRETED_RUNTIME);
    assert_int_equal(name, HOTSPOT_MEMORY + HOTSPOT_AT_NAMES + 0x20);
}

static void frames_are_left_by_their_size_and_by_the_interpreters_record(void **state)
{
    (void)state;
    static struct scene scene;
    const struct unwind_frame frame = { .kind = UNWIND_KIND_RA };
    scene_init(&scene);
    put_interpreted(&scene);
    assert_int_equal(hotspot_step(&scene.hotspot, &frame, &scene.state), CH_OK);
    assert_int_equal(at(&scene, UNWIND_PC), HOTSPOT_AT_COMPILED + 0x840);
    assert_int_equal(at(&scene, UNWIND_SP), HOTSPOT_AT_STACK + 0xa0);
    assert_int_equal(at(&scene, UNWIND_FP), HOTSPOT_AT_STACK + 0x200);

    uint64_t end = HOTSPOT_AT_STACK + 0xa0 + 8 * HOTSPOT_FRAME_WORDS;
    hotspot_put_address(scene.bytes, end - 8, 0x77);
    hotspot_put_address(scene.bytes, end - 16, 0x66);
    assert_int_equal(hotspot_step(&scene.hotspot, &frame, &scene.state), CH_OK);
    assert_int_equal(at(&scene, UNWIND_PC), 0x77);
    assert_int_equal(at(&scene, UNWIND_SP), end);
    assert_int_equal(at(&scene, UNWIND_FP), 0x66);
    assert_int_equal(hotspot_step(&scene.hotspot, &frame, &scene.state),
                     CH_ERR_NOT_FOUND);
}

static void an_interrupted_prologue_has_pushed_nothing(void **state)
{
    (void)state;
    static struct scene scene;
    const struct unwind_frame frame = { .kind = UNWIND_KIND_PC };
    scene_init(&scene);
    hotspot_put_address(scene.bytes, HOTSPOT_AT_STACK, 0x77);
    set_registers(&scene, HOTSPOT_AT_COMPILED + 0x804, HOTSPOT_AT_STACK, 0x66);
    assert_int_equal(hotspot_step(&scene.hotspot, &frame, &scene.state), CH_OK);
    assert_int_equal(at(&scene, UNWIND_PC), 0x77);
    assert_int_equal(at(&scene, UNWIND_SP), HOTSPOT_AT_STACK + 8);
    assert_int_equal(at(&scene, UNWIND_FP), 0x66);
}

static void a_method_whose_class_does_not_know_it_is_none(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene);
    put_interpreted(&scene);
    hotspot_put_address(scene.bytes, HOTSPOT_AT_CLASS + 232, HOTSPOT_AT_METHOD);
    collected(&scene, UNWIND_KIND_RA, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_string_equal(text, "? ?:0\n");
}

static void a_map_of_segments_that_never_ends_is_given_up(void **state)
{
    (void)state;
    static struct scene scene;
    struct hotspot_code code;
    scene_init(&scene);
    memset(scene.bytes + HOTSPOT_AT_MAP, 1, 0x80);
    scene.hotspot.work = HOTSPOT_WORK - 16;
    assert_false(hotspot_find(&scene.hotspot,
                              HOTSPOT_MEMORY + HOTSPOT_AT_COMPILED + 0x840, &code));
    assert_string_equal(scene.hotspot.problem, "too much code to look through");
}

// The memory is cut at every 8 bytes: what is named is what was named before, or less.
static void memory_that_is_cut_has_fewer_names_and_no_others(void **state)
{
    (void)state;
    static const char whole[] = "shop.Cart.price Cart.java:21\n"
                                "shop.Cart.total Cart.java:10\n";
    static struct scene scene;
    char text[256];
    hotspot_build(scene.bytes);
    for (size_t size = 0; size < sizeof(scene.bytes); size += 8) {
        uint8_t *cut = malloc(size + 1);
        assert_non_null(cut);
        memcpy(cut, scene.bytes, size);
        scene_begin(&scene);
        scene.region.bytes = cut;
        scene.region.size = size;
        text[0] = 0;
        set_registers(&scene, HOTSPOT_AT_COMPILED + 0x840, HOTSPOT_AT_STACK, 0);
        if (hotspot_open_heaps(&scene.hotspot) == CH_OK)
            collected(&scene, UNWIND_KIND_RA, text, sizeof(text));
        interpreted_deinit(&scene.table);
        free(cut);
        assert_true(text[0] == 0 || strcmp(text, whole) == 0 ||
                    strcmp(text, "shop.Cart.total Cart.java:0\n") == 0 ||
                    strcmp(text, "? ?:0\n") == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_interpreted_frame_has_its_method_and_line),
        cmocka_unit_test(a_compiled_frame_has_the_methods_inlined_into_it),
        cmocka_unit_test(compiled_frames_of_version_25_have_their_methods),
        cmocka_unit_test(where_compiled_code_has_no_record_its_method_stands_alone),
        cmocka_unit_test(a_deoptimized_frame_is_named_by_where_it_stood),
        cmocka_unit_test(equal_frames_are_one_group_and_other_code_has_a_name),
        cmocka_unit_test(frames_are_left_by_their_size_and_by_the_interpreters_record),
        cmocka_unit_test(an_interrupted_prologue_has_pushed_nothing),
        cmocka_unit_test(a_method_whose_class_does_not_know_it_is_none),
        cmocka_unit_test(a_map_of_segments_that_never_ends_is_given_up),
        cmocka_unit_test(memory_that_is_cut_has_fewer_names_and_no_others),
    };
    return cmocka_run_group_tests_name("agent/hotspot", tests, NULL, NULL);
}
