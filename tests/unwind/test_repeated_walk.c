// SPDX-License-Identifier: Apache-2.0
//
// Walks that repeat steps which they made before: they find what walks by rules alone
// find, whatever is on the stack.
#include <stddef.h>
#include <stdlib.h>

#include "support/test.h"
#include "unwind/backtrace_limit.h"
#include "unwind/target.h"
#include "unwind/unwind_state.h"

// next_random is a linear congruential generator's next 16 bits.
static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 48);
}

// make_recursion makes a target whose stack goes through four functions in any order,
// whose frames have 2, 3, 6 and 12 words, and of which three save rbx; a fifth is the
// outermost one.
static struct target *make_recursion(uint64_t *seed)
{
    enum { FUNCTIONS = 4, DEPTH = 200 };
    static const uint8_t words[FUNCTIONS] = { 2, 3, 6, 12 };
    static const uint8_t plain[] = { 0x0e, 16 };
    static const uint8_t outermost[] = { 0x07, 16 };
    struct target *t = malloc(sizeof(*t));
    if (t == NULL)
        abort();
    target_init(t);
    target_rule(t, plain, 2);
    for (size_t i = 1; i < FUNCTIONS; i++) {
        const uint8_t rule[] = { 0x0e, (uint8_t)(words[i] * 8), 0x83, 2 };
        target_rule(t, rule, sizeof(rule));
    }
    target_rule(t, outermost, 2);
    size_t function = 0;
    size_t at = 0;
    for (size_t i = 0; i < DEPTH; i++) {
        at += words[function];
        function = i + 1 < DEPTH ? next_random(seed) % FUNCTIONS : FUNCTIONS;
        t->stack[at - 1] = target_function(function);
        t->stack[at - 2] = next_random(seed);
    }
    t->registers.value[16] = target_function(0);
    target_finish(t);
    return t;
}

// A whole walk: what it came to, one frame after another.
struct whole_walk {
    uint64_t frames[512];
    uint64_t rbx[512];
    size_t count;
    enum unwind_end end;
    struct unwind_state last;
};

static bool keep_many(void *context, const struct unwind_frame *frames, size_t count,
                      const struct unwind_state *state)
{
    struct whole_walk *walk = context;
    for (size_t i = 0; i < count && walk->count < 512; i++)
        walk->frames[walk->count++] = frames[i].address |
                                      (uint64_t)frames[i].kind << 62 |
                                      (uint64_t)frames[i].trust << 56;
    walk->last.registers = state->registers;
    walk->last.known = state->known;
    walk->last.kept = state->kept;
    return walk->count < 512;
}

static bool keep_one(void *context, const struct unwind_frame *frame,
                     const struct unwind_state *state)
{
    struct whole_walk *walk = context;
    walk->rbx[walk->count] = state->registers.value[3];
    return keep_many(walk, frame, 1, state);
}

// walk_whole walks frame by frame, or by many at once.
static void walk_whole(struct target *t, bool many, struct whole_walk *out)
{
    struct unwind_space *space;
    memset(out, 0, sizeof(*out));
    assert_int_equal(
        unwind_space_create(&unwind_arch_amd64, &t->reader, &t->image, 1, &space),
        CH_OK);
    unwind_space_set_code(space, target_is_code, NULL);
    if (many)
        out->end = unwind_walk_frames(space, &t->registers, SETTING_UNWIND_AUTO,
                                      keep_many, out);
    else
        out->end =
            unwind_walk(space, &t->registers, SETTING_UNWIND_AUTO, keep_one, out);
    unwind_space_destroy(space);
}

// Without a window no step is repeated. With one, whatever a word of the stack is, a
// walk finds the same frames and registers, one by one and by many.
static void repeated_steps_find_what_the_rules_do(void **state)
{
    (void)state;
    enum { TURNS = 400 };
    static struct whole_walk by_rules, repeated, many;
    uint64_t seed = 1;
    size_t longest = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct target *t = make_recursion(&seed);
        const struct memory_window window = { (const uint8_t *)t->stack, STACK,
                                              sizeof(t->stack) };
        if (turn % 4 != 0)
            t->stack[next_random(&seed) % 1024] =
                turn % 4 == 1 ? target_function(next_random(&seed) % 6)
                              : STACK + next_random(&seed) % 64;
        walk_whole(t, false, &by_rules);
        t->reader.window = &window;
        walk_whole(t, false, &repeated);
        walk_whole(t, true, &many);
        free(t);
        assert_memory_equal(&repeated.last.registers, &by_rules.last.registers,
                            sizeof(by_rules.last.registers));
        assert_memory_equal(&repeated, &by_rules,
                            offsetof(struct whole_walk, count) + sizeof(size_t));
        assert_int_equal(repeated.end, by_rules.end);
        assert_int_equal(repeated.last.known, by_rules.last.known);
        assert_int_equal(repeated.last.kept, by_rules.last.kept);
        assert_int_equal(many.count, by_rules.count);
        assert_memory_equal(many.frames, by_rules.frames, sizeof(many.frames));
        assert_memory_equal(&many.last, &by_rules.last, sizeof(many.last));
        assert_int_equal(many.end, by_rules.end);
        longest = many.count > longest ? many.count : longest;
    }
    assert_int_equal(longest, 201);
}

static bool keep_limited(void *context, const struct unwind_frame *frames, size_t count,
                         const struct unwind_state *state)
{
    (void)state;
    return backtrace_limit_add_many(context, frames, count);
}

static void walks_by_many_end_where_their_visitor_says(void **state)
{
    (void)state;
    uint64_t seed = 2;
    struct target *t = make_recursion(&seed);
    const struct memory_window window = { (const uint8_t *)t->stack, STACK,
                                          sizeof(t->stack) };
    struct unwind_space *space;
    struct backtrace_limit limit;
    t->reader.window = &window;
    backtrace_limit_init(&limit, 10, 0);
    assert_int_equal(
        unwind_space_create(&unwind_arch_amd64, &t->reader, &t->image, 1, &space),
        CH_OK);
    enum unwind_end end = unwind_walk_frames(space, &t->registers, SETTING_UNWIND_AUTO,
                                             keep_limited, &limit);
    unwind_space_destroy(space);
    free(t);
    size_t total = limit.total;
    backtrace_limit_deinit(&limit);
    assert_int_equal(end, UNWIND_END_LIMIT);
    assert_int_equal(total, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_steps_find_what_the_rules_do),
        cmocka_unit_test(walks_by_many_end_where_their_visitor_says),
    };
    return cmocka_run_group_tests_name("unwind/repeated_walk", tests, NULL, NULL);
}
