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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_that_nothing_called_is_the_outermost),
        cmocka_unit_test(after_a_guess_an_address_that_nothing_called_ends_no_stack),
    };
    return cmocka_run_group_tests_name("unwind/guessed_walk", tests, NULL, NULL);
}
