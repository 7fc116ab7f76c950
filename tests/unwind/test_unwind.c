// SPDX-License-Identifier: Apache-2.0
//
// Whole walks over a made-up target, and the ways in which stacks and rules lie.
#include "unwind/unwind.h"

#include <stdlib.h>

#include "support/test.h"
#include "unwind/target.h"
#include "unwind/unwind_state.h"

// Rules of a function: CFA = rsp + 16, and of the outermost one.
static const uint8_t plain[] = { 0x0e, 16 };
static const uint8_t outermost[] = { 0x07, 16 };

static struct target *make(void)
{
    struct target *t = malloc(sizeof(*t));
    if (t == NULL)
        abort();
    target_init(t);
    return t;
}

static void walk_goes_out_by_rules_to_the_outermost_frame(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = target_function(1);
    t->stack[3] = target_function(2);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    uint64_t last = t->frames[2];
    enum unwind_trust first = t->trust[0];
    enum unwind_trust second = t->trust[1];
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 3);
    assert_int_equal(last, target_function(2));
    assert_int_equal(first, UNWIND_TRUST_CONTEXT);
    assert_int_equal(second, UNWIND_TRUST_CFI);
}

// make_return_to_2 makes a target where function 0 returns to where function 2 begins;
// its caller is at words 3 and 5 of the stack by the rules of functions 2 and 1.
static struct target *make_return_to_2(uint8_t before)
{
    struct target *t = make();
    static const uint8_t wide[] = { 0x0e, 32 };
    target_rule(t, plain, 2);
    target_rule(t, wide, 2);
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->code[2 * FUNCTION_BYTES - 5] = before;
    t->stack[1] = CODE + 2 * FUNCTION_BYTES;
    t->stack[3] = target_function(3);
    t->stack[5] = target_function(3) + 1;
    assert_int_equal(target_walk(t, SETTING_UNWIND_DWARF), UNWIND_END_OF_STACK);
    assert_int_equal(t->frame_count, 3);
    return t;
}

static void walk_looks_up_the_call_or_if_there_is_none_what_follows(void **state)
{
    (void)state;
    for (unsigned called = 0; called < 2; called++) {
        struct target *t = make_return_to_2(called ? 0xe8 : 0x90);
        assert_int_equal(t->kinds[1], called ? UNWIND_KIND_RA : UNWIND_KIND_PC);
        assert_int_equal(t->frames[2], target_function(3) + called);
        free(t);
    }
}

static void walk_ends_where_rules_do_not_advance(void **state)
{
    (void)state;
    struct target *t = make();
    static const uint8_t still[] = { 0x0e, 0 };
    target_rule(t, plain, 2);
    target_rule(t, still, 2);
    t->stack[1] = target_function(1);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_DWARF);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_NO_PROGRESS);
    assert_int_equal(count, 2);
}

static void walk_ends_where_frame_pointers_make_a_cycle(void **state)
{
    (void)state;
    struct target *t = make();
    t->registers.value[6] = STACK;
    t->stack[0] = STACK + 32;
    t->stack[1] = target_function(5);
    t->stack[4] = STACK; // back again
    t->stack[5] = target_function(6);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_FP);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_NO_PROGRESS);
    assert_int_equal(count, 3);
}

static void walk_faults_where_the_stack_pointer_points_nowhere(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    t->registers.value[7] = 0x999000000;
    enum unwind_end dwarf = target_walk(t, SETTING_UNWIND_DWARF);
    enum unwind_end automatic = target_walk(t, SETTING_UNWIND_AUTO);
    free(t);
    assert_int_equal(dwarf, UNWIND_END_FAULT);
    assert_int_equal(automatic, UNWIND_END_FAULT);
}

static void walk_does_not_follow_a_return_into_data(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    t->stack[1] = STACK + 64;
    enum unwind_end end = target_walk(t, SETTING_UNWIND_DWARF);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_NO_RULE);
    assert_int_equal(count, 1);
}

