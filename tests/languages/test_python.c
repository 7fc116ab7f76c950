// SPDX-License-Identifier: Apache-2.0
#include "languages/python.h"

#include <stdio.h>

#include "base/settings/settings.h"
#include "support/fake_memory.h"
#include "support/python_builder.h"
#include "support/test.h"

static const uint32_t versions[] = { 0x0308, 0x0309, 0x030a, 0x030b, 0x030c };

struct scene {
    uint8_t bytes[PYTHON_MEMORY_BYTES];
    struct fake_region region;
    struct fake_memory memory;
    struct memory_reader reader;
    struct interpreted table;
    struct python python;
};

static void scene_init(struct scene *scene, uint32_t version)
{
    const struct python_layout *layout = python_layout_of_version(version);
    assert_non_null(layout);
    python_build(layout, scene->bytes);
    scene->region =
        (struct fake_region){ PYTHON_MEMORY, scene->bytes, sizeof(scene->bytes) };
    scene->memory =
        (struct fake_memory){ .regions = &scene->region, .region_count = 1 };
    scene->reader = fake_memory_reader(&scene->memory);
    scene->table = (struct interpreted){ .limit = SETTING_NO_LIMIT };
    scene->python = python_of(layout, &scene->reader);
}

// said is all frames of the scene, as `function file:line` each.
static void said(struct scene *scene, char *out, size_t size)
{
    size_t used = 0;
    out[0] = 0;
    for (size_t i = 0; i < scene->table.frame_count; i++) {
        struct python_place place;
        python_describe(&scene->python, &scene->table.frames[i], &place);
        used +=
            (size_t)snprintf(out + used, size - used, "%s %s:%u\n",
                             place.function.size != 0 ? place.function.bytes : "?",
                             place.file.size != 0 ? place.file.bytes : "?", place.line);
        python_place_deinit(&place);
    }
}

static void frames_of_every_version_are_read(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        scene_init(&scene, versions[i]);
        enum ch_status status = python_collect(&scene.python, &scene.table);
        said(&scene, text, sizeof(text));
        size_t runs = scene.table.run_count;
        interpreted_deinit(&scene.table);
        assert_int_equal(status, CH_OK);
        assert_null(scene.python.problem);
        assert_string_equal(text, "inner /srv/shop.py:35\nouter /srv/shop.py:35\n");
        assert_int_equal(runs, versions[i] < 0x030b ? 2 : 1);
    }
}

static void a_circle_of_frames_ends(void **state)
{
    (void)state;
    static struct scene scene;
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        scene_init(&scene, versions[i]);
        const struct python_layout *layout = &scene.python.layout;
        python_put_address(scene.bytes, PYTHON_AT_OUTER + layout->frame_previous,
                           PYTHON_AT_INNER);
        python_put(scene.bytes, PYTHON_AT_OUTER + layout->frame_entry,
                   layout->frame_entry == 0 ? scene.bytes[PYTHON_AT_OUTER] : 0, 1);
        python_put_address(scene.bytes, PYTHON_AT_ROOT + layout->record_previous,
                           PYTHON_AT_RECORD);
        python_put_address(scene.bytes, PYTHON_AT_THREAD + layout->thread_next,
                           PYTHON_AT_THREAD);
        enum ch_status status = python_collect(&scene.python, &scene.table);
        size_t frames = scene.table.frame_count;
        interpreted_deinit(&scene.table);
        assert_int_equal(status, CH_OK);
        assert_non_null(scene.python.problem);
        assert_true(frames <= PYTHON_FRAMES + 1);
    }
}

static void what_is_no_code_is_no_frame(void **state)
{
    (void)state;
    static struct scene scene;
    scene_init(&scene, 0x030c);
    python_put(scene.bytes, PYTHON_AT_CODE + 8, 0x4141414141414141, 8);
    enum ch_status status = python_collect(&scene.python, &scene.table);
    size_t frames = scene.table.frame_count;
    interpreted_deinit(&scene.table);
    assert_int_equal(status, CH_OK);
    assert_int_equal(frames, 0);
    assert_string_equal(scene.python.problem, "a frame has no code");
}

static void memory_that_is_cut_has_fewer_frames_and_no_others(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        for (size_t size = 0; size < PYTHON_MEMORY_BYTES; size += 8) {
            scene_init(&scene, versions[i]);
            scene.region.size = size;
            if (python_collect(&scene.python, &scene.table) == CH_OK)
                said(&scene, text, sizeof(text));
            else
                text[0] = 0;
            size_t frames = scene.table.frame_count;
            interpreted_deinit(&scene.table);
            assert_true(frames <= 2);
            for (const char *line = text; *line != 0; line += strcspn(line, "\n") + 1)
                assert_true(line[0] == '?' || strncmp(line, "inner ", 6) == 0 ||
                            strncmp(line, "outer ", 6) == 0);
        }
    }
}

