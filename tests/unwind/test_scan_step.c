// SPDX-License-Identifier: Apache-2.0
#include "unwind/guess_step.h"

#include "support/fake_memory.h"
#include "support/test.h"

enum { STACK = 0x10000, CODE = 0x401000, CALLED = CODE + 0x20 };

struct scene {
    uint8_t code[0x100];
    uint64_t stack[2048];
    struct fake_region regions[2];
    struct fake_memory memory;
    struct memory_reader reader;
    struct unwind_state state;
    uint32_t words;
};

static bool is_code(void *context, uint64_t address)
{
    (void)context;
    return address >= CODE && address < CODE + 0x100;
}

static struct scene scene;

static void set_up(void)
{
    memset(&scene, 0, sizeof(scene));
    scene.code[0x20 - 5] = 0xe8;
    scene.regions[0] = (struct fake_region){ CODE, scene.code, sizeof(scene.code) };
    scene.regions[1] = (struct fake_region){ STACK, scene.stack, sizeof(scene.stack) };
    scene.memory = (struct fake_memory){ scene.regions, 2, 0 };
    scene.reader = fake_memory_reader(&scene.memory);
    scene.words = SCAN_WALK_WORDS;
    unwind_state_set(&scene.state, 7, STACK);
    unwind_state_set(&scene.state, 6, 0x1234);
    unwind_state_set(&scene.state, 3, 5);
}

static enum ch_status scan(void)
{
    const struct scan_step step = { .arch = &unwind_arch_amd64,
                                    .memory = &scene.reader,
                                    .is_code = is_code };
    return scan_step(&step, &scene.words, &scene.state);
}

static void scan_takes_the_first_word_behind_a_call(void **state)
{
    (void)state;
    set_up();
    scene.stack[2] = CODE + 1; // code, but no call before it
    scene.stack[4] = CALLED;
    scene.stack[6] = CALLED;
    assert_int_equal(scan(), CH_OK);
    assert_int_equal(scene.state.registers.value[16], CALLED);
    assert_int_equal(scene.state.registers.value[7], STACK + 5 * 8);
}

static void scan_knows_no_other_register_afterwards(void **state)
{
    (void)state;
    set_up();
    scene.stack[4] = CALLED;
    assert_int_equal(scan(), CH_OK);
    assert_false(unwind_state_knows(&scene.state, 3));
    assert_false(unwind_state_knows(&scene.state, 6));
}

static void scan_takes_a_frame_record_with_it(void **state)
{
    (void)state;
    set_up();
    scene.stack[3] = STACK + 10 * 8;
    scene.stack[4] = CALLED;
    scene.stack[11] = CALLED;
    assert_int_equal(scan(), CH_OK);
    assert_true(unwind_state_knows(&scene.state, 6));
    assert_int_equal(scene.state.registers.value[6], STACK + 10 * 8);
}

static void scan_gives_up_after_its_words(void **state)
{
    (void)state;
    set_up();
    scene.stack[SCAN_STEP_WORDS] = CALLED;
    assert_int_equal(scan(), CH_ERR_NOT_FOUND);
    assert_int_equal(scene.words, SCAN_WALK_WORDS - SCAN_STEP_WORDS);
    scene.words = 0;
    scene.stack[0] = CALLED;
    assert_int_equal(scan(), CH_ERR_NOT_FOUND);
}

static void scan_faults_where_there_is_no_stack(void **state)
{
    (void)state;
    set_up();
    unwind_state_set(&scene.state, 7, 0x90000000);
    assert_int_equal(scan(), CH_ERR_FAULT);
    unwind_state_set(&scene.state, 7, STACK + 1);
    assert_int_equal(scan(), CH_ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scan_takes_the_first_word_behind_a_call),
        cmocka_unit_test(scan_knows_no_other_register_afterwards),
        cmocka_unit_test(scan_takes_a_frame_record_with_it),
        cmocka_unit_test(scan_gives_up_after_its_words),
        cmocka_unit_test(scan_faults_where_there_is_no_stack),
    };
    return cmocka_run_group_tests_name("unwind/scan_step", tests, NULL, NULL);
}