static void walk_goes_on_by_scan_behind_a_smashed_return_address(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = 0x4141414141414141;
    t->stack[7] = target_function(1);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    uint64_t found = t->frames[1];
    enum unwind_trust trust = t->trust[1];
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 2);
    assert_int_equal(found, target_function(1));
    assert_int_equal(trust, UNWIND_TRUST_SCAN);
}

static void scan_believes_no_word_that_no_call_precedes(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    t->stack[1] = 0x4141414141414141;
    t->stack[7] = target_function(1) + 1;
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_NO_RULE);
    assert_int_equal(count, 1);
}

static void
walk_looks_through_the_stack_where_a_zero_need_be_no_frame_pointer(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, outermost, 2);
    t->registers.value[16] =
        target_function(9); // as a library's without frame pointers
    t->registers.value[6] = 0;
    t->stack[7] = target_function(0);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    enum unwind_trust trust = t->trust[1];
    enum unwind_end by_chain = target_walk(t, SETTING_UNWIND_FP);
    size_t chained = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 2);
    assert_int_equal(trust, UNWIND_TRUST_SCAN);
    assert_int_equal(by_chain, UNWIND_END_NO_RULE);
    assert_int_equal(chained, 1);
}

// Walks two frame records, the outer one of a caller whose frame pointer was 0. That
// caller is in function 5.
static enum unwind_end end_of_chain(uint64_t caller, uint64_t entry, uint8_t next_byte)
{
    struct target *t = make();
    t->image.entry = entry;
    t->code[caller - CODE] = next_byte;
    t->registers.value[16] = target_function(9);
    t->registers.value[6] = STACK + 32;
    t->stack[4] = 0;
    t->stack[5] = caller;
    enum unwind_end end = target_walk(t, SETTING_UNWIND_FP);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(count, 2);
    return end;
}

static void walk_ends_a_chain_of_frame_pointers_only_where_code_proves_it(void **state)
{
    (void)state;
    uint64_t called = target_function(5);
    assert_int_equal(end_of_chain(called, 0, 0x90), UNWIND_END_NO_RULE);
    assert_int_equal(end_of_chain(called, called - 8, 0x90), UNWIND_END_OF_STACK);
    assert_int_equal(end_of_chain(called, 0, 0xf4), UNWIND_END_OF_STACK);     // hlt
    assert_int_equal(end_of_chain(called - 8, 0, 0x90), UNWIND_END_OF_STACK); // Go's
}

static void
walk_looks_through_the_stack_where_a_function_alone_has_no_rules(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = target_function(9); // which has none, and pushes nothing but one word
    t->stack[3] = target_function(1);
    t->registers.value[6] = 0;
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    enum unwind_trust trust = t->trust[2];
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 3);
    assert_int_equal(trust, UNWIND_TRUST_SCAN);
}

static void walk_leaves_code_without_rules_by_its_frame_pointer(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, outermost, 2);
    t->registers.value[16] = target_function(9); // as a JIT's code
    t->registers.value[6] = STACK + 16;
    t->stack[2] = STACK + 64;
    t->stack[3] = target_function(0);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    enum unwind_trust trust = t->trust[1];
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 2);
    assert_int_equal(trust, UNWIND_TRUST_FP);
}

static void walk_undoes_a_call_into_nowhere(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->registers.value[16] = 0x10;
    t->stack[0] = target_function(0);
    t->stack[2] = target_function(1);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_AUTO);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 3);
}

// put_signal_return writes glibc's code into the last function, which has no rules, and
// a signal frame at words[index] that interrupted function 1 there.
static void put_signal_return(struct target *t, size_t index)
{
    static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    memcpy(t->code + CODE_BYTES - FUNCTION_BYTES, code, sizeof(code));
    t->stack[index + 5 + 15] = STACK + 2048; // rsp
    t->stack[index + 5 + 16] = target_function(1);
}

static void walk_goes_through_a_signal_return_without_rules(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = CODE + CODE_BYTES - FUNCTION_BYTES;
    put_signal_return(t, 2);
    t->stack[256 + 1] = target_function(2);
    for (int how = SETTING_UNWIND_AUTO; how <= SETTING_UNWIND_DWARF; how += 4) {
        enum unwind_end end = target_walk(t, (enum setting_unwind)how);
        assert_int_equal(end, UNWIND_END_OF_STACK);
        assert_int_equal(t->frame_count, 4);
        assert_int_equal(t->kinds[2], UNWIND_KIND_PC);
        assert_int_equal(t->frames[3], target_function(2));
    }
    free(t);
}

