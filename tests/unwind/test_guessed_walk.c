// SPDX-License-Identifier: Apache-2.0
//
// What walks believe before and after a frame that the stack was searched for.
#include "unwind/unwind.h"

#include <stdlib.h>

#include "support/test.h"
#include "unwind/target.h"

// Rules of a function: CFA = rsp + 24 and rbp is at CFA - 16; and of the outermost one.
static const uint8_t framed[] = { 0x0e, 24, 0x86, 2 };
static const uint8_t outermost[] = { 0x07, 16 };

static struct target *make_framed(void)
{
    struct target *t = calloc(1, sizeof(*t));
    if (t == NULL)
        abort();
    target_init(t);
    target_rule(t, framed, sizeof(framed));
    target_rule(t, outermost, sizeof(outermost));
    return t;
}

static void an_address_that_nothing_called_is_the_outermost(void **state)
{
    (void)state;
    struct target *t = make_framed();
    t->stack[1] = 0; // the frame pointer
    t->stack[2] = target_function(5) - 8;
    t->stack[7] = target_function(1);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 2);
}

static void after_a_guess_an_address_that_nothing_called_ends_no_stack(void **state)
{
    (void)state;
    struct target *t = make_framed();
    t->registers.value[16] = target_function(9); // which has no rules
    t->stack[7] = target_function(0);
    t->stack[9] = 0; // the frame pointer
    t->stack[10] = target_function(5) - 8;
    t->stack[13] = target_function(1);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    uint64_t last = t->frames[3];
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 4);
    assert_int_equal(last, target_function(1));
}

// make_called makes code without rules that was called by function 0, which has a frame
// record and was called by function 1, as is the outermost one. slot is what is on the
// stack above the frame record.
static struct target *make_called(uint64_t slot, size_t called)
{
    static const uint8_t recorded[] = { 0x0c, 6, 16, 0x86, 2 }; // CFA = rbp + 16
    struct target *t = calloc(1, sizeof(*t));
    if (t == NULL)
        abort();
    target_init(t);
    target_rule(t, recorded, sizeof(recorded));
    target_rule(t, outermost, sizeof(outermost));
    t->registers.value[16] = target_function(9);
    t->registers.value[UNWIND_AMD64_FP] = STACK + 4 * sizeof(uint64_t);
    t->stack[0] = slot;
    t->stack[4] = 0; // the frame pointer
    t->stack[5] = target_function(1);
    int32_t distance = (int32_t)(target_function(called) - 0x10 - target_function(1));
    memcpy(&t->code[FUNCTION_BYTES + 0x10 - sizeof(distance)], &distance,
           sizeof(distance));
    return t;
}

static size_t frames_of(struct target *t, uint64_t frames[3])
{
    (void)target_walk(t, SETTING_UNWIND_AUTO);
    if (t->trust[1] != UNWIND_TRUST_FP)
        t->frame_count = 0; // a guess
    size_t count = t->frame_count;
    memcpy(frames, t->frames, 3 * sizeof(frames[0]));
    free(t);
    return count;
}

static void code_without_frame_has_its_caller_at_the_top_of_the_stack(void **state)
{
    (void)state;
    uint64_t frames[3];
    assert_int_equal(frames_of(make_called(target_function(0), 0), frames), 3);
    assert_int_equal(frames[1], target_function(0));
    assert_int_equal(frames[2], target_function(1));
}

static void
a_word_at_the_top_that_the_next_call_does_not_explain_is_no_caller(void **state)
{
    (void)state;
    uint64_t frames[3];
    assert_int_equal(frames_of(make_called(target_function(0), 5), frames), 2);
    assert_int_equal(frames[1], target_function(1));
    assert_int_equal(frames_of(make_called(42, 0), frames), 2);
    assert_int_equal(frames[1], target_function(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_nothing_called_is_the_outermost),
        cmocka_unit_test(after_a_guess_an_address_that_nothing_called_ends_no_stack),
        cmocka_unit_test(code_without_frame_has_its_caller_at_the_top_of_the_stack),
        cmocka_unit_test(
            a_word_at_the_top_that_the_next_call_does_not_explain_is_no_caller),
    };
    return cmocka_run_group_tests_name("unwind/guessed_walk", tests, NULL, NULL);
}
