// SPDX-License-Identifier: Apache-2.0
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"
#include "symbolizer/code/instruction.h"
#include "symbolizer/search/guarded_child.h"

static const uint8_t load[] = { 0x48, 0x8b, 0x07 };      // mov rax, [rdi]
static const uint8_t store[] = { 0x48, 0x89, 0x46, 8 };  // mov [rsi + 8], rax
static const uint8_t never[] = { 0x48, 0x89, 0x46, 16 }; // nobody asks for it

static bool decodes(const uint8_t *bytes, size_t size, const char *base)
{
    struct instruction found = { .length = 0 };
    enum ch_status status =
        instruction_decode_guarded(INSTRUCTION_X86_64, bytes, size, &found);
    if (status == CH_ERR_UNSUPPORTED)
        skip(); // no disassembler
    assert_int_equal(status, CH_OK);
    assert_int_equal(found.length, size);
    for (size_t i = 0; i < found.operand_count; i++)
        if (found.operands[i].memory)
            return strcmp(found.operands[i].base, base) == 0;
    return false;
}

// children gives how many children there are, but for those that have left.
static int children(void)
{
    int count = 0;
    guarded_child_reap();
    while (waitpid(-1, NULL, 0) > 0)
        count++;
    return count;
}

static void an_answer_is_that_of_the_child_that_was_asked_ahead(void **state)
{
    (void)state;
    instruction_decode_ahead(INSTRUCTION_X86_64, load, sizeof(load));
    assert_true(decodes(load, sizeof(load), "rdi"));
    assert_int_equal(children(), 0);
    instruction_decode_ahead(INSTRUCTION_X86_64, load, sizeof(load)); // it is known
    assert_int_equal(children(), 0);
}

static void a_child_that_nobody_asks_disturbs_no_other_answer(void **state)
{
    (void)state;
    instruction_decode_ahead(INSTRUCTION_X86_64, never, sizeof(never));
    assert_true(decodes(store, sizeof(store), "rsi"));
    assert_true(decodes(load, sizeof(load), "rdi"));
    assert_int_equal(children(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_that_of_the_child_that_was_asked_ahead),
        cmocka_unit_test(a_child_that_nobody_asks_disturbs_no_other_answer),
    };
    return cmocka_run_group_tests_name("symbolizer/instruction_guarded", tests, NULL,
                                       NULL);
}