static void walk_ends_where_signals_make_a_cycle(void **state)
{
    (void)state;
    // What the signal interrupted is the return from that same signal.
    struct target *t = make();
    target_rule(t, plain, 2);
    put_signal_return(t, 0);
    t->stack[5 + 15] = STACK + 8;
    t->stack[5 + 16] = target_function(0);
    t->stack[2] = CODE + CODE_BYTES - FUNCTION_BYTES;
    t->stack[3 + 5 + 15] = STACK + 8;
    t->stack[3 + 5 + 16] = target_function(0);
    t->registers.value[7] = STACK + 8;
    enum unwind_end end = target_walk(t, SETTING_UNWIND_DWARF);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_NO_PROGRESS);
    assert_true(count < 4096);
}

static void walk_ends_where_the_stack_ends(void **state)
{
    (void)state;
    // A stack that has no end: every word returns to function 0.
    struct target *t = make();
    static const uint8_t one_word[] = { 0x0e, 8 };
    target_rule(t, one_word, 2);
    for (size_t i = 0; i < STACK_WORDS; i++)
        t->stack[i] = target_function(0);
    enum unwind_end end = target_walk(t, SETTING_UNWIND_DWARF);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_FAULT);
    assert_int_equal(count, STACK_WORDS + 1);
}

static void walk_reads_rules_once(void **state)
{
    (void)state;
    struct target *t = make();
    static const uint8_t one_word[] = { 0x0e, 8 };
    target_rule(t, one_word, 2);
    for (size_t i = 0; i < STACK_WORDS; i++)
        t->stack[i] = target_function(0);
    (void)target_walk(t, SETTING_UNWIND_DWARF);
    size_t reads = t->memory.read_count;
    free(t);
    // Each frame costs its own word; rules are found and read once.
    assert_true(reads < STACK_WORDS + 64);
}

static void every_way_uses_its_own_means_alone(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = target_function(1);
    size_t counts[SETTING_UNWIND_LIBUNWIND];
    for (int how = SETTING_UNWIND_AUTO; how < SETTING_UNWIND_LIBUNWIND; how++) {
        (void)target_walk(t, (enum setting_unwind)how);
        counts[how] = t->frame_count;
    }
    free(t);
    assert_int_equal(counts[SETTING_UNWIND_AUTO], 2);
    assert_int_equal(counts[SETTING_UNWIND_PRECISE], 2);
    assert_int_equal(counts[SETTING_UNWIND_DWARF], 2);
    assert_int_equal(counts[SETTING_UNWIND_FAST], 1);
    assert_int_equal(counts[SETTING_UNWIND_FP], 1);
    assert_int_equal(counts[SETTING_UNWIND_SFRAME], 1);
}

static void eh_frame_without_a_header_is_indexed(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = target_function(1);
    target_finish(t);
    t->image.eh_frame_hdr_size = 0;
    t->image.eh_frame = EH_FRAME;
    t->image.eh_frame_size = t->eh_frame.size;
    enum unwind_end end = target_walk_image(t, SETTING_UNWIND_DWARF);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 2);
}

// build_debug_frame has entries for two functions, at vaddrs 0x1000 below.
static void build_debug_frame(struct cfi_builder *debug)
{
    static const uint8_t initial[] = { 0x0c, 7, 8, 0x90, 1 };
    cfi_open(debug, UINT32_MAX);
    cfi_put(debug, "\x01\0\x01\x78\x10", 5);
    cfi_put(debug, initial, sizeof(initial));
    cfi_close(debug);
    for (unsigned i = 0; i < 2; i++) {
        cfi_open(debug, 0);
        cfi_put_u64(debug, CODE - 0x1000 + i * FUNCTION_BYTES);
        cfi_put_u64(debug, FUNCTION_BYTES);
        cfi_put(debug, i == 0 ? plain : outermost, 2);
        cfi_close(debug);
    }
}