static void names_are_utf8_whatever_their_width(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene, 0x030b);
    const struct python_layout *layout = &scene.python.layout;
    static const uint16_t wide[] = { 'h', 0xe9, 0x20ac, 0xd800, '\n' };
    python_put(scene.bytes, PYTHON_AT_TEXTS + layout->text_length, 5, 8);
    python_put(scene.bytes, PYTHON_AT_TEXTS + layout->text_state, 2 << 2 | 1 << 5, 4);
    memcpy(scene.bytes + PYTHON_AT_TEXTS + layout->text_compact, wide, sizeof(wide));
    assert_int_equal(python_collect(&scene.python, &scene.table), CH_OK);
    said(&scene, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_memory_equal(text, "h\xc3\xa9\xe2\x82\xac?? /srv", 13);
}

static void offsets_that_cannot_be_are_not_believed(void **state)
{
    (void)state;
    uint64_t words[96] = { 0 };
    const struct fake_region region = { PYTHON_MEMORY, words, sizeof(words) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    struct python_layout layout;
    assert_int_equal(python_layout_read(&reader, PYTHON_MEMORY, &layout),
                     CH_ERR_UNSUPPORTED);
    memcpy(words, "xdebugpy", 8);
    words[1] = 0x030d00f0;
    assert_int_equal(python_layout_read(&reader, PYTHON_MEMORY, &layout), CH_OK);
    words[30] = UINT64_MAX; // where a frame's code is
    assert_int_equal(python_layout_read(&reader, PYTHON_MEMORY, &layout),
                     CH_ERR_MALFORMED);
    words[1] = 0x03630000;
    assert_int_equal(python_layout_read(&reader, PYTHON_MEMORY, &layout),
                     CH_ERR_UNSUPPORTED);
}

static void a_build_without_the_global_lock_says_what_is_not_known_of_it(void **state)
{
    (void)state;
    uint64_t words[96] = { 0 };
    const struct fake_region region = { PYTHON_MEMORY, words, sizeof(words) };
    struct fake_memory memory = { .regions = &region, .region_count = 1 };
    struct memory_reader reader = fake_memory_reader(&memory);
    static const uint64_t hexversions[] = { 0x030d00f0, 0x030e00f0 };
    memcpy(words, "xdebugpy", 8);
    for (size_t i = 0; i < 2; i++) {
        struct python python = { .reader = &reader };
        words[1] = hexversions[i];
        words[2] = 0;
        assert_int_equal(python_layout_read(&reader, PYTHON_MEMORY, &python.layout),
                         CH_OK);
        assert_null(python_lacks(&python));
        words[2] = 1;
        assert_int_equal(python_layout_read(&reader, PYTHON_MEMORY, &python.layout),
                         CH_OK);
        assert_true(python.layout.free_threaded);
        assert_int_equal(python.layout.thread_raised, 0);
        assert_int_equal(python.layout.thread_handled, 0);
        assert_non_null(python_lacks(&python));
    }
}

// Such builds run a copy of the code for each thread: the instruction is not in the
// code that has the names and lines.
static void a_frame_that_runs_a_copy_of_its_code_has_no_line(void **state)
{
    (void)state;
    static struct scene scene;
    char text[256];
    scene_init(&scene, 0x030c);
    scene.python.layout.free_threaded = true;
    python_put_address(scene.bytes,
                       PYTHON_AT_INNER + scene.python.layout.frame_instruction,
                       PYTHON_AT_RUNTIME);
    enum ch_status status = python_collect(&scene.python, &scene.table);
    said(&scene, text, sizeof(text));
    interpreted_deinit(&scene.table);
    assert_int_equal(status, CH_OK);
    assert_string_equal(text, "inner /srv/shop.py:0\nouter /srv/shop.py:35\n");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_every_version_are_read),
        cmocka_unit_test(a_circle_of_frames_ends),
        cmocka_unit_test(a_build_without_the_global_lock_says_what_is_not_known_of_it),
        cmocka_unit_test(a_frame_that_runs_a_copy_of_its_code_has_no_line),
        cmocka_unit_test(what_is_no_code_is_no_frame),
        cmocka_unit_test(memory_that_is_cut_has_fewer_frames_and_no_others),
        cmocka_unit_test(names_are_utf8_whatever_their_width),
        cmocka_unit_test(offsets_that_cannot_be_are_not_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
