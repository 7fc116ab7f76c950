// SPDX-License-Identifier: Apache-2.0
#include "agent/raw/raw_stacks.h"

#include <jansson.h>

#include "support/test.h"

enum { IMAGE_BASE = 0x1000 };

// find_image is a raw_stacks_image_fn: context counts how often it is asked.
static void find_image(void *context, struct raw_place *place)
{
    ++*(int *)context;
    place->image = 3;
    place->offset = place->address - IMAGE_BASE;
}

struct scene {
    struct raw_stacks stacks;
    struct backtrace_limit backtrace;
    int asked;
};

static void scene_init(struct scene *scene)
{
    *scene = (struct scene){ .stacks = { .find_image = find_image } };
    scene->stacks.context = &scene->asked;
    backtrace_limit_init(&scene->backtrace, 4, 1);
}

static void scene_deinit(struct scene *scene)
{
    raw_stacks_deinit(&scene->stacks);
    backtrace_limit_deinit(&scene->backtrace);
}

// add adds a stack of count frames, the innermost at address, and gives its number.
static size_t add(struct scene *scene, uint64_t address, size_t count,
                  enum unwind_end end)
{
    size_t number = SIZE_MAX;
    backtrace_limit_set(&scene->backtrace, 4, 1);
    for (size_t i = 0; i < count; i++) {
        const struct unwind_frame frame = {
            .address = address + 0x10 * i,
            .kind = i == 0 ? UNWIND_KIND_PC : UNWIND_KIND_RA,
            .trust = i == 0 ? UNWIND_TRUST_CONTEXT : UNWIND_TRUST_CFI,
        };
        (void)backtrace_limit_add(&scene->backtrace, &frame);
    }
    assert_int_equal(
        raw_stacks_add(&scene->stacks, &scene->backtrace, NULL, end, &number), CH_OK);
    return number;
}

// written is what the stacks are as JSON.
static json_t *written(const struct scene *scene)
{
    struct json_writer w;
    json_writer_init(&w, -1);
    json_write_object(&w);
    enum ch_status status = raw_stacks_write(&scene->stacks, &w);
    json_write_end(&w, '}');
    enum ch_status finished = json_writer_finish(&w);
    json_t *json = json_loadb(w.text.bytes, w.text.size, JSON_REJECT_DUPLICATES, NULL);
    json_writer_deinit(&w);
    assert_int_equal(status, CH_OK);
    assert_int_equal(finished, CH_OK);
    return json;
}

static void stacks_that_are_equal_are_one(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    size_t first = add(&scene, 0x2000, 3, UNWIND_END_OF_STACK);
    size_t same = add(&scene, 0x2000, 3, UNWIND_END_OF_STACK);
    size_t ended = add(&scene, 0x2000, 3, UNWIND_END_FAULT);
    size_t shorter = add(&scene, 0x2000, 2, UNWIND_END_OF_STACK);
    size_t omits = add(&scene, 0x2000, 9, UNWIND_END_OF_STACK);
    size_t omits_more = add(&scene, 0x2000, 10, UNWIND_END_OF_STACK);
    size_t empty = add(&scene, 0, 0, UNWIND_END_FAULT);
    size_t again = add(&scene, 0x2000, 2, UNWIND_END_OF_STACK);
    scene_deinit(&scene);
    assert_int_equal(first, 0);
    assert_int_equal(same, 0);
    assert_int_equal(ended, 1);
    assert_int_equal(shorter, 2);
    assert_int_equal(omits, 3);
    assert_int_equal(omits_more, 4);
    assert_int_equal(empty, 5);
    assert_int_equal(again, 2);
}

static void stacks_say_each_place_once(void **state)
{
    (void)state;
    struct scene scene;
    scene_init(&scene);
    (void)add(&scene, 0x2000, 9, UNWIND_END_OF_STACK);
    (void)add(&scene, 0x2000, 2, UNWIND_END_OF_STACK);
    int asked = scene.asked;
    json_t *json = written(&scene);
    json_t *expected = json_loads(
        "{\"stacks\":[{\"cbf\":\"\",\"ended\":\"end-of-stack\","
        "\"frames\":[0,1,{\"kind\":\"omit\",\"count\":6},2]},"
        "{\"cbf\":\"\",\"ended\":\"end-of-stack\",\"frames\":[0,1]}],"
        "\"places\":[{\"kind\":\"pc\",\"address\":\"0x2000\",\"trust\":\"context\","
        "\"image\":3,\"image_offset\":\"0x1000\"},"
        "{\"kind\":\"ra\",\"address\":\"0x2010\",\"trust\":\"cfi\",\"image\":3,"
        "\"image_offset\":\"0x1010\"},"
        "{\"kind\":\"ra\",\"address\":\"0x2080\",\"trust\":\"cfi\",\"image\":3,"
        "\"image_offset\":\"0x1080\"}]}",
        0, NULL);
    // What CBF looks like is the codec's own test.
    for (size_t i = 0; i < 2; i++) {
        json_t *stack = json_array_get(json_object_get(json, "stacks"), i);
        json_t *other = json_array_get(json_object_get(expected, "stacks"), i);
        assert_true(json_string_length(json_object_get(stack, "cbf")) > 4);
        json_object_del(stack, "cbf");
        json_object_del(other, "cbf");
    }
    bool equal = json_equal(json, expected) == 1;
    json_decref(json);
    json_decref(expected);
    scene_deinit(&scene);
    assert_int_equal(asked, 3);
    assert_true(equal);
}

static void stacks_of_many_places_are_found_again(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    struct scene scene;
    scene_init(&scene);
    size_t wrong = 0;
    for (size_t i = 0; i < MANY; i++)
        wrong += add(&scene, 0x10000 + 0x1000 * i, 3, UNWIND_END_OF_STACK) != i;
    for (size_t i = 0; i < MANY; i++)
        wrong += add(&scene, 0x10000 + 0x1000 * i, 3, UNWIND_END_OF_STACK) != i;
    size_t places = scene.stacks.place_count;
    scene_deinit(&scene);
    assert_int_equal(wrong, 0);
    assert_int_equal(places, 3 * MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_that_are_equal_are_one),
        cmocka_unit_test(stacks_say_each_place_once),
        cmocka_unit_test(stacks_of_many_places_are_found_again),
    };
    return cmocka_run_group_tests_name("agent/raw_stacks", tests, NULL, NULL);
}