static void debug_frame_serves_where_there_is_nothing_else(void **state)
{
    (void)state;
    struct cfi_builder debug = { 0 };
    struct target *t = make();
    build_debug_frame(&debug);
    t->stack[1] = target_function(1);
    target_finish(t);
    t->image.bias = 0x1000;
    t->image.debug_frame = debug.bytes;
    t->image.debug_frame_size = debug.size;
    enum unwind_end end = target_walk_image(t, SETTING_UNWIND_DWARF);
    size_t count = t->frame_count;
    free(t);
    assert_int_equal(end, UNWIND_END_OF_STACK);
    assert_int_equal(count, 2);
}

// A lazy image's .debug_frame is found when it is asked for.
struct lazy {
    struct target *target;
    struct cfi_builder debug;
    unsigned asked;
};

static void find_debug_frame(void *context, size_t index)
{
    struct lazy *lazy = context;
    lazy->asked += index == 0;
    lazy->target->image.debug_frame = lazy->debug.bytes;
    lazy->target->image.debug_frame_size = lazy->debug.size;
}

static size_t walk_lazily(struct lazy *lazy, unsigned rules)
{
    struct target *t = lazy->target;
    struct unwind_space *space;
    for (unsigned i = 0; i < rules; i++)
        target_rule(t, i == 0 ? plain : outermost, 2);
    t->stack[1] = target_function(1);
    t->registers.value[16] = target_function(0);
    target_finish(t);
    t->image.bias = 0x1000;
    build_debug_frame(&lazy->debug);
    if (unwind_space_create(&unwind_arch_amd64, &t->reader, &t->image, 1, &space) !=
        CH_OK)
        return 0;
    unwind_space_set_code(space, target_is_code, NULL);
    unwind_space_set_debug_frames(space, find_debug_frame, lazy);
    for (int i = 0; i < 2; i++) {
        t->frame_count = 0;
        (void)unwind_walk(space, &t->registers, SETTING_UNWIND_DWARF, target_visit, t);
    }
    unwind_space_destroy(space);
    return t->frame_count;
}

static void debug_frame_is_asked_for_once_and_where_it_is_needed(void **state)
{
    (void)state;
    struct lazy needed = { .target = make() };
    struct lazy idle = { .target = make() };
    size_t count = walk_lazily(&needed, 1); // the second function has no other rules
    size_t other = walk_lazily(&idle, 2);
    free(needed.target);
    free(idle.target);
    assert_int_equal(count, 2);
    assert_int_equal(needed.asked, 1);
    assert_int_equal(other, 2);
    assert_int_equal(idle.asked, 0);
}

// What a visitor saw of registers.
struct seen {
    struct unwind_space *space;
    uint64_t rbx[3];
    uint64_t sure[3];
    uint64_t cfa[3];
    size_t count;
};

static bool see(void *context, const struct unwind_frame *frame,
                const struct unwind_state *state)
{
    struct seen *seen = context;
    size_t i = seen->count++;
    seen->rbx[i] = state->registers.value[3];
    seen->sure[i] = unwind_state_sure(state);
    if (unwind_find_cfa(seen->space, frame, state, &seen->cfa[i]) != CH_OK)
        seen->cfa[i] = 0;
    return seen->count < 3;
}

static void visitors_get_registers_and_the_frames_address(void **state)
{
    (void)state;
    // The inner function has saved rbx below its return address.
    static const uint8_t saves[] = { 0x0e, 24, 0x83, 2 };
    struct target *t = make();
    target_rule(t, saves, sizeof(saves));
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = 0xb0b;
    t->stack[2] = target_function(1);
    t->stack[4] = target_function(2);
    t->registers.value[3] = 0xa0a;
    t->registers.value[16] = target_function(0);
    target_finish(t);
    struct seen seen = { 0 };
    enum ch_status status =
        unwind_space_create(&unwind_arch_amd64, &t->reader, &t->image, 1, &seen.space);
    if (status == CH_OK)
        (void)unwind_walk(seen.space, &t->registers, SETTING_UNWIND_AUTO, see, &seen);
    unwind_space_destroy(seen.space);
    free(t);
    assert_int_equal(status, CH_OK);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.rbx[0], 0xa0a);
    assert_int_equal(seen.rbx[1], 0xb0b);
    assert_int_equal(seen.cfa[0], STACK + 24);
    assert_int_equal(seen.cfa[1], STACK + 40);
    assert_int_equal(seen.cfa[2], STACK + 48); // no caller, but a frame
    assert_true(seen.sure[0] & 1 << 0);
    assert_false(seen.sure[1] & 1 << 0); // rax
    assert_true(seen.sure[1] & 1 << 3);
}

