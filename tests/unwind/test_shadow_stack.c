// SPDX-License-Identifier: Apache-2.0
//
// Walks of threads whose shadow stack is known, and what Linux writes on one.
#include "unwind/shadow_stack.h"

#include <stdlib.h>

#include "support/test.h"
#include "unwind/target.h"

// Rules: CFA = rsp + 16, and of the outermost function.
static const uint8_t plain[] = { 0x0e, 16 };
static const uint8_t outermost[] = { 0x07, 16 };

// SMASHED is no address.
#define SMASHED UINT64_C(0x4141414141414141)
enum { SHADOW = 0x20000000, SHADOW_WORDS = 16 };

struct scene {
    struct target target;
    uint64_t words[SHADOW_WORDS];
    struct shadow_stack shadow;
};

// make makes a target whose functions 0 and 1 have the plain rule, and the first words
// of its shadow stack.
static struct scene *make(const uint64_t *words, size_t count)
{
    struct scene *s = calloc(1, sizeof(*s));
    if (s == NULL)
        abort();
    target_init(&s->target);
    target_rule(&s->target, plain, 2);
    target_rule(&s->target, plain, 2);
    target_rule(&s->target, outermost, 2);
    for (size_t i = 0; i < count; i++)
        s->words[i] = words[i];
    s->target.regions[4] = (struct fake_region){ SHADOW, s->words, sizeof(s->words) };
    s->shadow = (struct shadow_stack){ .next = SHADOW, .end = SHADOW + 8 * count };
    s->target.shadow = &s->shadow;
    return s;
}

static void an_overwritten_return_address_is_taken_from_the_shadow_stack(void **state)
{
    (void)state;
    const uint64_t words[] = { target_function(1), target_function(2) };
    struct scene *s = make(words, 2);
    s->target.stack[1] = SMASHED;
    s->target.stack[3] = SMASHED;
    assert_int_equal(target_walk(&s->target, SETTING_UNWIND_AUTO), UNWIND_END_OF_STACK);
    assert_int_equal(s->target.frame_count, 3);
    assert_int_equal(s->target.frames[1], target_function(1));
    assert_int_equal(s->target.frames[2], target_function(2));
    assert_int_equal(s->target.trust[1], UNWIND_TRUST_SHADOW);
    assert_int_equal(s->shadow.difference.address, target_function(0));
    assert_int_equal(s->shadow.difference.expected, target_function(1));
    assert_true(s->shadow.difference.found == SMASHED);
    free(s);
}

static void an_intact_stack_is_walked_by_its_rules(void **state)
{
    (void)state;
    const uint64_t words[] = { target_function(1), target_function(2) };
    struct scene *s = make(words, 2);
    s->target.stack[1] = target_function(1);
    s->target.stack[3] = target_function(2);
    assert_int_equal(target_walk(&s->target, SETTING_UNWIND_AUTO), UNWIND_END_OF_STACK);
    assert_int_equal(s->target.frame_count, 3);
    assert_int_equal(s->target.trust[1], UNWIND_TRUST_CFI);
    assert_int_equal(s->shadow.difference.address, 0);
    free(s);
}

static void
a_return_into_another_function_is_not_followed_nor_called_overwritten(void **state)
{
    (void)state;
    const uint64_t words[] = { target_function(1), target_function(2) };
    struct scene *s = make(words, 2);
    s->target.stack[1] = target_function(5); // rules that are wrong lead there, too
    assert_int_equal(target_walk(&s->target, SETTING_UNWIND_AUTO), UNWIND_END_OF_STACK);
    assert_int_equal(s->target.frames[1], target_function(1));
    assert_int_equal(s->shadow.difference.address, 0);
    free(s);
}

static void the_end_of_the_shadow_stack_proves_that_of_the_stack(void **state)
{
    (void)state;
    const uint64_t words[] = { target_function(9) };
    struct scene *s = make(words, 1);
    s->target.stack[1] = target_function(9); // has no rules; a scan would find the next
    s->target.stack[2] = target_function(5);
    assert_int_equal(target_walk(&s->target, SETTING_UNWIND_AUTO), UNWIND_END_OF_STACK);
    assert_int_equal(s->target.frame_count, 2);
    free(s);
}

static void a_shadow_stack_of_other_words_is_not_believed(void **state)
{
    (void)state;
    const uint64_t words[][2] = { { SMASHED, SMASHED },
                                  { target_function(1) + 1, target_function(2) } };
    for (size_t i = 0; i < 2; i++) {
        struct scene *s = make(words[i], 2);
        s->target.stack[1] = target_function(1);
        s->target.stack[3] = target_function(2);
        assert_int_equal(target_walk(&s->target, SETTING_UNWIND_AUTO),
                         UNWIND_END_OF_STACK);
        assert_int_equal(s->target.frame_count, 3);
        assert_int_equal(s->target.trust[1], UNWIND_TRUST_CFI);
        free(s);
    }
}

static void the_token_of_a_signal_is_passed_over(void **state)
{
    (void)state;
    static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    const uint64_t restorer = CODE + CODE_BYTES - FUNCTION_BYTES;
    const uint64_t words[] = { restorer, (SHADOW + 16) | UINT64_C(1) << 63,
                               target_function(2) };
    struct scene *s = make(words, 3);
    memcpy(s->target.code + CODE_BYTES - FUNCTION_BYTES, code, sizeof(code));
    s->target.stack[1] = restorer;
    s->target.stack[2 + 5 + 15] = STACK + 2048; // rsp
    s->target.stack[2 + 5 + 16] = target_function(1);
    s->target.stack[256 + 1] = SMASHED;
    assert_int_equal(target_walk(&s->target, SETTING_UNWIND_AUTO), UNWIND_END_OF_STACK);
    assert_int_equal(s->target.frame_count, 4);
    assert_int_equal(s->target.frames[2], target_function(1));
    assert_int_equal(s->target.kinds[2], UNWIND_KIND_PC);
    assert_int_equal(s->target.frames[3], target_function(2));
    free(s);
}

static void a_handler_is_left_by_its_token_alone(void **state)
{
    (void)state;
    const struct {
        const struct unwind_arch *arch;
        uint64_t token; // the third word
    } machines[] = { { &unwind_arch_amd64, (SHADOW + 24) | UINT64_C(1) << 63 },
                     { &unwind_arch_aarch64, SHADOW } };
    for (size_t i = 0; i < 2; i++) {
        uint64_t words[] = { 1, 2, machines[i].token, 3 };
        const struct fake_region region = { SHADOW, words, sizeof(words) };
        struct fake_memory memory = { &region, 1, 0 };
        const struct memory_reader reader = fake_memory_reader(&memory);
        struct shadow_stack shadow = { .next = SHADOW, .end = SHADOW + sizeof(words) };
        uint64_t word;
        assert_true(shadow_stack_leave_handler(&shadow, machines[i].arch, &reader));
        assert_int_equal(shadow_stack_read(&shadow, machines[i].arch, &reader, &word),
                         CH_OK);
        assert_int_equal(word, 3);
        assert_false(shadow_stack_leave_handler(&shadow, machines[i].arch, &reader));
    }
}

static void a_shadow_stack_of_aarch64_ends_at_a_word_of_0(void **state)
{
    (void)state;
    uint64_t words[] = { 0 };
    const struct fake_region region = { SHADOW, words, sizeof(words) };
    struct fake_memory memory = { &region, 1, 0 };
    const struct memory_reader reader = fake_memory_reader(&memory);
    struct shadow_stack shadow = { .next = SHADOW, .end = SHADOW + sizeof(words) };
    uint64_t word;
    assert_int_equal(shadow_stack_read(&shadow, &unwind_arch_aarch64, &reader, &word),
                     CH_END);
    assert_int_equal(shadow_stack_read(&shadow, &unwind_arch_amd64, &reader, &word),
                     CH_OK);
    shadow.end = SHADOW + 4;
    assert_int_equal(shadow_stack_read(&shadow, &unwind_arch_amd64, &reader, &word),
                     CH_END);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_overwritten_return_address_is_taken_from_the_shadow_stack),
        cmocka_unit_test(an_intact_stack_is_walked_by_its_rules),
        cmocka_unit_test(
            a_return_into_another_function_is_not_followed_nor_called_overwritten),
        cmocka_unit_test(the_end_of_the_shadow_stack_proves_that_of_the_stack),
        cmocka_unit_test(a_shadow_stack_of_other_words_is_not_believed),
        cmocka_unit_test(the_token_of_a_signal_is_passed_over),
        cmocka_unit_test(a_handler_is_left_by_its_token_alone),
        cmocka_unit_test(a_shadow_stack_of_aarch64_ends_at_a_word_of_0),
    };
    return cmocka_run_group_tests_name("unwind/shadow_stack", tests, NULL, NULL);
}