static void every_byte_of_the_tables_may_be_wrong(void **state)
{
    (void)state;
    struct target *t = make();
    target_rule(t, plain, 2);
    target_rule(t, plain, 2);
    target_rule(t, outermost, 2);
    t->stack[1] = target_function(1);
    t->stack[3] = target_function(2);
    size_t longest = 0;
    for (size_t i = 0; i < t->eh_frame.size + 36; i++) {
        uint8_t *byte = i < t->eh_frame.size ? &t->eh_frame.bytes[i]
                                             : &t->hdr[i - t->eh_frame.size];
        for (unsigned bit = 0; bit < 8; bit++) {
            target_finish(t);
            *byte ^= (uint8_t)(1u << bit);
            struct unwind_space *space;
            t->frame_count = 0;
            t->registers.value[16] = target_function(0);
            if (unwind_space_create(&unwind_arch_amd64, &t->reader, &t->image, 1,
                                    &space) != CH_OK)
                abort();
            unwind_space_set_code(space, target_is_code, NULL);
            (void)unwind_walk(space, &t->registers, SETTING_UNWIND_AUTO, target_visit,
                              t);
            unwind_space_destroy(space);
            *byte ^= (uint8_t)(1u << bit);
            if (t->frame_count > longest)
                longest = t->frame_count;
        }
    }
    free(t);
    assert_in_range(longest, 3, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_goes_out_by_rules_to_the_outermost_frame),
        cmocka_unit_test(walk_looks_up_the_call_or_if_there_is_none_what_follows),
        cmocka_unit_test(walk_ends_where_rules_do_not_advance),
        cmocka_unit_test(walk_ends_where_frame_pointers_make_a_cycle),
        cmocka_unit_test(walk_faults_where_the_stack_pointer_points_nowhere),
        cmocka_unit_test(walk_does_not_follow_a_return_into_data),
        cmocka_unit_test(walk_goes_on_by_scan_behind_a_smashed_return_address),
        cmocka_unit_test(scan_believes_no_word_that_no_call_precedes),
        cmocka_unit_test(
            walk_looks_through_the_stack_where_a_zero_need_be_no_frame_pointer),
        cmocka_unit_test(walk_ends_a_chain_of_frame_pointers_only_where_code_proves_it),
        cmocka_unit_test(
            walk_looks_through_the_stack_where_a_function_alone_has_no_rules),
        cmocka_unit_test(walk_leaves_code_without_rules_by_its_frame_pointer),
        cmocka_unit_test(walk_undoes_a_call_into_nowhere),
        cmocka_unit_test(walk_goes_through_a_signal_return_without_rules),
        cmocka_unit_test(walk_ends_where_signals_make_a_cycle),
        cmocka_unit_test(walk_ends_where_the_stack_ends),
        cmocka_unit_test(walk_reads_rules_once),
        cmocka_unit_test(every_way_uses_its_own_means_alone),
        cmocka_unit_test(eh_frame_without_a_header_is_indexed),
        cmocka_unit_test(debug_frame_serves_where_there_is_nothing_else),
        cmocka_unit_test(debug_frame_is_asked_for_once_and_where_it_is_needed),
        cmocka_unit_test(visitors_get_registers_and_the_frames_address),
        cmocka_unit_test(every_byte_of_the_tables_may_be_wrong),
    };
    return cmocka_run_group_tests_name("unwind/unwind", tests, NULL, NULL);
}
